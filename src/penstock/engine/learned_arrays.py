"""What was learned, as arrays and tables by name, and as bytes: all of it, or what has changed.

A table has a column of keys, which are whole numbers, ascending and different: the arrival numbers
of rows, or hashes of values. A key that stays keeps its place among the others, so little changes.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Mapping

    from penstock.engine.arrays import Array, Integers

    Table = Mapping[str, Array]

KEY = "key"
"""The column of a table that has its keys."""

_LENGTH_BYTES = 8
# Names of what has changed: of an array, or of a column after the name of its table.
_OF = "|"  # TABLE|COLUMN: all of a column
_PLACES, _VALUES = "|places", "|values"  # where it has changed, and what is there now
_MORE = "|more"  # what has come at the end of an array
_GONE = "|gone"  # of a table: the places of keys that are gone; or names of arrays that are
_NEW = "|new"  # of a column: what it has for keys that are new
# An array of which a larger part has changed is written as a whole.
_FEW = 1 / 3


@dataclass(frozen=True)
class LearnedArrays:
    """What was learned: arrays by name, and tables by name."""

    arrays: Mapping[str, Array]
    tables: Mapping[str, Table]

    @classmethod
    def copy_of(cls, arrays: Mapping[str, Array], tables: Mapping[str, Table]) -> LearnedArrays:
        """Copy arrays and tables; the keys of a table may be in any order."""
        ordered = {}
        for name, table in tables.items():
            order = np.argsort(table[KEY], kind="stable")
            ordered[name] = {column: values[order] for column, values in table.items()}
        return cls({name: array.copy() for name, array in arrays.items()}, ordered)

    def whole(self) -> dict[str, Array]:
        """Return all of it as arrays by name, for `combine` with nothing."""
        columns = {
            f"{name}{_OF}{column}": _packed(values) if column == KEY else values
            for name, table in self.tables.items()
            for column, values in table.items()
        }
        return dict(self.arrays) | columns


NOTHING_LEARNED = LearnedArrays({}, {})


def difference(before: LearnedArrays, now: LearnedArrays) -> dict[str, Array]:
    """Return what has changed, as arrays by name, for `combine`; empty if nothing has.

    >>> before = LearnedArrays({"x": np.array([1, 2, 3, 4])}, {})
    >>> after = LearnedArrays({"x": np.array([1, 2, 5, 4])}, {})
    >>> {name: array.tolist() for name, array in difference(before, after).items()}
    {'x|places': [2], 'x|values': [5]}
    """
    changes: dict[str, Array] = {}
    for name, array in now.arrays.items():
        changes |= _changed_array(name, before.arrays.get(name), array)
    gone = sorted(before.arrays.keys() - now.arrays.keys())
    if gone:
        changes[_GONE] = np.array(gone)
    for name, table in now.tables.items():
        old = before.tables.get(name)
        if old is None or old.keys() != table.keys():
            changes |= LearnedArrays({}, {name: table}).whole()
        else:
            changes |= _changed_table(name, old, table)
    return changes


def _changed_array(name: str, before: Array | None, now: Array) -> dict[str, Array]:
    if before is None or before.dtype != now.dtype or before.ndim != now.ndim:
        return {name: now}
    if now.ndim == 1 and now.size > before.size and np.array_equal(now[: before.size], before):
        return {name + _MORE: now[before.size :]}
    if before.shape != now.shape:
        return {name: now}
    places = np.flatnonzero(before != now)
    if places.size > _FEW * now.size:
        return {name: now}
    if not places.size:
        return {}
    return {name + _PLACES: _packed(places), name + _VALUES: now.ravel()[places]}


def _changed_table(name: str, before: Table, now: Table) -> dict[str, Array]:
    changes: dict[str, Array] = {}
    places, found = _find(before[KEY], now[KEY])
    stays = np.zeros(before[KEY].size, np.bool_)
    stays[places[found]] = True
    if not stays.all():
        changes[name + _GONE] = _packed(np.flatnonzero(~stays))
    if not found.all():
        changes[f"{name}{_OF}{KEY}{_NEW}"] = _packed(now[KEY][~found])
    for column, values in now.items():
        if column == KEY:
            continue
        if not found.all():
            changes[f"{name}{_OF}{column}{_NEW}"] = values[~found]
        changed = np.flatnonzero(before[column][places[found]] != values[found])
        if changed.size:
            # Places among the keys that stay.
            changes[f"{name}{_OF}{column}{_PLACES}"] = _packed(changed)
            changes[f"{name}{_OF}{column}{_VALUES}"] = values[found][changed]
    return changes


def _find(keys: Integers, wanted: Integers) -> tuple[Integers, Array]:
    """Return where wanted keys are among others, and which of them are there."""
    if not keys.size:
        return np.zeros(wanted.size, np.int64), np.zeros(wanted.size, np.bool_)
    places = np.minimum(np.searchsorted(keys, wanted), keys.size - 1)
    return places, keys[places] == wanted


def combine(before: LearnedArrays, changes: Mapping[str, Array]) -> LearnedArrays:
    """Return what was learned, from what it was before and what has changed."""
    gone = changes[_GONE].tolist() if _GONE in changes else ()
    arrays = {name: array for name, array in before.arrays.items() if name not in gone}
    tables: dict[str, Table] = dict(before.tables)
    changed: dict[str, dict[str, Array]] = {}
    for name, array in changes.items():
        owner, mark, rest = name.partition(_OF)
        if not mark:
            arrays[name] = array
        elif mark + rest == _PLACES and owner in arrays:
            arrays[owner] = arrays[owner].copy()
            arrays[owner].ravel()[_unpacked(array)] = changes[owner + _VALUES]
        elif mark + rest == _MORE:
            arrays[owner] = np.concatenate([arrays[owner], array])
        elif owner and owner not in arrays:
            changed.setdefault(owner, {})[rest] = array
    for name, parts in changed.items():
        if KEY in parts:
            tables[name] = parts | {KEY: _unpacked(parts[KEY])}
        else:
            tables[name] = _combined_table(tables[name], parts)
    return LearnedArrays(arrays, tables)


def _combined_table(before: Table, parts: Mapping[str, Array]) -> Table:
    stays = np.ones(before[KEY].size, np.bool_)
    if _GONE.removeprefix(_OF) in parts:
        stays[_unpacked(parts[_GONE.removeprefix(_OF)])] = False
    columns = {column: values[stays] for column, values in before.items()}
    for column, values in columns.items():
        if column + _PLACES in parts:
            values[_unpacked(parts[column + _PLACES])] = parts[column + _VALUES]
    if KEY + _NEW not in parts:
        return columns
    new = {column: parts[column + _NEW] for column in columns}
    new[KEY] = _unpacked(new[KEY])
    joined = {column: np.concatenate([columns[column], new[column]]) for column in columns}
    order = np.argsort(joined[KEY], kind="stable")
    return {column: values[order] for column, values in joined.items()}


def _packed(ascending: Integers) -> Array:
    """Return ascending numbers as the steps between them, in as few bytes as these need.

    >>> _packed(np.array([1000, 1001, 1005])), _unpacked(_packed(np.array([-7, 300]))).tolist()
    (array([1000,    1,    4], dtype=uint16), [-7, 300])
    """
    steps = np.diff(ascending, prepend=ascending.dtype.type(0))
    if steps.size and steps.min() < 0:  # the first is negative, or a step is too large
        return ascending
    return steps.astype(np.min_scalar_type(steps.max(initial=0)))


def _unpacked(packed: Array) -> Integers:
    if packed.dtype.kind == "i":
        return packed
    return np.cumsum(packed, dtype=np.int64)


def to_bytes(arrays: Mapping[str, Array]) -> bytes:
    """Write arrays by name: a list of names, types and shapes, then all bytes, compressed."""
    listed = [(name, array.dtype.str, array.shape) for name, array in arrays.items()]
    start = json.dumps(listed, separators=(",", ":")).encode()
    raw = b"".join(
        [
            len(start).to_bytes(_LENGTH_BYTES, "little"),
            start,
            *(np.ascontiguousarray(array).tobytes() for array in arrays.values()),
        ]
    )
    return len(raw).to_bytes(_LENGTH_BYTES, "little") + pa.compress(raw, "lz4", asbytes=True)


def from_bytes(data: bytes) -> dict[str, Array]:
    """Read what `to_bytes` has written.

    >>> from_bytes(to_bytes({"x": np.array([[1.5], [2.5]]), "name": np.array("age")}))
    {'x': array([[1.5],
           [2.5]]), 'name': array('age', dtype='<U3')}
    """
    length = int.from_bytes(data[:_LENGTH_BYTES], "little")
    raw = pa.decompress(data[_LENGTH_BYTES:], length, "lz4", asbytes=True)
    at = _LENGTH_BYTES + int.from_bytes(raw[:_LENGTH_BYTES], "little")
    arrays = {}
    for name, kind, shape in json.loads(raw[_LENGTH_BYTES:at]):
        dtype = np.dtype(kind)
        count = int(np.prod(shape, dtype=np.int64))
        array = (
            np.frombuffer(raw, dtype, count, at) if count * dtype.itemsize else np.zeros(0, dtype)
        )
        arrays[name] = array.reshape(shape).copy()
        at += count * dtype.itemsize
    return arrays

"""Named arrays, and values of rows by arrival number, as bytes: whole, or what has changed."""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from penstock.engine.arrays import Array, Integers

_LENGTH_BYTES = 8
_NUMBER = "arrival_number"
_ROWS = "rows."
# Of an array that has changed in a few places: the places, and what is there now.
_PLACES, _VALUES = ":places", ":values"
_REMOVED = ":removed"
# An array of which more has changed is written as a whole.
_FEW = 1 / 3


@dataclass(frozen=True)
class LearnedArrays:
    """What is saved of what was learned, or how it differs from what was saved before.

    Attributes
    ----------
    arrays
        By their names.
    rows
        For each stream the arrival numbers of its rows, and values of these by name. The numbers
        ascend. Of a number that is there more than once, the last one counts.
    """

    arrays: Mapping[str, Array]
    rows: Sequence[Mapping[str, Array]]

    @classmethod
    def copy_of(
        cls, arrays: Mapping[str, Array], rows: Sequence[tuple[Integers, Mapping[str, Array]]]
    ) -> LearnedArrays:
        """Copy arrays, and the values of each stream's rows, given with their arrival numbers."""
        ordered = []
        for numbers, values in rows:
            order = np.argsort(numbers, kind="stable")
            columns = {_NUMBER: numbers} | dict(values)
            ordered.append({name: column[order] for name, column in columns.items()})
        return cls({name: array.copy() for name, array in arrays.items()}, ordered)

    def of_rows(self, s: int, numbers: Integers) -> dict[str, Array]:
        """Return the values of a stream's rows, in the order of these arrival numbers."""
        rows = self.rows[s]
        places = np.searchsorted(rows[_NUMBER], numbers, side="right") - 1
        return {name: column[places] for name, column in rows.items() if name != _NUMBER}

    def __bool__(self) -> bool:
        """Return whether there is anything in it."""
        return bool(self.arrays) or any(rows[_NUMBER].size for rows in self.rows)


def difference(before: LearnedArrays, now: LearnedArrays) -> LearnedArrays:
    """Return what must be written so that `combine` makes `now` of `before`.

    Rows that are gone are not mentioned: nobody asks for them.

    >>> before = LearnedArrays({"x": np.array([1, 2, 3, 4])}, [])
    >>> after = LearnedArrays({"x": np.array([1, 2, 5, 4])}, [])
    >>> {name: array.tolist() for name, array in difference(before, after).arrays.items()}
    {'x:places': [2], 'x:values': [5]}
    """
    arrays: dict[str, Array] = {}
    for name, array in now.arrays.items():
        old = before.arrays.get(name)
        if old is None or old.shape != array.shape or old.dtype != array.dtype:
            arrays[name] = array
            continue
        places = np.flatnonzero(old != array)
        if places.size > _FEW * array.size:
            arrays[name] = array
        elif places.size:
            arrays[name + _PLACES] = places.astype(np.int32)
            arrays[name + _VALUES] = array.ravel()[places]
    removed = sorted(before.arrays.keys() - now.arrays.keys())
    if removed:
        arrays[_REMOVED] = np.array(removed)
    pairs = zip(before.rows, now.rows, strict=True)
    return LearnedArrays(arrays, [_changed_rows(old, rows) for old, rows in pairs])


def _changed_rows(before: Mapping[str, Array], now: Mapping[str, Array]) -> dict[str, Array]:
    """Return the rows that are new, or have another value."""
    if before.keys() != now.keys() or not before[_NUMBER].size:
        return dict(now)
    places = np.searchsorted(before[_NUMBER], now[_NUMBER])
    places = np.minimum(places, before[_NUMBER].size - 1)
    changed = np.zeros(now[_NUMBER].size, np.bool_)
    for name, column in now.items():  # the number too: a row that is new has another one there
        changed |= before[name][places] != column
    return {name: column[changed] for name, column in now.items()}


def combine(before: LearnedArrays, change: LearnedArrays) -> LearnedArrays:
    """Return what was learned, from what it was before and the difference."""
    removed = change.arrays.get(_REMOVED, np.zeros(0)).tolist()
    arrays = {name: array for name, array in before.arrays.items() if name not in removed}
    for name, array in change.arrays.items():
        if name.endswith(_VALUES):
            continue
        if name.endswith(_PLACES):
            whole = name.removesuffix(_PLACES)
            arrays[whole] = arrays[whole].copy()
            arrays[whole].ravel()[array] = change.arrays[whole + _VALUES]
        elif name != _REMOVED:
            arrays[name] = array
    pairs = zip(before.rows, change.rows, strict=True)
    return LearnedArrays(arrays, [_joined(old, rows) for old, rows in pairs])


def _joined(before: Mapping[str, Array], change: Mapping[str, Array]) -> Mapping[str, Array]:
    if before.keys() != change.keys():
        return change
    columns = {name: np.concatenate([before[name], change[name]]) for name in change}
    order = np.argsort(columns[_NUMBER], kind="stable")  # the later one of a number comes last
    return {name: column[order] for name, column in columns.items()}


def to_bytes(learned: LearnedArrays) -> bytes:
    """Write what was learned, or a difference."""
    arrays = dict(learned.arrays)
    for s, rows in enumerate(learned.rows):
        arrays |= {f"{_ROWS}{s}.{name}": column for name, column in rows.items()}
    file = io.BytesIO()
    np.savez(file, allow_pickle=False, **arrays)
    raw = file.getvalue()
    # LZ4, as the rows are: what `savez_compressed` does takes longer than the join itself.
    return len(raw).to_bytes(_LENGTH_BYTES, "little") + pa.compress(raw, "lz4", asbytes=True)


def from_bytes(data: bytes, streams: int) -> LearnedArrays:
    """Read what `to_bytes` has written."""
    length = int.from_bytes(data[:_LENGTH_BYTES], "little")
    raw = pa.decompress(data[_LENGTH_BYTES:], length, "lz4", asbytes=True)
    with np.load(io.BytesIO(raw), allow_pickle=False) as file:
        arrays = {name: file[name] for name in file.files}
    rows: list[dict[str, Array]] = [{} for _ in range(streams)]
    for name in [name for name in arrays if name.startswith(_ROWS)]:
        stream, _, column = name.removeprefix(_ROWS).partition(".")
        rows[int(stream)][column] = arrays.pop(name)
    return LearnedArrays(arrays, rows)

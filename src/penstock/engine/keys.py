"""Keys of `Equal` as 64-bit key words: two are equal if, and only if, their keys are.

A key of one column of at most 64 bits is its own key word. Any other key (text, decimals, several
columns) is written as bytes and interned: it gets a number that no other key in memory has.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from penstock.columns import as_numpy, decoded, plain
from penstock.engine.kernels.key_hash import (
    Interned,
    append_bytes,
    append_words,
    copy_entries,
    hash_each,
    intern,
)
from penstock.errors import SchemaError, must

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from penstock.engine.arrays import Bytes, Integers, Mask

# Of Arrow's widest decimal. A value that does not fit would be an error when it comes.
_MOST_DIGITS = 76


@dataclass(frozen=True)
class KeyColumn:
    """How one column of a key is read, the same in every stream."""

    family: str
    scale: int = 0  # of a decimal

    @property
    def is_word(self) -> bool:
        """Whether a value has at most 64 bits."""
        return self.family not in {"text", "bytes", "decimal"}


def key_columns(columns: Mapping[str, Sequence[tuple[str, pa.DataType]]]) -> tuple[KeyColumn, ...]:
    """Return how the columns of a key are read, given their names and types in each stream.

    Raises
    ------
    SchemaError
        If a column cannot be a key, or two columns to compare are of different kinds.
    """
    result = []
    for position in zip(*columns.values(), strict=True):
        known: dict[str, tuple[str, str, pa.DataType]] = {}
        scale = 0
        for stream, (column, type_) in zip(columns, position, strict=True):
            kind = plain(type_)
            family = _family(kind)
            if family is None:
                raise SchemaError(
                    f'column "{column}" of stream "{stream}" ({type_}) must be a plain value to '
                    f"be a key; name its fields as columns of their own"
                )
            if pa.types.is_decimal(kind):
                scale = max(scale, kind.scale)
            if family != "null":
                known.setdefault(family, (stream, column, type_))
        if len(known) > 1:
            (first, a, one), (second, b, two) = list(known.values())[:2]
            raise SchemaError(
                f'column "{a}" of stream "{first}" ({one}) and column "{b}" of stream '
                f'"{second}" ({two}) must be of one kind to be equal; cast one of them'
            )
        for stream, (column, type_) in zip(columns, position, strict=True):
            kind = plain(type_)
            if pa.types.is_decimal(kind) and kind.precision - kind.scale + scale > _MOST_DIGITS:
                raise SchemaError(
                    must(
                        f'column "{column}" of stream "{stream}"',
                        f"a decimal of at most {_MOST_DIGITS} digits with the {scale} places that "
                        f"it is compared in",
                        str(type_),
                        "cast it to a decimal of fewer digits",
                    )
                )
        result.append(KeyColumn(next(iter(known), "whole"), scale))
    return tuple(result)


def _family(kind: pa.DataType) -> str | None:
    types = pa.types
    if types.is_uint64(kind):
        return "unsigned 64-bit"  # compared as bits, so not with signed numbers
    for family, is_member in _FAMILIES:
        if is_member(kind):
            # Units and time zones are part of a family: 1 s and 1 ms are not equal.
            zone = "" if not types.is_timestamp(kind) else "zoned" if kind.tz else "local"
            return family.format(unit=getattr(kind, "unit", ""), zone=zone)
    return None


_FAMILIES = (
    ("null", pa.types.is_null),
    ("whole", pa.types.is_integer),
    ("boolean", pa.types.is_boolean),
    ("float", pa.types.is_floating),
    ("decimal", pa.types.is_decimal),
    (
        "text",
        lambda t: pa.types.is_string(t) or pa.types.is_large_string(t) or t == pa.string_view(),
    ),
    (
        "bytes",
        lambda t: (
            pa.types.is_binary(t)
            or pa.types.is_large_binary(t)
            or pa.types.is_fixed_size_binary(t)
            or t == pa.binary_view()
        ),
    ),
    ("date", pa.types.is_date32),
    ("date in milliseconds", pa.types.is_date64),
    ("timestamp in {unit}, {zone}", pa.types.is_timestamp),
    ("time of day in {unit}", pa.types.is_time),
    ("duration in {unit}", pa.types.is_duration),
)


class KeyCoder:
    """Turns keys into key words, and keeps the table of interned keys.

    Attributes
    ----------
    dimensions
        Of vectors, once they are known (`Operator.settle_dimensions`).
    """

    def __init__(self, columns: tuple[KeyColumn, ...]) -> None:
        self.dimensions: int | None = None
        self._columns = columns
        self._interned: Interned | None = None  # made when it is first needed
        self._review_at = 4096  # interned keys

    @property
    def _direct(self) -> bool:
        return len(self._columns) == 1 and self._columns[0].is_word

    def key_words(self, columns: Sequence[pa.ChunkedArray]) -> tuple[Integers, Mask]:
        """Return each row's key word, and whether it has a key: no null, no NaN."""
        if self._direct:
            return _word_column(columns[0])
        key_words, good, _ = self.interned(columns)
        return key_words, good

    def interned(self, columns: Sequence[pa.ChunkedArray]) -> tuple[Integers, Mask, Integers]:
        """Return each row's key word, whether it has a key, and its hash, of keys that need it."""
        data, offsets, good = self._as_bytes(columns)
        key_words, hashes = np.empty(good.size, np.int64), np.empty(good.size, np.int64)
        interned = self._reserve(good.size, int(offsets[-1] - offsets[0]))
        intern(interned, data, offsets, good, key_words, hashes)
        return key_words, good, hashes

    def hashes(self, columns: Sequence[pa.ChunkedArray]) -> Integers:
        """Return a hash of each row's key: the same for a key in every stream and process."""
        if self._direct:
            key_words, good = _word_column(columns[0])
            return np.where(good, key_words, 0)
        data, offsets, good = self._as_bytes(columns)
        hashes = np.empty(good.size, np.int64)
        hash_each(data, offsets, hashes)
        return np.where(good, hashes, 0)

    def forget(self, live_words: Callable[[], Integers]) -> None:
        """Remove interned keys that no row in memory has, once there are many of them."""
        if self._interned is None or self._interned.counts[0] < self._review_at:
            return
        live = live_words()
        self._review_at = 2 * live.size + 4096
        entries = int(self._interned.counts[0])
        keep = np.isin(self._interned.numbers[:entries], live)
        lengths = (self._interned.stops - self._interned.starts)[:entries]
        smaller = _empty(2 * int(keep.sum()) + 1024, 2 * int(lengths[keep].sum()) + 16 * 1024)
        copy_entries(self._interned, smaller, keep)
        self._interned = smaller

    def _reserve(self, entries: int, size: int) -> Interned:
        """Return the table of interned keys, with room for `entries` more of `size` bytes."""
        old = _empty(1024, 16 * 1024) if self._interned is None else self._interned
        entries += int(old.counts[0])
        size += int(old.counts[1])
        if entries <= old.numbers.size and size <= old.heap.size:
            self._interned = old
            return old
        larger = _empty(max(2 * old.numbers.size, entries), max(2 * old.heap.size, size))
        copy_entries(old, larger, np.ones(old.numbers.size, np.bool_))
        self._interned = larger
        return larger

    def _as_bytes(self, columns: Sequence[pa.ChunkedArray]) -> tuple[Bytes, Integers, Mask]:
        """Write each key as bytes: 8 for a word, a length and the bytes for anything else."""
        parts = [
            _word_column(column) if how.is_word else _byte_column(column, how)
            for how, column in zip(self._columns, columns, strict=True)
        ]
        good = np.logical_and.reduce([part[-1] for part in parts])
        if len(parts) == 1:
            data, offsets, _ = parts[0]  # type: ignore[misc]  # one column here is of bytes
            return data, offsets, good
        lengths = np.zeros(good.size, np.int64)
        for part in parts:
            lengths += 8 if len(part) == 2 else 8 + np.diff(part[1])
        offsets = np.zeros(good.size + 1, np.int64)
        np.cumsum(lengths, out=offsets[1:])
        data = np.empty(int(offsets[-1]), np.uint8)
        at = offsets[:-1].copy()
        for part in parts:
            if len(part) == 2:
                append_words(data, at, part[0])
            else:
                append_words(data, at, np.diff(part[1]))
                append_bytes(data, at, part[0], part[1])
        # Read-only, as Arrow's own buffers are: one compiled version of `intern` serves both.
        data.flags.writeable = offsets.flags.writeable = False
        return data, offsets, good


def _empty(entries: int, size: int) -> Interned:
    table = 1 << max(4, (2 * entries - 1).bit_length())
    return Interned(
        np.zeros(table, np.int64),
        np.zeros(entries, np.int64),
        np.zeros(entries, np.int64),
        np.zeros(entries, np.int64),
        np.zeros(entries, np.int64),
        np.zeros(size, np.uint8),
        np.zeros(3, np.int64),
    )


def _word_column(column: pa.ChunkedArray) -> tuple[Integers, Mask]:
    kind = plain(column.type)
    if pa.types.is_floating(kind):
        values, good = as_numpy(column, np.dtype(np.float64))
        good &= ~np.isnan(values)
        return (values + 0.0).view(np.int64), good  # -0.0 + 0.0 is 0.0
    if pa.types.is_uint64(kind):
        values, good = as_numpy(column, np.dtype(np.uint64))
        return values.view(np.int64), good
    array = decoded(column)
    if pa.types.is_date32(kind) or pa.types.is_time32(kind):
        array = array.cast(pa.int32())
    elif pa.types.is_temporal(kind):
        array = array.cast(pa.int64())
    return as_numpy(array, np.dtype(np.int64))


def _byte_column(column: pa.ChunkedArray, how: KeyColumn) -> tuple[Bytes, Integers, Mask]:
    array = decoded(column)
    good = array.is_valid().to_numpy(zero_copy_only=False)
    if how.family == "decimal":
        # One scale for all streams, so that 1.5 is 1.50; 76 digits hold any decimal of Spark.
        array = array.cast(pa.decimal256(_MOST_DIGITS, how.scale)) if len(array) else array
        width = 32
        data = np.frombuffer(array.buffers()[1] or b"", np.uint8)
        start = array.offset * width
        offsets = start + width * np.arange(len(array) + 1, dtype=np.int64)
        offsets.flags.writeable = False
        return data, offsets, good
    array = array.cast(pa.large_binary())
    _, raw_offsets, raw_data = array.buffers()
    data = np.frombuffer(raw_data or b"", np.uint8)
    if not len(array):
        return data, np.frombuffer(bytes(8), np.int64), good
    offsets = np.frombuffer(raw_offsets, np.int64)[array.offset : array.offset + len(array) + 1]
    return data, offsets, good

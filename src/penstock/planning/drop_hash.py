"""Drop boxes: which rows they keep, by Spark's `xxhash64` of the row.

A row is kept if its hash is below a threshold. So the same rows are kept in every run, in `replay`
as on Spark, and after a restart. Rows that are equal in all hashed columns are kept or dropped
together.

Hashed are whole numbers, floats, booleans, text, bytes, dates and timestamps; columns of other
types are left out.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from penstock.columns import decoded, plain

__all__ = ["hashed_columns", "kept_rows", "row_hashes", "threshold"]

Words = npt.NDArray[np.uint64]

_P1, _P2, _P3, _P4, _P5 = (
    np.uint64(each)
    for each in (
        0x9E3779B185EBCA87,
        0xC2B2AE3D27D4EB4F,
        0x165667B19E3779F9,
        0x85EBCA77C2B2AE63,
        0x27D4EB2F165667C5,
    )
)
_SEED = 42  # Spark's own


def threshold(share: float) -> int:
    """Return the number below which hashes of a share of the rows are.

    >>> threshold(0.5), threshold(0.0) == -(2**63)
    (0, True)
    """
    return min(round(share * 2.0**64) - 2**63, 2**63 - 1)


def hashed_columns(schema: pa.Schema) -> tuple[str, ...]:
    """Return the columns of a stream that are hashed."""
    return tuple(field.name for field in schema if _kind(field.type) is not None)


def kept_rows(table: pa.Table, name: str, share: float, seed: int) -> pa.Array:
    """Return which rows of a stream its drop box keeps.

    Parameters
    ----------
    table
        The rows, with all columns that the stream has.
    name
        Of the stream in the query.
    share
        Of the rows to be kept.
    seed
        Of the choice.
    """
    if share <= 0:
        return pa.array(np.zeros(table.num_rows, np.bool_))
    return pa.array(row_hashes(table, name, seed) < threshold(share))


def row_hashes(table: pa.Table, name: str, seed: int) -> npt.NDArray[np.int64]:
    """Return what Spark's ``xxhash64(seed, name, column, column, ...)`` is for each row.

    >>> row_hashes(pa.table({"x": [1, 2], "y": ["a", None]}), "b", 0)
    array([ 2144237337907905411, -8347360072846561825])
    """
    hashes = np.full(table.num_rows, _SEED, np.uint64)
    first = pa.table({"seed": pa.array([seed], pa.int64()), "name": [name]})
    start = np.full(1, _SEED, np.uint64)
    for column in first.columns:
        start = _hashed(column, start)
    hashes[:] = start[0]
    for column in hashed_columns(table.schema):
        hashes = _hashed(table.column(column), hashes)
    return hashes.view(np.int64)


def _kind(type_: pa.DataType) -> str | None:
    """Return how values of a type are hashed: as 4 bytes, 8 bytes or text; None if they are not."""
    kind, types = plain(type_), pa.types
    if types.is_boolean(kind) or types.is_date(kind):
        return "int"
    if types.is_integer(kind):
        return "int" if kind.bit_width <= 32 and not types.is_uint32(kind) else "long"
    if types.is_floating(kind):
        return "int" if kind.bit_width == 32 else "long"
    if types.is_timestamp(kind):
        return "long"
    texts = (types.is_string, types.is_large_string, types.is_string_view)
    if any(test(kind) for test in (*texts, types.is_binary, types.is_large_binary)):
        return "bytes"
    return None


def _hashed(column: pa.ChunkedArray, seeds: Words) -> Words:
    """Return the hashes after one more column; nulls leave them as they are."""
    array = decoded(column)
    good = array.is_valid().to_numpy(zero_copy_only=False)
    how = _kind(array.type)
    if how == "bytes":
        made = _of_bytes(array.cast(pa.large_binary()), seeds)
    else:
        words = _words(array)
        made = _of_int(words, seeds) if how == "int" else _of_long(words, seeds)
    return np.where(good, made, seeds)


def _words(array: pa.Array) -> Words:
    """Return values as the whole numbers that Spark hashes, in two's complement."""
    kind, types = array.type, pa.types
    if types.is_floating(kind):
        width = np.float32 if kind.bit_width == 32 else np.float64
        values = array.fill_null(0.0).to_numpy(zero_copy_only=False).astype(width)
        values = values + width(0)  # -0.0 is 0.0
        values[np.isnan(values)] = np.nan
        bits = values.view(np.int32 if kind.bit_width == 32 else np.int64)
        return np.asarray(bits.astype(np.int64).view(np.uint64))
    if types.is_timestamp(kind):
        array = array.cast(pa.timestamp("us", kind.tz), safe=False)
    if types.is_date(kind):
        array = array.cast(pa.date32()).cast(pa.int32())
    values = array.cast(pa.int64(), safe=False).fill_null(0).to_numpy(zero_copy_only=False)
    return np.asarray(values.astype(np.int64).view(np.uint64))


def _rotated(words: Words, by: int) -> Words:
    return (words << np.uint64(by)) | (words >> np.uint64(64 - by))


def _mixed(words: Words) -> Words:
    words = (words ^ (words >> np.uint64(33))) * _P2
    words = (words ^ (words >> np.uint64(29))) * _P3
    return words ^ (words >> np.uint64(32))


def _of_int(words: Words, seeds: Words) -> Words:
    low = words & np.uint64(0xFFFFFFFF)
    return _mixed(_four(seeds + _P5 + np.uint64(4), low))


def _of_long(words: Words, seeds: Words) -> Words:
    return _mixed(_eight(seeds + _P5 + np.uint64(8), words))


def _eight(hashes: Words, words: Words) -> Words:
    hashes = hashes ^ (_rotated(words * _P2, 31) * _P1)
    return _rotated(hashes, 27) * _P1 + _P4


def _four(hashes: Words, words: Words) -> Words:
    return _rotated(hashes ^ (words * _P1), 23) * _P2 + _P3


def _of_bytes(array: pa.Array, seeds: Words) -> Words:
    """Hash texts: all of one length at a time."""
    offsets = np.frombuffer(array.buffers()[1], np.int64)[array.offset :][: len(array) + 1]
    data = np.frombuffer(array.buffers()[2] or b"", np.uint8)
    lengths = np.diff(offsets)
    made = seeds.copy()
    for length in np.unique(lengths):
        rows = np.flatnonzero(lengths == length)
        texts = data[offsets[rows][:, None] + np.arange(length)]
        made[rows] = _of_one_length(np.ascontiguousarray(texts), seeds[rows])
    return made


def _of_one_length(texts: npt.NDArray[np.uint8], seeds: Words) -> Words:
    length = texts.shape[1]
    at = 0

    def read(kind: str, size: int) -> Words:
        part = np.ascontiguousarray(texts[:, at : at + size])
        words: Words = part.view(np.dtype(kind))[:, 0].astype(np.uint64)
        return words

    if length >= 32:
        parts = [seeds + _P1 + _P2, seeds + _P2, seeds.copy(), seeds - _P1]
        while at + 32 <= length:
            for place in range(4):
                parts[place] = _round(parts[place], read("<u8", 8))
                at += 8
        turned = zip(parts, (1, 7, 12, 18), strict=True)
        hashes = np.add.reduce([_rotated(part, by) for part, by in turned])
        for part in parts:
            hashes = (hashes ^ _round(np.zeros_like(part), part)) * _P1 + _P4
    else:
        hashes = seeds + _P5
    hashes = hashes + np.uint64(length)
    while at + 8 <= length:
        hashes = _eight(hashes, read("<u8", 8))
        at += 8
    if at + 4 <= length:
        hashes = _four(hashes, read("<u4", 4))
        at += 4
    while at < length:
        hashes = _rotated(hashes ^ (read("u1", 1) * _P5), 11) * _P1
        at += 1
    return _mixed(hashes)


def _round(hashes: Words, words: Words) -> Words:
    return _rotated(hashes + words * _P2, 31) * _P1

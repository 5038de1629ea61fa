"""The identity of a row: a hash of its content, and random draws that depend on it.

A draw depends on the seed and on the row's identity: its stream, its time, its content, and its
number among equal rows. It does not depend on the order of delivery or the cut into batches.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from penstock.columns import decoded
from penstock.engine.kernels.key_hash import (
    combine_hash,
    combine_hash_each,
    draw_each,
    hash_each,
    hash_lists,
)

# The hash of a null, and what every hash begins with: arbitrary constants.
_NULL = np.int64(0x1D8AF066F1B4A2C3)
_START = np.int64(0x2545F4914F6CDD1D)

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.engine.arrays import Array, Floats, Integers


def content_hashes(table: pa.Table) -> Integers:
    """Hash each row's whole content.

    >>> hashes = content_hashes(pa.table({"a": [1, 1, 2], "b": [["x"], ["x"], None]}))
    >>> bool(hashes[0] == hashes[1]), bool(hashes[0] == hashes[2])
    (True, False)
    """
    hashes = np.full(table.num_rows, _START)
    for column in table.columns:
        combine_hash_each(hashes, _hashes(decoded(column)))
    return hashes


def draws(seed: int, stream: int, times: Array, identities: Integers) -> Floats:
    """Draw a number in [0, 1) for each row; equal rows must be next to each other.

    >>> times, identities = np.array([5, 5, 7]), np.array([11, 11, 11])
    >>> once = draws(1, 0, times, identities)
    >>> len(set(once)), bool(np.all(once == draws(1, 0, times, identities)))
    (3, True)
    """
    start = combine_hash(np.int64(stream), np.int64(seed))
    drawn = np.empty(times.size)
    draw_each(start, bits(times), identities, number_among_equals(times, identities), drawn)
    return drawn


def number_among_equals(times: Array, identities: Integers) -> Integers:
    """Number the rows of the same time and identity; equal rows must stand side by side.

    >>> number_among_equals(np.array([5, 5, 7]), np.array([11, 11, 11])).tolist()
    [0, 1, 0]
    """
    if not np.any(times[1:] == times[:-1]):
        return np.zeros(times.size, np.int64)
    new = np.ones(times.size, np.bool_)
    new[1:] = (times[1:] != times[:-1]) | (identities[1:] != identities[:-1])
    starts = np.flatnonzero(new)
    return np.arange(times.size) - np.repeat(starts, np.diff(starts, append=times.size))


def bits(values: Array) -> Integers:
    """Return values of 64 bits as whole numbers of the same bits."""
    return np.ascontiguousarray(values).view(np.int64)


def _hashes(array: pa.Array) -> Integers:
    """Hash each value of an array of any type."""
    array = decoded(array)
    for is_kind, hash_values in _BY_KIND:
        if is_kind(array.type):
            hashes = hash_values(array)
            break
    else:
        # Unions, intervals, views of lists: rare, and their text has all of their content.
        hashes = _of_bytes(_as_text(array))
    if array.null_count:
        hashes[array.is_null().to_numpy(zero_copy_only=False)] = _NULL
    return hashes


def _of_structs(array: pa.StructArray) -> Integers:
    hashes = np.full(len(array), _START)
    for child in array.flatten():
        combine_hash_each(hashes, _hashes(child))
    return hashes


def _of_lists(array: pa.ListArray) -> Integers:
    if pa.types.is_fixed_size_list(array.type):
        offsets = (array.offset + np.arange(len(array) + 1)) * array.type.list_size
    else:
        offsets = array.offsets.to_numpy()
    hashes = np.empty(len(array), np.int64)
    hash_lists(_hashes(array.values), offsets.astype(np.int64), hashes)
    return hashes


def _of_decimals(array: pa.Array) -> Integers:
    width = array.type.bit_width // 8
    raw = np.frombuffer(array.buffers()[1] or b"", np.uint8)
    raw = raw[array.offset * width : (array.offset + len(array)) * width].reshape(-1, width)
    words = raw.view(np.int32 if width == 4 else np.int64).astype(np.int64)
    hashes = np.full(len(array), _START)
    for column in words.T:
        combine_hash_each(hashes, np.ascontiguousarray(column))
    return hashes


def _of_bytes(array: pa.Array) -> Integers:
    binary = array.cast(pa.large_binary())
    hashes = np.empty(len(array), np.int64)
    if len(array):
        _, offsets, data = binary.buffers()
        bounds = np.frombuffer(offsets, np.int64)[binary.offset :][: len(array) + 1]
        hash_each(np.frombuffer(data or b"", np.uint8), bounds, hashes)
    return hashes


def _is_bytes(kind: pa.DataType) -> bool:
    return any(
        (
            pa.types.is_string(kind),
            pa.types.is_large_string(kind),
            pa.types.is_binary(kind),
            pa.types.is_large_binary(kind),
            pa.types.is_fixed_size_binary(kind),
            pa.types.is_string_view(kind),
            pa.types.is_binary_view(kind),
        )
    )


def _is_list(kind: pa.DataType) -> bool:
    return any(
        (
            pa.types.is_list(kind),
            pa.types.is_large_list(kind),
            pa.types.is_fixed_size_list(kind),
            pa.types.is_map(kind),
        )
    )


def _is_word(kind: pa.DataType) -> bool:
    # An interval of months, days and nanoseconds is primitive, but wider than 64 bits.
    return pa.types.is_primitive(kind) and kind.bit_width <= 64


def _of_words(array: pa.Array) -> Integers:
    """Return each fixed-width value as 64 bits: whole numbers as they are, floats as their bits."""
    if pa.types.is_boolean(array.type):
        array = array.cast(pa.int8())
    if array.null_count:
        array = array.fill_null(_zero(array.type))
    if pa.types.is_floating(array.type):
        return array.cast(pa.float64()).to_numpy().view(np.int64).copy()
    # Timestamps and the like: their bits as whole numbers.
    width = {8: pa.int8(), 16: pa.int16(), 32: pa.int32(), 64: pa.int64()}
    return array.view(width[array.type.bit_width]).to_numpy().astype(np.int64)


def _zero(kind: pa.DataType) -> pa.Scalar:
    return pa.array([0]).cast(pa.int32() if kind.bit_width == 32 else pa.int64()).cast(kind)[0]


_BY_KIND: tuple[tuple[Callable[[pa.DataType], bool], Callable[[pa.Array], Integers]], ...] = (
    (pa.types.is_null, lambda array: np.full(len(array), _NULL)),
    (pa.types.is_struct, _of_structs),
    (_is_list, _of_lists),
    (pa.types.is_decimal, _of_decimals),
    (_is_bytes, _of_bytes),
    (_is_word, _of_words),
)


def _as_text(array: pa.Array) -> pa.Array:
    return pa.array([repr(value.as_py()) for value in array], pa.string())

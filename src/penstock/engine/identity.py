"""Who a tuple is, whatever order it comes in: a hash of its content, and draws that follow from it.

A draw depends on the seed and on the tuple's own identity: its stream, its time, its content, and
its number among equals. Neither the order of delivery nor the cut into batches changes it.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from penstock.engine.columns import decoded
from penstock.engine.kernels.words import fold, hash_each, stir_each

Hashes = npt.NDArray[np.int64]

# What stands for a null: any word will do, this is the golden ratio's.
_NULL = np.int64(-7046029254386353131)
# 2**-53: the 53 upper bits of a word as a fraction.
_UNIT = 2.0**-53


def content_hashes(table: pa.Table) -> Hashes:
    """Hash each row's whole content.

    >>> hashes = content_hashes(pa.table({"a": [1, 1, 2], "b": [["x"], ["x"], None]}))
    >>> bool(hashes[0] == hashes[1]), bool(hashes[0] == hashes[2])
    (True, False)
    """
    hashes = np.zeros(table.num_rows, np.int64)
    for column in table.columns:
        stir_each(hashes, _hashes(decoded(column)))
    return hashes


def draws(
    seed: int, stream: int, times: npt.NDArray[np.generic], identities: Hashes
) -> npt.NDArray[np.float64]:
    """Draw a number in [0, 1) for each tuple; equal tuples must stand side by side.

    >>> times, identities = np.array([5, 5, 7]), np.array([11, 11, 11])
    >>> once = draws(1, 0, times, identities)
    >>> len(set(once)), bool(np.all(once == draws(1, 0, times, identities)))
    (3, True)
    """
    hashes = np.full(times.size, seed, np.int64)
    stir_each(hashes, np.full(times.size, stream, np.int64))
    stir_each(hashes, _bits(times))
    stir_each(hashes, identities)
    stir_each(hashes, _number_among_equals(times, identities))
    return (hashes.view(np.uint64) >> np.uint64(11)).astype(np.float64) * _UNIT


def _number_among_equals(times: npt.NDArray[np.generic], identities: Hashes) -> Hashes:
    if not times.size:
        return np.zeros(0, np.int64)
    new = np.ones(times.size, np.bool_)
    new[1:] = (times[1:] != times[:-1]) | (identities[1:] != identities[:-1])
    starts = np.flatnonzero(new)
    return np.arange(times.size) - np.repeat(starts, np.diff([*starts, times.size]))


def _bits(values: npt.NDArray[np.generic]) -> Hashes:
    return np.ascontiguousarray(values).view(np.int64)


def _hashes(array: pa.Array) -> Hashes:
    """Hash each value of an array of any type."""
    if isinstance(array, (pa.ExtensionArray, pa.DictionaryArray, pa.RunEndEncodedArray)):
        array = decoded(array)
    kind = array.type
    if pa.types.is_null(kind):
        return np.full(len(array), _NULL)
    if pa.types.is_struct(kind):
        hashes = np.zeros(len(array), np.int64)
        for child in array.flatten():
            stir_each(hashes, _hashes(child))
    elif pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_map(kind):
        children = _hashes(array.values)
        hashes = np.empty(len(array), np.int64)
        offsets = array.offsets.to_numpy().astype(np.int64)
        fold(children, offsets, hashes)
    elif pa.types.is_fixed_size_list(kind):
        children = _hashes(array.values)
        hashes = np.empty(len(array), np.int64)
        offsets = (array.offset + np.arange(len(array) + 1)) * kind.list_size
        fold(children, offsets.astype(np.int64), hashes)
    elif pa.types.is_primitive(kind) or pa.types.is_boolean(kind):
        hashes = _primitive_words(array)
    elif pa.types.is_decimal(kind):
        hashes = _hashes(array.cast(pa.string()))
    elif _is_bytes(kind):
        binary = array.cast(pa.large_binary())
        hashes = np.empty(len(array), np.int64)
        _, offsets, data = binary.buffers()
        if len(array):
            bounds = np.frombuffer(offsets, np.int64)[binary.offset :][: len(array) + 1]
            hash_each(np.frombuffer(data or b"", np.uint8), bounds, hashes)
    else:
        # Unions and views of lists: rare, and their text says all that they hold.
        hashes = _hashes(pa.array([repr(value.as_py()) for value in array], pa.string()))
    if array.null_count:
        hashes[array.is_null().to_numpy(zero_copy_only=False)] = _NULL
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


def _primitive_words(array: pa.Array) -> Hashes:
    """Give each fixed-width value as a word: whole numbers as they are, floats as bits."""
    if pa.types.is_boolean(array.type):
        array = array.cast(pa.int8())
    if array.null_count:
        array = array.fill_null(_zero(array.type))
    if pa.types.is_floating(array.type):
        return array.cast(pa.float64()).to_numpy().view(np.int64).copy()
    if array.type.bit_width == 64:  # timestamps and such: the same bits as whole numbers
        return array.view(pa.int64()).to_numpy().copy()
    width = {8: pa.int8(), 16: pa.int16(), 32: pa.int32()}.get(array.type.bit_width)
    if width is None:
        return _hashes(array.cast(pa.string()))
    return array.view(width).to_numpy().astype(np.int64)


def _zero(kind: pa.DataType) -> pa.Scalar:
    return pa.array([0]).cast(pa.int32() if kind.bit_width == 32 else pa.int64()).cast(kind)[0]

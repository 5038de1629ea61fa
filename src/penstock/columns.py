"""Arrow columns as flat arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

__all__ = [
    "as_numpy",
    "at_midnight",
    "decoded",
    "plain",
]


def plain(type_: pa.DataType) -> pa.DataType:
    """Return the type of the values themselves, whatever their encoding.

    >>> plain(pa.dictionary(pa.int8(), pa.string()))
    DataType(string)
    """
    while True:
        if pa.types.is_dictionary(type_) or pa.types.is_run_end_encoded(type_):
            type_ = type_.value_type
        elif isinstance(type_, pa.BaseExtensionType):
            type_ = type_.storage_type
        else:
            return type_


def decoded(column: pa.ChunkedArray | pa.Array) -> pa.Array:
    """Return a column as one plain array: no chunks, no dictionary, no extension type."""
    if isinstance(column, pa.ChunkedArray):
        column = column.chunk(0) if column.num_chunks == 1 else _combined(column)
    while True:
        if isinstance(column, pa.DictionaryArray):
            column = column.dictionary_decode()
        elif isinstance(column, pa.RunEndEncodedArray):
            column = pc.run_end_decode(column)
        elif isinstance(column, pa.ExtensionArray):
            column = column.storage
        else:
            return column


def at_midnight(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column of dates as timestamps without a zone, and any other column as it is.

    >>> at_midnight(pa.chunked_array([pa.array([1], pa.date32())])).type
    TimestampType(timestamp[ms])
    """
    if not pa.types.is_date(plain(column.type)):
        return column
    return pa.chunked_array([decoded(column).cast(pa.timestamp("ms"))])


def _combined(column: pa.ChunkedArray) -> pa.Array:
    # Offsets of 32 bits end at 2 GiB of text; the large types do not.
    wide = _widened(column.type)
    if wide != column.type:
        column = column.cast(wide)
    return column.combine_chunks()


def _widened(kind: pa.DataType) -> pa.DataType:
    """Return a type with offsets of 64 bits.

    >>> _widened(pa.struct({"a": pa.list_(pa.string())}))
    StructType(struct<a: large_list<item: large_string>>)
    """
    types = pa.types
    if types.is_string(kind):
        return pa.large_string()
    if types.is_binary(kind):
        return pa.large_binary()
    if types.is_struct(kind):
        return pa.struct([field.with_type(_widened(field.type)) for field in kind])
    if types.is_list(kind) or types.is_large_list(kind):
        return pa.large_list(kind.value_field.with_type(_widened(kind.value_type)))
    if types.is_map(kind):
        return pa.map_(_widened(kind.key_type), _widened(kind.item_type))
    return kind


def as_numpy(
    column: pa.ChunkedArray | pa.Array, dtype: np.dtype[Any]
) -> tuple[npt.NDArray[Any], npt.NDArray[np.bool_]]:
    """Return a column of numbers as an array of `dtype`, and a mask that is false for nulls.

    A null is 0 in the array.

    >>> as_numpy(pa.array([1, None, 3]), np.dtype("f8"))
    (array([1., 0., 3.]), array([ True, False,  True]))
    """
    array = decoded(column)
    if pa.types.is_null(array.type):
        return np.zeros(len(array), dtype), np.zeros(len(array), np.bool_)
    if array.null_count == 0:
        good = np.ones(len(array), np.bool_)
    else:
        good = array.is_valid().to_numpy(zero_copy_only=False)
        array = array.fill_null(False if pa.types.is_boolean(array.type) else 0)
    values = array.to_numpy(zero_copy_only=False)
    return values.astype(dtype, copy=False), good

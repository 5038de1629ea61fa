"""Arrow columns: whether a join's tables have them, and their values as flat arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from penstock.errors import SchemaError, must

if TYPE_CHECKING:
    from collections.abc import Mapping

    from penstock.spec import Specification

__all__ = [
    "UNITS_PER_SECOND",
    "as_numpy",
    "check_tables",
    "decoded",
    "plain",
    "units_per_second",
]

UNITS_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
"""Units in a second, for each unit that an Arrow timestamp can have."""


def check_tables(join: Specification, tables: Mapping[str, pa.Table]) -> None:
    """Raise unless there is one table for each stream, with the columns that the join needs.

    Raises
    ------
    SchemaError
        If a table or a column is missing, or there twice.
    """
    if set(tables) != set(join.names):
        requirement = f"those of the streams {', '.join(join.names)}"
        raise SchemaError(must("tables", requirement, list(tables), "give one for each stream"))
    for name in join.names:
        if not isinstance(tables[name], pa.Table):
            hint = "put several together with pyarrow.concat_tables"
            kind = type(tables[name]).__name__
            raise SchemaError(must(f'table of stream "{name}"', "one table", kind, hint))
        known = tables[name].column_names
        for column in (join.streams[name].time, *join.on.columns_of(name)):
            if known.count(column) != 1:
                requirement = f"one of {', '.join(known)}, and only one"
                label = f'column of stream "{name}"'
                raise SchemaError(must(label, requirement, column, "correct the name"))


def units_per_second(join: Specification, tables: Mapping[str, pa.Table]) -> int | None:
    """Return the finest unit of the streams' timestamps; None if their times are numbers.

    Raises
    ------
    SchemaError
        If a time column holds no times, or some are timestamps and others numbers.
    """
    units: set[int | None] = set()
    for name, stream in join.streams.items():
        kind = tables[name].schema.field(stream.time).type
        if pa.types.is_timestamp(kind):
            units.add(UNITS_PER_SECOND[kind.unit])
        elif pa.types.is_integer(kind) or pa.types.is_floating(kind):
            units.add(None)
        else:
            label = f'time column "{stream.time}" of stream "{name}"'
            raise SchemaError(must(label, "a timestamp or a number", str(kind), "cast it"))
    if None in units and len(units) > 1:
        requirement = "timestamps in all streams or numbers in all"
        raise SchemaError(must("time columns", requirement, "some of each", "cast one kind"))
    return max((unit for unit in units if unit is not None), default=None)


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


def _combined(column: pa.ChunkedArray) -> pa.Array:
    # Offsets of 32 bits end at 2 GiB of text; the large types do not.
    wide = {pa.string(): pa.large_string(), pa.binary(): pa.large_binary()}
    if column.type in wide:
        column = column.cast(wide[column.type])
    return column.combine_chunks()


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

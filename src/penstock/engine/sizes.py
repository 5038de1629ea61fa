"""The size in bytes of each row of a table, for budgets in bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.columns import decoded, plain

if TYPE_CHECKING:
    from penstock.engine.arrays import Array, Integers


def row_sizes(table: pa.Table) -> Integers:
    """Return the size of each row: its values and offsets, and a byte per value for its null bit.

    >>> row_sizes(pa.table({"a": [1, 2], "b": ["x", "four"]})).tolist()
    [15, 18]
    """
    sizes = np.zeros(table.num_rows, np.int64)
    for column in table.columns:
        sizes += _sizes(decoded(column))
    return sizes


def widest_row(table: pa.Table) -> int:
    """Return bytes that no row of a table has more of: those of each column's largest value.

    >>> widest_row(pa.table({"a": [1, 2], "b": ["x", "four"]}))
    18
    """
    widest = 0
    for column in table.columns:
        try:
            widest += 1 + (plain(column.type).bit_width + 7) // 8
        except ValueError:  # no fixed width
            widest += int(_sizes(decoded(column)).max(initial=0))
    return widest


def table_size(table: pa.Table) -> int:
    """Return the bytes of a table's rows: the same however they are ordered, cut and sliced.

    Arrow's own `nbytes` also counts the bits around a slice, and the ends of every chunk.

    >>> table = pa.table({"a": [1, 2, None], "b": ["x", "four", ""]})
    >>> table_size(table), table_size(pa.concat_tables([table.slice(2), table.slice(0, 2)]))
    (42, 42)
    """
    return sum(_column_size(column) for column in table.columns)


def _column_size(column: pa.ChunkedArray) -> int:
    rows, kind = len(column), column.type
    nulls = (rows + 7) // 8 if column.null_count else 0
    if pa.types.is_primitive(kind) or pa.types.is_decimal(kind):
        return int(nulls + (rows * kind.bit_width + 7) // 8)
    if pa.types.is_string(kind) or pa.types.is_binary(kind):
        return int(nulls + 4 * rows + (pc.sum(pc.binary_length(column)).as_py() or 0))
    return int(_sizes(decoded(column)).sum())


def _sizes(array: pa.Array) -> Integers:
    array = decoded(array)
    kind, types = array.type, pa.types
    if types.is_struct(kind):
        return sum((_sizes(child) for child in array.flatten()), np.ones(len(array), np.int64))
    if types.is_fixed_size_list(kind):
        bounds = (array.offset + np.arange(len(array) + 1)) * kind.list_size
        return 1 + _between(array.values, bounds)
    if types.is_list(kind) or types.is_large_list(kind) or types.is_map(kind):
        return 5 + _between(array.values, array.offsets.to_numpy())
    if types.is_null(kind):
        return np.ones(len(array), np.int64)
    try:
        return np.full(len(array), 1 + (kind.bit_width + 7) // 8, np.int64)
    except ValueError:  # no fixed width
        return 5 + _lengths(array)


def _between(values: pa.Array, bounds: Array) -> Integers:
    """Return the size of each run of values."""
    ends = np.zeros(len(values) + 1, np.int64)
    np.cumsum(_sizes(values), out=ends[1:])
    return ends[bounds[1:]] - ends[bounds[:-1]]


def _lengths(array: pa.Array) -> Integers:
    try:
        lengths = pc.binary_length(array)
    except pa.ArrowNotImplementedError:  # unions, views of lists: the mean size
        return np.full(len(array), array.nbytes // max(1, len(array)), np.int64)
    return lengths.fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)

"""Rows that were saved before their stream had further columns."""

from __future__ import annotations

import pyarrow as pa


def fitted(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """Return a table with the columns of a schema: null in those that it has not.

    Its own columns are among those of the schema, in the same order.

    >>> schema = pa.schema([("t", pa.int64()), ("note", pa.string()), ("x", pa.int8())])
    >>> fitted(pa.table({"t": [1], "x": pa.array([2], pa.int8())}), schema).to_pylist()
    [{'t': 1, 'note': None, 'x': 2}]
    """
    if table.num_columns == len(schema):
        return table.cast(schema)
    columns: list[pa.ChunkedArray] = []
    at = 0
    for field in schema:
        if at < table.num_columns and table.schema.field(at).name == field.name:
            columns.append(table.column(at).cast(field.type))
            at += 1
        else:
            columns.append(pa.chunked_array([pa.nulls(table.num_rows, field.type)]))
    return pa.Table.from_arrays(columns, schema=schema)

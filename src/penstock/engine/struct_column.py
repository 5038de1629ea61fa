"""The rows of a table as one column."""

from __future__ import annotations

import pyarrow as pa


def as_struct(table: pa.Table, kind: pa.StructType) -> pa.Array | pa.ChunkedArray:
    """Return a table's rows as one struct column."""
    if not table.num_columns:
        return pa.array([{}] * table.num_rows, kind)
    batches = table.combine_chunks().to_batches()
    chunks = [pa.StructArray.from_arrays(batch.columns, fields=list(kind)) for batch in batches]
    return chunks[0] if len(chunks) == 1 else pa.chunked_array(chunks, kind)

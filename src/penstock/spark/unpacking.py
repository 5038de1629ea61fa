"""Results on their way out of the operator: from tables that were handed over to Spark's rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.spark.handover import take
from penstock.spark.worker import settle

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa

# Rows that Java gets at a time: enough to make the cost per row small, and not too much memory.
_MOST_ROWS = 1 << 16


def unpack_results(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Give the results whose files are named in a column ``results``: for `mapInArrow`."""
    settle()
    for batch in batches:
        for name in batch.column("results").drop_null().to_pylist():
            yield from take(name).to_batches(max_chunksize=_MOST_ROWS)

"""Results on their way out of the operator: from files of tables to Spark's rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.spark import result_files
from penstock.spark.worker import freeze_loaded_objects

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa

# Rows that Java gets at a time: enough to make the cost per row small, and not too much memory.
_MAX_ROWS = 1 << 16


def unpack_results(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the results whose files are named in a column ``results``: for `mapInArrow`."""
    freeze_loaded_objects()
    for batch in batches:
        for path in batch.column("results").drop_null().to_pylist():
            yield from result_files.read_and_remove(path).to_batches(max_chunksize=_MAX_ROWS)

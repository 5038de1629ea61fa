"""Results on their way out of the operator: from tables in files, or in rows, to Spark's rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.engine.ipc import from_ipc
from penstock.spark.result_files import ResultReader
from penstock.spark.worker import freeze_loaded_objects

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa


def unpack_results(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the results in ``results``, and those in files at an ``address``: for `mapInArrow`."""
    freeze_loaded_objects()
    with ResultReader() as reader:
        for batch in batches:
            for address in batch.column("address").drop_null().to_pylist():
                yield from reader.read(address)
            for packed in batch.column("results").drop_null():
                yield from from_ipc(packed.as_buffer()).to_batches()

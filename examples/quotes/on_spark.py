"""The same join on Spark, over files: with costs given it decides as a replay does."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pyarrow.parquet as pq

import penstock as ps
from examples.quotes.exchange import BUDGET, in_seconds, join
from penstock.spark import Listener

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow as pa
    from pyspark.sql import SparkSession

    from penstock.spark import Update

__all__ = ["run_on_spark"]

SHARDS = 2
_SCHEMA = "at TIMESTAMP, symbol BIGINT, price DOUBLE"


def run_on_spark(
    spark: SparkSession, streams: dict[str, pa.Table], folder: Path, each: int = 10
) -> ps.Metrics:
    """Write the streams to files of some seconds each, and join them, a file of each at a time."""
    for name, tables in in_seconds(streams, each).items():
        (folder / name).mkdir()
        for number, table in enumerate(tables):
            file = folder / name / f"{number:03}.parquet"
            pq.write_table(table, file)
            # Spark reads files in the order of their modification times, in whole milliseconds.
            os.utime(file, (1_700_000_000 + number,) * 2)
    frames = {
        name: spark.readStream.schema(_SCHEMA)
        .option("maxFilesPerTrigger", 1)
        .parquet(str(folder / name))
        for name in streams
    }
    listener = Listener(_report)
    spark.streams.addListener(listener)
    query = (
        join(BUDGET)
        .stream(frames, shards=SHARDS)
        .writeStream.format("noop")
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    spark.streams.removeListener(listener)
    return ps.progress(query)


def _report(update: Update) -> None:
    metrics = update.metrics
    print(
        f"micro-batch {update.batch}: {update.rows:,} rows in {update.seconds:.1f} s; so far "
        f"{metrics.emitted:,} results, throttle {metrics.throttle:.0%}, "
        f"{metrics.work:.1f} of {metrics.work_allowed:.1f} s of work"
    )

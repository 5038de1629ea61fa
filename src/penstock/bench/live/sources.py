"""The streams of a live benchmark, as Spark reads them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from penstock.bench.live.truth import Rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from penstock.bench.live.load import AnyLoad
    from penstock.join import Join

__all__ = ["all_rows", "compile_kernels", "live_sources", "stepped_sources"]

_FEW_ROWS = 200


def live_sources(spark: SparkSession, load: AnyLoad) -> dict[str, DataFrame]:
    """Read all streams as the clock counts: a second's rows are there when it is over.

    A micro-batch takes all that is there. So a query that is late gets more the next time.
    """
    numbers = (
        spark.readStream.format("rate")
        .option("rowsPerSecond", load.numbers_per_second)
        .option("numPartitions", 1)
    )
    return {name: _rows(numbers.load(), load, name) for name in load.streams}


def stepped_sources(spark: SparkSession, load: AnyLoad) -> dict[str, DataFrame]:
    """Read all streams a second in each micro-batch, however long it takes."""
    numbers = (
        spark.readStream.format("rate-micro-batch")
        .option("rowsPerBatch", load.numbers_per_second)
        .option("numPartitions", 1)
    )
    return {name: _rows(numbers.load(), load, name) for name in load.streams}


def all_rows(spark: SparkSession, load: AnyLoad, stream: str) -> Rows:
    """Return the times and keys of a whole stream."""
    numbers = spark.range(load.numbers).toDF("value")
    table = numbers.where(load.is_row()).selectExpr(*load.time_and_key(stream)).toArrow()
    at, keys = (column.to_numpy().astype(np.int64) for column in table.columns)
    return Rows(at, keys)


def _rows(numbers: DataFrame, load: AnyLoad, stream: str) -> DataFrame:
    return numbers.where(load.is_row()).selectExpr(*load.columns(stream))


def compile_kernels(load: AnyLoad, join: Join) -> None:
    """Join a few rows in this process, so that Spark's workers find the kernels on disk."""
    table = load.some_rows(_FEW_ROWS)
    # In two micro-batches, as the second one uses more kernels than the first.
    halves = [table.slice(0, _FEW_ROWS // 2), table.slice(_FEW_ROWS // 2)]
    join.replay(dict.fromkeys(load.streams, halves), shards=2)

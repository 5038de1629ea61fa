"""What the burst compares: the same join by Spark, by Penstock, and of a sample of the rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from penstock.bench.burst_load import STREAMS, WINDOW
from penstock.bench.burst_truth import Rows
from penstock.join import Join
from penstock.predicates import Equal
from penstock.spec import Stream

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame, SparkSession

    from penstock.bench.burst_load import Load
    from penstock.budget import Budget


def live_sources(spark: SparkSession, load: Load) -> dict[str, DataFrame]:
    """Read both streams as the clock counts: a second's rows are there when it is over.

    A micro-batch takes all that is there. So a query that is late gets more the next time.
    """
    numbers = (
        spark.readStream.format("rate")
        .option("rowsPerSecond", load.numbers_per_second)
        .option("numPartitions", 1)
    )
    return {name: _rows(numbers.load(), load, name) for name in STREAMS}


def stepped_sources(spark: SparkSession, load: Load) -> dict[str, DataFrame]:
    """Read both streams a second in each micro-batch, however long it takes."""
    numbers = (
        spark.readStream.format("rate-micro-batch")
        .option("rowsPerBatch", load.numbers_per_second)
        .option("numPartitions", 1)
    )
    return {name: _rows(numbers.load(), load, name) for name in STREAMS}


def all_rows(spark: SparkSession, load: Load, stream: str) -> Rows:
    """Return the times and keys of a whole stream."""
    numbers = spark.range(load.numbers).toDF("value")
    table = numbers.where(load.is_row()).selectExpr(*load.time_and_key(stream)).toArrow()
    at, keys = (column.to_numpy().astype(np.int64) for column in table.columns)
    return Rows(at, keys)


def _rows(numbers: DataFrame, load: Load, stream: str) -> DataFrame:
    return numbers.where(load.is_row()).selectExpr(*load.columns(stream))


def sampled(frames: Mapping[str, DataFrame], fraction: float) -> dict[str, DataFrame]:
    """Take a random sample of each stream's rows, each stream for itself."""
    return {
        name: frame.where(f"rand({seed}) < {fraction!r}")
        for seed, (name, frame) in enumerate(frames.items())
    }


def spark_join(frames: Mapping[str, DataFrame]) -> DataFrame:
    """Return Spark's own join, with watermarks so that it can drop old state."""
    left, right = (
        frame.withWatermark("at", "0 seconds").alias(name) for name, frame in frames.items()
    )
    reach = f"INTERVAL {WINDOW} SECONDS"
    within = f"right.at BETWEEN left.at - {reach} AND left.at + {reach}"
    return left.join(right, on="k").where(within)


def our_join(budget: Budget | None = None) -> Join:
    """Return the same join by Penstock: exact, or with a budget."""
    each = Stream(time="at", window=f"{WINDOW} seconds")
    return Join(streams=dict.fromkeys(STREAMS, each), on=Equal("k"), budget=budget)


def compile_kernels(join: Join) -> None:
    """Join a few rows in this process, so that Spark's workers find the kernels on disk."""
    at = np.arange(200) * 50_000
    table = pa.table(
        {
            "at": pa.array(at).cast(pa.timestamp("us", tz="UTC")),
            "k": np.arange(200) % 3,
            "number": np.arange(200),
        }
    )
    # In two micro-batches, as the second one uses more kernels than the first.
    halves = [table.slice(0, 100), table.slice(100)]
    join.replay(dict.fromkeys(STREAMS, halves), shards=2)

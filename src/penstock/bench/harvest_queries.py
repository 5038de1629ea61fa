"""What live harvesting compares: the same join of vectors, exact and within a budget."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from penstock.bench.harvest_load import DIMENSIONS, DISTANCE, STREAMS, WINDOW
from penstock.bench.harvest_truth import Reports
from penstock.goals import MaxSubset
from penstock.join import Join
from penstock.predicates import Similar
from penstock.spec import Stream

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from penstock.bench.harvest_load import HarvestLoad
    from penstock.budget import Budget


def live_sources(spark: SparkSession, load: HarvestLoad) -> dict[str, DataFrame]:
    """Read all streams as the clock counts: a second's rows are there when it is over."""
    numbers = (
        spark.readStream.format("rate")
        .option("rowsPerSecond", load.rate)
        .option("numPartitions", 1)
    )
    return {name: _rows(numbers.load(), load, name) for name in STREAMS}


def stepped_sources(spark: SparkSession, load: HarvestLoad) -> dict[str, DataFrame]:
    """Read all streams a second in each micro-batch, however long it takes."""
    numbers = (
        spark.readStream.format("rate-micro-batch")
        .option("rowsPerBatch", load.rate)
        .option("numPartitions", 1)
    )
    return {name: _rows(numbers.load(), load, name) for name in STREAMS}


def all_reports(spark: SparkSession, load: HarvestLoad, stream: str) -> Reports:
    """Return the times and things of a whole stream."""
    numbers = spark.range(load.rows).toDF("value")
    table = numbers.selectExpr(*load.time_and_thing(stream)).toArrow()
    at, things = (column.to_numpy().astype(np.int64) for column in table.columns)
    return Reports(at, things)


def _rows(numbers: DataFrame, load: HarvestLoad, stream: str) -> DataFrame:
    return numbers.where(load.is_row()).selectExpr(*load.columns(stream))


def our_join(budget: Budget | None = None, strategy: str | None = None) -> Join:
    """Return the join: exact, or with a budget."""
    each = Stream(time="at", window=f"{WINDOW} seconds")
    return Join(
        streams=dict.fromkeys(STREAMS, each),
        on=Similar(DISTANCE, dimensions=DIMENSIONS, **dict.fromkeys(STREAMS, "vector")),
        goal=MaxSubset(strategy=strategy),
        budget=budget,
    )


def compile_kernels(join: Join) -> None:
    """Join a few rows in this process, so that Spark's workers find the kernels on disk."""
    at = np.arange(300) * 100_000
    numbers = np.random.default_rng(1).random(300 * DIMENSIONS, np.float32)
    table = pa.table(
        {
            "at": pa.array(at).cast(pa.timestamp("us", tz="UTC")),
            "vector": pa.FixedSizeListArray.from_arrays(pa.array(numbers), DIMENSIONS).cast(
                pa.list_(pa.float32())
            ),
            "number": np.arange(300),
        }
    )
    # In two micro-batches, as the second one uses more kernels than the first.
    halves = [table.slice(0, 150), table.slice(150)]
    join.replay(dict.fromkeys(STREAMS, halves), shards=2)

"""What is measured: each query as a streaming frame over the same files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.bench.files import MILLISECONDS_PER_ROW, SCHEMA, STREAMS
from penstock.budget import Budget
from penstock.goals import MaxSubset
from penstock.join import Join
from penstock.predicates import Equal
from penstock.spec import Stream

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession


def sources(spark: SparkSession, folder: Path) -> dict[str, DataFrame]:
    """Read both streams, a file of each in a micro-batch."""
    return {
        stream: spark.readStream.schema(SCHEMA)
        .option("maxFilesPerTrigger", 1)
        .parquet(str(folder / stream))
        for stream in STREAMS
    }


def floor(spark: SparkSession, folder: Path, shards: int) -> DataFrame:
    """Return the least that a join in Python must do: to Python, a shuffle, to Python again."""
    left, right = (
        frame.mapInArrow(_unchanged, frame.schema) for frame in sources(spark, folder).values()
    )
    return left.union(right).repartition(shards, "k").mapInArrow(_unchanged, left.schema)


def _unchanged(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    return batches


def spark_join(spark: SparkSession, folder: Path, window_rows: int) -> DataFrame:
    """Return Spark's own join, with watermarks so that it can drop old state."""
    left, right = (
        frame.withWatermark("at", "0 seconds").alias(name)
        for name, frame in sources(spark, folder).items()
    )
    reach = f"INTERVAL {window_rows * MILLISECONDS_PER_ROW} MILLISECONDS"
    within = f"right.at BETWEEN left.at - {reach} AND left.at + {reach}"
    return left.join(right, on="k").where(within)


def our_join(
    spark: SparkSession,
    folder: Path,
    window_rows: int,
    shards: int,
    *,
    strategy: str | None = None,
    rows: int | None = None,
) -> DataFrame:
    """Return the same join by Penstock: exact, or with a strategy and a budget of rows."""
    each = Stream(time="at", window=f"{window_rows * MILLISECONDS_PER_ROW} milliseconds")
    join = Join(
        streams=dict.fromkeys(STREAMS, each),
        on=Equal("k"),
        goal=MaxSubset(strategy=strategy),
        budget=None if rows is None else Budget(rows=rows),
    )
    return join.stream(sources(spark, folder), shards=shards)

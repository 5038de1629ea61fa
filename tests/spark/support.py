"""Joins run on real Spark over micro-batches that are known beforehand."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from itertools import count
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql.pandas.types import from_arrow_schema

import penstock as ps
from penstock.testing import canonical_rows

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

Rows = list[tuple[str, ...]]

_numbers = count()


@dataclass
class Source:
    """A folder of Parquet files, each of which is one micro-batch."""

    folder: Path
    schema: pa.Schema

    def add(self, table: pa.Table) -> None:
        """Add a micro-batch; it becomes visible at once and whole."""
        self.folder.mkdir(parents=True, exist_ok=True)
        # Spark takes files in the order of their times of change, in whole milliseconds.
        number = next(_numbers)
        hidden = self.folder / f".{number:06}.parquet"
        pq.write_table(table.cast(self.schema), hidden)
        os.utime(hidden, (1_700_000_000 + number,) * 2)
        hidden.rename(self.folder / f"{number:06}.parquet")

    def read_stream(self, spark: SparkSession) -> DataFrame:
        self.folder.mkdir(parents=True, exist_ok=True)
        return (
            spark.readStream.schema(from_arrow_schema(self.schema))
            .option("maxFilesPerTrigger", 1)
            .parquet(str(self.folder))
        )

    def read(self, spark: SparkSession) -> DataFrame:
        return spark.read.schema(from_arrow_schema(self.schema)).parquet(str(self.folder))


def make_sources(folder: Path, batches: Mapping[str, Sequence[pa.Table]]) -> dict[str, Source]:
    """Write each stream's micro-batches; a stream with fewer than others falls silent."""
    sources = {n: Source(folder / n, tables[0].schema) for n, tables in batches.items()}
    for name, tables in batches.items():
        for table in tables:
            sources[name].add(table)
    return sources


def start(frame: DataFrame, folder: Path) -> StreamingQuery:
    """Write a streaming frame to Parquet files until its sources have nothing more."""
    return (
        frame.writeStream.format("parquet")
        .option("path", str(folder / "out"))
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )


def run(frame: DataFrame, folder: Path) -> StreamingQuery:
    """As `start`, and wait for the end; raises what the query raised."""
    query = start(frame, folder)
    query.awaitTermination()
    return query


def rows_written(spark: SparkSession, folder: Path, schema: pa.Schema) -> Rows:
    """Give the rows that `run` has written, in an order of their own."""
    files = spark.read.schema(from_arrow_schema(schema)).parquet(str(folder / "out"))
    return canonical_rows(files.toArrow().cast(schema))


def counts(metrics: ps.Metrics) -> ps.Metrics:
    """Leave out sizes: Arrow's differ by a few bits of padding with the way a table has come."""
    streams = {name: replace(each, row_bytes=0.0) for name, each in metrics.streams.items()}
    return replace(metrics, streams=streams, bytes_most=0)


def in_parts(tables: Mapping[str, pa.Table], parts: int) -> dict[str, list[pa.Table]]:
    """Cut each stream into as many micro-batches of about as many rows each."""
    return {
        name: [
            table.slice(start := i * len(table) // parts, (i + 1) * len(table) // parts - start)
            for i in range(parts)
        ]
        for name, table in tables.items()
    }


def stream_rows(
    spark: SparkSession,
    join: ps.Join,
    batches: Mapping[str, Sequence[pa.Table]],
    folder: Path,
    *,
    shards: int = 2,
) -> tuple[Rows, ps.Metrics]:
    """Run a join over micro-batches on Spark; give its rows and metrics."""
    sources = make_sources(folder, batches)
    frames = {name: source.read_stream(spark) for name, source in sources.items()}
    query = run(join.stream(frames, shards=shards), folder)
    schema = join.replay({n: t[0].slice(0, 0) for n, t in batches.items()}).result.schema
    return rows_written(spark, folder, schema), ps.progress(query)

"""Helpers that run joins on real Spark over given micro-batches."""

from __future__ import annotations

import os
import shutil
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from itertools import count
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.errors import StreamingQueryException
from pyspark.sql.pandas.types import from_arrow_schema

import penstock as ps
from penstock.testing import canonical_rows

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from penstock.engine.replay import Replay

Rows = list[tuple[str, ...]]

_numbers = count()


@dataclass
class Source:
    """A folder of Parquet files, each of which is one micro-batch."""

    folder: Path
    schema: pa.Schema

    def add(self, table: pa.Table) -> None:
        """Add a micro-batch; the file becomes visible only when it is complete."""
        self.folder.mkdir(parents=True, exist_ok=True)
        # Spark reads files in the order of their modification times, in whole milliseconds.
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
    """Write each stream's micro-batches; some streams may have fewer than others."""
    sources = {n: Source(folder / n, tables[0].schema) for n, tables in batches.items()}
    for name, tables in batches.items():
        for table in tables:
            sources[name].add(table)
    return sources


def start(frame: DataFrame, folder: Path) -> StreamingQuery:
    """Start to write a streaming frame to Parquet files, until its sources have no more rows."""
    return (
        frame.writeStream.format("parquet")
        .option("path", str(folder / "out"))
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )


def run(frame: DataFrame, folder: Path) -> StreamingQuery:
    """Start a query, and wait until it has ended; raise what it raised."""
    query = start(frame, folder)
    query.awaitTermination()
    return query


def rows_written(spark: SparkSession, folder: Path, schema: pa.Schema) -> Rows:
    """Return the rows that `run` has written, in canonical order."""
    files = spark.read.schema(from_arrow_schema(schema)).parquet(str(folder / "out"))
    return canonical_rows(files.toArrow().cast(schema))


def counts(metrics: ps.Metrics) -> ps.Metrics:
    """Return metrics without sizes in bytes: the padding of Arrow tables differs on Spark."""
    streams = {name: replace(each, row_bytes=0.0) for name, each in metrics.streams.items()}
    return replace(metrics, streams=streams, bytes_most=0)


def in_parts(tables: Mapping[str, pa.Table], parts: int) -> dict[str, list[pa.Table]]:
    """Cut each stream into micro-batches of about the same number of rows."""
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
    """Run a join over micro-batches on Spark; return its rows and metrics."""
    sources = make_sources(folder, batches)
    frames = {name: source.read_stream(spark) for name, source in sources.items()}
    query = run(join.stream(frames, shards=shards), folder)
    schema = join.replay({n: t[0].slice(0, 0) for n, t in batches.items()}).result.schema
    return rows_written(spark, folder, schema), ps.progress(query)


def assert_equals_replay(
    spark: SparkSession,
    join: ps.Join,
    batches: Mapping[str, Sequence[pa.Table]],
    folder: Path,
    *,
    shards: int = 2,
) -> Replay:
    """Run a join on Spark and as `replay`, compare rows and counts, and return the replay."""
    expected = join.replay(batches, shards=shards, ended=False)
    rows, metrics = stream_rows(spark, join, batches, folder, shards=shards)
    assert rows == canonical_rows(expected.result)
    assert counts(metrics) == counts(expected.metrics)
    return expected


@contextmanager
def setting(spark: SparkSession, name: str, value: str) -> Iterator[None]:
    """Change a setting of the session, and restore it at the end."""
    before = spark.conf.getAll.get(name)
    spark.conf.set(name, value)
    try:
        yield
    finally:
        if before is None:
            spark.conf.unset(name)
        else:
            spark.conf.set(name, before)


@dataclass(frozen=True)
class Stopped:
    """A query that was stopped between two micro-batches, of which copies can be resumed.

    The copies have their own checkpoints and sinks, and the same sources.
    """

    join: ps.Join
    shards: int | None
    folder: Path
    sources: Mapping[str, Source]
    before: Rows  # written when it was stopped
    after: Rows  # written when a copy has ended
    schema: pa.Schema

    def copy(self, folder: Path) -> None:
        """Make a copy in a folder, for `resume`."""
        shutil.copytree(self.folder / "checkpoint", folder / "checkpoint")
        out = folder / "out"
        shutil.copytree(self.folder / "out", out, ignore=shutil.ignore_patterns("*.crc"))
        # The sink's list of its files has absolute paths.
        for part in (out / "_spark_metadata").iterdir():
            part.write_text(part.read_text().replace(str(self.folder), str(folder)))

    def resume(
        self,
        spark: SparkSession,
        folder: Path,
        *,
        join: ps.Join | None = None,
        shards: int | None = None,
        schemas: Mapping[str, pa.Schema] | None = None,
    ) -> StreamingQuery:
        """Resume a copy, maybe with something changed, and wait until it ends or fails."""
        schemas = {n: source.schema for n, source in self.sources.items()} | dict(schemas or {})
        sources = {n: replace(self.sources[n], schema=schema) for n, schema in schemas.items()}
        frames = {name: source.read_stream(spark) for name, source in sources.items()}
        query = start((join or self.join).stream(frames, shards=shards or self.shards), folder)
        with suppress(StreamingQueryException):
            query.awaitTermination()
        return query

    def rows(self, spark: SparkSession, folder: Path) -> Rows:
        """Return the rows that a copy has written."""
        return rows_written(spark, folder, self.schema)


def run_and_stop(
    spark: SparkSession,
    join: ps.Join,
    batches: Mapping[str, Sequence[pa.Table]],
    folder: Path,
    *,
    shards: int | None = 2,
    before: int,
) -> Stopped:
    """Run a join over the first micro-batches, stop, and then add the others to the sources."""
    first = {name: tables[:before] for name, tables in batches.items()}
    sources = make_sources(folder, first)
    frames = {name: source.read_stream(spark) for name, source in sources.items()}
    run(join.stream(frames, shards=shards), folder)
    for name, tables in batches.items():
        for table in tables[before:]:
            sources[name].add(table)
    part, whole = (
        join.replay(given, shards=shards or 2, ended=False).result for given in (first, batches)
    )
    before_rows, after_rows = canonical_rows(part), canonical_rows(whole)
    assert rows_written(spark, folder, whole.schema) == before_rows
    return Stopped(join, shards, folder, sources, before_rows, after_rows, whole.schema)

"""Functions of `foreachBatch` that read a part of a micro-batch, or nothing of it."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from pyspark.errors import StreamingQueryException

import penstock as ps
from penstock.errors import StateError
from penstock.spark import cause
from penstock.testing import canonical_rows
from tests.spark.support import make_sources, setting

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

pytestmark = pytest.mark.spark

STREAM = ps.Stream(time="t", window=0)
JOIN = ps.Join(streams={"a": STREAM, "b": STREAM}, on=ps.Equal("k"))
BATCHES = 3
ARROW_ROWS = "spark.sql.execution.arrow.maxRecordsPerBatch"


def make_batches() -> dict[str, list[pa.Table]]:
    """Make micro-batches that each have some 80,000 results, in all of four shards."""

    def rows(batch: int) -> pa.Table:
        count = 16 * 70
        text = [f"some text {i}" for i in range(count)]
        return pa.table({"t": [batch] * count, "k": [i % 16 for i in range(count)], "text": text})

    tables = [rows(batch) for batch in range(BATCHES)]
    return {"a": tables, "b": tables}


def run_each(
    spark: SparkSession, folder: Path, function: Callable[[DataFrame, int], Any], shards: int = 2
) -> StreamingQuery:
    """Run a function for each micro-batch of a join, until there are no more, or it fails."""
    sources = make_sources(folder, make_batches())
    frames = {name: source.read_stream(spark) for name, source in sources.items()}
    query = (
        JOIN.stream(frames, shards=shards)
        .writeStream.foreachBatch(function)
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    with suppress(StreamingQueryException):
        query.awaitTermination()
    return query


def bytes_in_files_without_a_name(spark: SparkSession) -> int:
    """Return how much disk space is taken by files without a name that workers have open."""
    assert spark._jvm is not None
    processes = spark._jvm.java.lang.ProcessHandle.current().descendants().toArray()
    sizes = {}
    for process in processes:
        with suppress(FileNotFoundError):
            for link in Path(f"/proc/{process.pid()}/fd").iterdir():
                with suppress(FileNotFoundError):
                    if " (deleted)" in str(link.readlink()):
                        about = link.stat()
                        sizes[about.st_ino] = about.st_size
    return sum(sizes.values())


def files_with_a_name(spark: SparkSession) -> list[Path]:
    """Return the files in Spark's scratch folder that could be results."""
    local = Path(str(spark.sparkContext.getConf().get("spark.local.dir")))
    found = [Path(place) / name for place, _, names in os.walk(local) for name in names]
    return [each for each in found if each.name.startswith(("penstock", "tmp"))]


def test_unread_results_are_gone_after_the_next_micro_batch(
    spark: SparkSession, tmp_path: Path
) -> None:
    left = []

    def look(batch: DataFrame, _: int) -> None:
        assert not batch.isEmpty()
        left.append(bytes_in_files_without_a_name(spark))
        assert batch.count() == 16 * 70**2  # all of it, so that the query goes on
        left.append(bytes_in_files_without_a_name(spark))

    # A name at a time, so that the reader does not know of all that it does not read.
    with setting(spark, ARROW_ROWS, "1"):
        query = run_each(spark, tmp_path, look)
    assert query.exception() is None
    assert len(left) == 2 * BATCHES
    # One micro-batch of results takes some 10 MB. What one has left, the next one does not add to.
    assert max(left) < 2 * max(left[:2]) + 1_000_000
    assert files_with_a_name(spark) == []


PARTIAL: dict[str, Callable[[DataFrame, int], Any]] = {
    "take": lambda batch, _: batch.take(1),
    "show": lambda batch, _: batch.show(1),
    "limit": lambda batch, _: batch.limit(1).collect(),
}


# One in every run.
@pytest.mark.parametrize(
    "way", ["take", *(pytest.param(way, marks=pytest.mark.slow) for way in ("show", "limit"))]
)
def test_reading_a_part_is_explained(spark: SparkSession, tmp_path: Path, way: str) -> None:
    query = run_each(spark, tmp_path, PARTIAL[way], shards=4)
    error = query.exception()
    assert "STATE_STORE_COMMIT_VALIDATION_FAILED" not in str(error)
    found = cause(error)
    assert isinstance(found, StateError)
    assert str(found).startswith("the function of foreachBatch must read the whole micro-batch;")
    assert "batch.persist(), batch.count()" in str(found)
    with pytest.raises(StreamingQueryException) as caught:
        query.awaitTermination()
    assert str(cause(caught.value)) == str(found)


def test_what_the_explanation_says_to_do(spark: SparkSession, tmp_path: Path) -> None:
    given = []

    def function(batch: DataFrame, _: int) -> None:
        batch.persist()
        batch.count()
        assert len(batch.take(1)) == 1
        given.append(batch.toArrow())
        batch.unpersist()

    query = run_each(spark, tmp_path, function, shards=4)
    assert query.exception() is None
    expected = JOIN.replay(make_batches(), shards=4, ended=False).result
    assert canonical_rows(pa.concat_tables(given)) == canonical_rows(expected)

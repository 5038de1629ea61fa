"""Streams without rows: for a while, from some time on, or always."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

import penstock as ps
from tests.spark.support import Source, assert_equals_replay, run

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

SCHEMA = pa.schema([("t", pa.int64()), ("k", pa.string())])
STREAM = ps.Stream(time="t", window=10, lateness=1)
JOIN = ps.Join(streams={"a": STREAM, "b": STREAM}, on=ps.Equal("k"))


def at(*times: int | None) -> pa.Table:
    keys = ["x" if time is None or time % 2 else "y" for time in times]
    return pa.table({"t": pa.array(times, pa.int64()), "k": keys}, SCHEMA)


@pytest.mark.parametrize("shards", [3])
def test_micro_batches_without_rows(spark: SparkSession, tmp_path: Path, shards: int) -> None:
    batches = {
        "a": [at(), at(1, 2), at(), at(), at(None, None), at(6, 30)],
        "b": [at(), at(3, 4), at(), at(5), at(7, 8), at()],
    }
    expected = assert_equals_replay(spark, JOIN, batches, tmp_path, shards=shards)
    assert expected.metrics.emitted > 0


def test_a_stream_that_ends_early(spark: SparkSession, tmp_path: Path) -> None:
    batches = {"a": [at(1, 2, 3)], "b": [at(2), at(9, 10), at(11, 12, 13), at(50)]}
    expected = assert_equals_replay(spark, JOIN, batches, tmp_path)
    # The rows of b are kept: more rows of a may still arrive.
    assert expected.metrics.streams["b"].held == 7
    assert expected.metrics.streams["a"].held == 0


def test_a_stream_that_never_has_rows(spark: SparkSession, tmp_path: Path) -> None:
    stream = ps.Stream(time="t", window=10)
    join = ps.Join(streams={"a": stream, "b": stream, "c": stream}, on=ps.Equal("k"))
    batches = {"a": [at(1, 2), at(3)], "b": [at(), at()], "c": [at(100), at(200)]}
    expected = assert_equals_replay(spark, join, batches, tmp_path)
    assert expected.metrics.emitted == 0
    assert expected.metrics.streams["a"].held == 3


@pytest.mark.parametrize("files", [0, 2])
def test_no_data_at_all(spark: SparkSession, tmp_path: Path, files: int) -> None:
    sources = {name: Source(tmp_path / name, SCHEMA) for name in ("a", "b")}
    for _ in range(files):
        for source in sources.values():
            source.add(at())
    frames = {name: source.read_stream(spark) for name, source in sources.items()}
    joined = JOIN.stream(frames)
    query = run(joined, tmp_path)
    assert query.exception() is None
    metrics = ps.progress(query)
    assert metrics.emitted == metrics.arrived == 0
    # When rows arrive at last, the result is that of a query started now.
    for source in sources.values():
        source.add(at(1, 2, 3))
    metrics = ps.progress(run(joined, tmp_path))
    assert metrics.emitted == 5
    assert metrics.arrived == 6

"""`progress` before the first rows, while no rows come, and after a restart."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

import penstock as ps
from penstock.errors import SpecificationError
from penstock.spark import progress as progress_module
from tests.spark.support import Source, counts, make_sources, run, setting, start

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

SCHEMA = pa.schema([("t", pa.int64()), ("k", pa.int64())])
STREAM = ps.Stream(time="t", window=100)
JOIN = ps.Join(
    streams={"a": STREAM, "b": STREAM},
    on=ps.Equal("k"),
    goal=ps.MaxSubset(),  # which of its models is followed is among the metrics
    budget=ps.Budget(rows=40),
)
RECENT = "spark.sql.streaming.numRecentProgressUpdates"


def rows(first: int) -> pa.Table:
    return pa.table({"t": range(first, first + 30), "k": [i % 10 for i in range(30)]}, SCHEMA)


def frames(spark: SparkSession, sources: dict[str, Source]) -> dict[str, DataFrame]:
    return {name: source.read_stream(spark) for name, source in sources.items()}


def test_before_the_first_rows(spark: SparkSession, tmp_path: Path) -> None:
    sources = {name: Source(tmp_path / name, SCHEMA) for name in ("a", "b")}
    joined = JOIN.stream(frames(spark, sources), shards=2)
    query = joined.writeStream.format("noop").start()
    try:
        metrics = ps.progress(query)
    finally:
        query.stop()
    assert list(metrics.streams) == ["a", "b"]
    assert metrics.emitted == metrics.arrived == metrics.streams["b"].held == 0
    assert metrics.recall is None
    assert metrics.batch_recall is None
    assert metrics.budget_rows is None  # not known before there are rows
    assert metrics.strategy == "best"
    assert list(metrics.follows) == ["prob", "age", "expected", "until-expiry", "fifo"]


def test_after_a_restart_and_while_no_rows_come(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tables = [rows(0), rows(30), rows(60)]
    sources = make_sources(tmp_path, {"a": tables, "b": tables})
    joined = JOIN.stream(frames(spark, sources), shards=2)
    before = ps.progress(run(joined, tmp_path))
    assert before.emitted > 0
    assert before.lost > 0
    assert before.recall is not None
    # No rows come, so there is no micro-batch.
    query = start(JOIN.stream(frames(spark, sources), shards=2), tmp_path)
    query.awaitTermination()
    assert ps.progress(query) == before
    # Asked again, it is not read again.
    monkeypatch.setattr(progress_module, "metrics_in_checkpoint", pytest.fail)
    assert ps.progress(query) == before


def test_when_spark_has_forgotten_the_last_update_with_rows(
    spark: SparkSession, tmp_path: Path
) -> None:
    # The files after the first have no rows: each is a micro-batch without metrics.
    empty = SCHEMA.empty_table()
    sources = make_sources(tmp_path, {"a": [rows(0)] + [empty] * 4, "b": [rows(0)] + [empty] * 4})
    expected = JOIN.replay({"a": rows(0), "b": rows(0)}, shards=2, ended=False).metrics
    with setting(spark, RECENT, "2"):
        query = run(JOIN.stream(frames(spark, sources), shards=2), tmp_path)
    assert len(query.recentProgress) <= 2
    metrics = ps.progress(query)
    assert counts(metrics) == counts(expected)
    assert metrics.emitted == expected.emitted > 0


def test_each_of_two_joins_after_a_restart(spark: SparkSession, tmp_path: Path) -> None:
    sources = make_sources(tmp_path, {"a": [rows(0), rows(30)], "b": [rows(0), rows(30)]})
    exact = ps.Join(streams={"a": STREAM, "b": STREAM}, on=ps.Equal("k"))

    def both() -> DataFrame:
        one = JOIN.stream(frames(spark, sources), shards=2, name="one")
        other = exact.stream(frames(spark, sources), shards=2, name="other")
        return one.select("time").union(other.select("time"))

    first = run(both(), tmp_path)
    again = run(both(), tmp_path)
    assert again.lastProgress is None or again.lastProgress.numInputRows == 0
    for name in ("one", "other"):
        assert ps.progress(again, name) == ps.progress(first, name)
    assert ps.progress(again, "one").emitted < ps.progress(again, "other").emitted
    with pytest.raises(SpecificationError) as caught:
        ps.progress(again)
    assert str(caught.value) == (
        'name must be that of a join of the query ("one", "other"); got \'penstock\'; use the '
        "name that the join has in Join.stream"
    )

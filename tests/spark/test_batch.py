"""A join of bounded frames has the rows of `replay` of one table per stream."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

import penstock as ps
from penstock.testing import canonical_rows, market
from tests.conformance.workloads import WORKLOADS, Workload
from tests.engine.cases import KINDS
from tests.spark.support import setting
from tests.spark.test_equals_replay import make_batches, make_join

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import SparkSession

    from tests.spark.support import Rows

pytestmark = pytest.mark.spark


def batch_rows(
    spark: SparkSession,
    join: ps.Join,
    tables: Mapping[str, pa.Table],
    *,
    shards: int | None,
    partitions: int = 3,
) -> Rows:
    """Run a join over bounded frames of several partitions on Spark."""
    schema = join.replay({name: table.slice(0, 0) for name, table in tables.items()}).result.schema
    frames = {
        name: spark.createDataFrame(table).repartition(partitions) for name, table in tables.items()
    }
    return canonical_rows(join.batch(frames, shards=shards).toArrow().cast(schema))


@pytest.mark.parametrize("workload", WORKLOADS, ids=lambda workload: workload.name)
def test_every_predicate(spark: SparkSession, workload: Workload) -> None:
    shards = 2 + WORKLOADS.index(workload) % 2
    rows = batch_rows(spark, workload.join(), workload.tables, shards=shards)
    assert rows == workload.exact
    assert rows


def test_three_streams_and_unequal_values(spark: SparkSession) -> None:
    kind = KINDS["compare !="]
    tables = {name: parts[0] for name, parts in make_batches(kind, 3, seed=1).items()}
    join = make_join(kind, 3)
    rows = batch_rows(spark, join, tables, shards=3)
    assert rows == canonical_rows(join.replay(tables, shards=3).result)
    assert rows


@pytest.mark.parametrize(("strategy", "shards"), [("fifo", 2), ("random", 1), ("random", 3)])
def test_the_same_rows_are_evicted_as_in_replay(
    spark: SparkSession, strategy: str, shards: int
) -> None:
    site = market(auctions=200, seed=4)
    tables = {"auctions": site.auctions, "bids": site.bids}
    join = ps.Join(
        streams={
            "auctions": ps.Stream(time="opened_at", window="7 days"),
            "bids": ps.Stream(time="at", window="1 hour"),
        },
        on=ps.Equal(auctions="id", bids="auction_id"),
        goal=ps.MaxSubset(strategy=strategy),
        budget=ps.Budget(rows=30),
    )
    expected = join.replay(tables, shards=shards)
    assert batch_rows(spark, join, tables, shards=shards) == canonical_rows(expected.result)
    assert sum(each.dropped + each.evicted for each in expected.metrics.streams.values()) > 0


@pytest.mark.parametrize("shards", [1, 2])
def test_the_same_rows_of_three_streams_are_evicted(spark: SparkSession, shards: int) -> None:
    kind = KINDS["band whole"]
    tables = {n: pa.concat_tables(parts) for n, parts in make_batches(kind, 3, seed=0).items()}
    join = make_join(kind, 3, "random", ps.Budget(rows=20))
    expected = join.replay(tables, shards=shards)
    assert batch_rows(spark, join, tables, shards=shards) == canonical_rows(expected.result)
    assert expected.metrics.emitted > 0


def test_wrong_clocks_are_judged_by_the_rows_of_all_partitions(spark: SparkSession) -> None:
    times = [*range(12), 800, 801]
    table = pa.table({"t": times, "k": [i % 2 for i in range(len(times))]})
    stream = ps.Stream(time="t", window=3, max_ahead=40)
    join = ps.Join(streams={"a": stream, "b": stream}, on=ps.Equal("k"))
    tables = {"a": table, "b": table}
    expected = join.replay(tables, shards=2)
    # If only its own partition or shard were looked at, a wrong time would be taken as right.
    assert batch_rows(spark, join, tables, shards=2, partitions=7) == canonical_rows(
        expected.result
    )
    assert {each.far_ahead for each in expected.metrics.streams.values()} == {2}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("spark.sql.execution.arrow.maxRecordsPerBatch", "7"),
        ("spark.sql.execution.arrow.useLargeVarTypes", "true"),
        ("spark.sql.session.timeZone", "Asia/Kathmandu"),
        ("spark.sql.caseSensitive", "true"),
        ("spark.sql.ansi.enabled", "false"),
        ("spark.sql.adaptive.enabled", "false"),
    ],
)
def test_settings_of_the_session_change_nothing(spark: SparkSession, name: str, value: str) -> None:
    site = market(auctions=20, seed=5)
    tables = {"auctions": site.auctions, "bids": site.bids}
    join = ps.Join(
        streams={
            "auctions": ps.Stream(time="opened_at", window="7 days"),
            "bids": ps.Stream(time="at", window="1 hour"),
        },
        on=ps.Equal(auctions="id", bids="auction_id"),
    )
    with setting(spark, name, value):
        rows = batch_rows(spark, join, tables, shards=2)
    assert rows == canonical_rows(join.replay(tables).result)
    assert rows


@pytest.mark.parametrize("empty", [("a",), ("a", "b")])
def test_empty_frames(spark: SparkSession, empty: tuple[str, ...]) -> None:
    table = pa.table({"t": [1, 2], "k": ["x", "y"]})
    tables = {name: table.slice(0, 0) if name in empty else table for name in ("a", "b")}
    stream = ps.Stream(time="t", window=5)
    join = ps.Join(streams={"a": stream, "b": stream}, on=ps.Equal("k"))
    assert batch_rows(spark, join, tables, shards=2) == []


def test_without_a_number_of_shards_there_is_one_for_each_core(spark: SparkSession) -> None:
    table = pa.table({"t": [1, 2, 3, 3], "k": ["x", "y", "y", None]})
    stream = ps.Stream(time="t", window=5)
    join = ps.Join(streams={"a": stream, "b": stream}, on=ps.Equal("k"))
    frames = dict.fromkeys(("a", "b"), spark.createDataFrame(table))
    joined = join.batch(frames)
    assert joined.rdd.getNumPartitions() == spark.sparkContext.defaultParallelism
    assert joined.count() == 5

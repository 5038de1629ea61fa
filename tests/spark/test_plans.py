"""Plans of queries on Spark: the rows of replay and of Spark's own joins, also after a restart."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from pyspark.errors import StreamingQueryException

import penstock as ps
from penstock.errors import SchemaError
from penstock.planning.drop_boxes import DropBoxes
from penstock.planning.drop_hash import row_hashes
from penstock.testing import canonical_rows
from tests.spark.plan_streams import PLANS, ROWS, in_batches, plan_of
from tests.spark.support import make_sources, rows_written, run

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from penstock.planning.plan import Plan
    from tests.spark.support import Source

pytestmark = pytest.mark.spark

# Spark gives a new Python process ten seconds, which is not enough on a machine that is very busy.
TOO_BUSY = "Python worker failed to connect back"


def expected() -> pa.Table:
    return PLANS[0].replay(ROWS).result


def frames_of(spark: SparkSession, folder: Path) -> dict[str, DataFrame]:
    sources = make_sources(folder, {name: [table] for name, table in ROWS.items()})
    return {name: source.read(spark) for name, source in sources.items()}


# Deep ones, bushy ones, and products. One operator over all streams, and windows by rows, are in
# test_plan_windows and test_plan_names; all plans in replay are in tests/planning.
IN_A_BATCH = [
    "((p ⋈ a) ⋈ select(b)) ⋈ c",
    "p ⋈ ((a ⋈ c) ⋈ select(b))",
    "(p ⋈ a) ⋈ (select(b) ⋈ c)",
    "(p ⋈ select(b)) ⋈ (a ⋈ c)",
    "((p ⋈ select(b)) ⋈ c) ⋈ a",
]


@pytest.mark.slow
def test_plans_in_a_batch_give_the_rows_of_sparks_own_joins(
    spark: SparkSession, tmp_path: Path
) -> None:
    frames = frames_of(spark, tmp_path)
    for name, frame in frames.items():
        frame.createOrReplaceTempView(name)
    own = spark.sql("""
        SELECT p.name, a.id AS auction, b.price * 2 AS twice, c.title
        FROM people p, auctions a, bids b, categories c
        WHERE p.id = a.seller AND a.id = b.auction AND a.category = c.id AND b.price > 20
        AND greatest(joined_at, opened_at, at) <= joined_at + INTERVAL 60 SECONDS
        AND greatest(joined_at, opened_at, at) <= opened_at + INTERVAL 30 SECONDS
        AND greatest(joined_at, opened_at, at) <= at
    """).toArrow()
    wanted = expected()
    assert wanted.num_rows > 50
    assert canonical_rows(own.cast(wanted.schema)) == canonical_rows(wanted)
    for text in IN_A_BATCH:
        plan = plan_of(text)
        made = plan.batch(frames, shards=2).toArrow().cast(wanted.schema)
        assert canonical_rows(made) == canonical_rows(wanted), plan


def stream_of(spark: SparkSession, plan: Plan, sources: Mapping[str, Source]) -> DataFrame:
    frames = {name: source.read_stream(spark) for name, source in sources.items()}
    frames["categories"] = spark.createDataFrame(ROWS["categories"].to_pandas())
    return plan.stream(frames, shards=2)


def patiently(frame: DataFrame, folder: Path) -> StreamingQuery:
    """Run a query; again if the machine was too busy for Spark to start a Python process."""
    for _ in range(4):
        try:
            return run(frame, folder)
        except StreamingQueryException as error:
            if TOO_BUSY not in str(error):
                raise
    return run(frame, folder)


CHAINS = ["((p ⋈ a) ⋈ select(b)) ⋈ c", "p ⋈ ((a ⋈ select(b)) ⋈ c)"]


@pytest.mark.slow
@pytest.mark.parametrize("text", CHAINS, ids=["table-last", "table-between"])
def test_a_chain_gives_the_same_rows_after_a_restart(
    spark: SparkSession, tmp_path: Path, text: str
) -> None:
    plan = plan_of(text)
    batches = in_batches(4)
    wanted = expected()
    assert canonical_rows(plan.replay({**batches, "categories": ROWS["categories"]}).result) == (
        canonical_rows(wanted)
    )
    first: dict[str, Sequence[pa.Table]] = {name: parts[:2] for name, parts in batches.items()}
    sources = make_sources(tmp_path, first)
    patiently(stream_of(spark, plan, sources), tmp_path)
    before = rows_written(spark, tmp_path, wanted.schema)
    assert 0 < len(before) < wanted.num_rows
    for name, parts in batches.items():
        for part in parts[2:]:
            sources[name].add(part)
    query = patiently(stream_of(spark, plan, sources), tmp_path)
    assert rows_written(spark, tmp_path, wanted.schema) == canonical_rows(wanted)
    whole = plan.replay({**batches, "categories": ROWS["categories"]}, shards=2)
    joins = [node for node in whole.nodes if node.metrics is not None]
    told = [node for node in plan.progress(query) if node.metrics is not None]
    assert [node.name for node in told] == [node.name for node in joins]
    for node, other in zip(told, joins, strict=True):
        assert node.taken == other.taken
        assert node.metrics is not None
        assert other.metrics is not None
        assert node.metrics.emitted == other.metrics.emitted


@pytest.mark.slow
def test_a_chain_with_drop_boxes_gives_the_rows_of_replay_and_says_what_each_operator_did(
    spark: SparkSession, tmp_path: Path
) -> None:
    plan = plan_of(CHAINS[1])
    kept = {"b": 0.5, "p": 0.8}
    plan = replace(plan, boxes=DropBoxes(kept=kept, rate=1.0, cost=1.0, value=1.0))
    batches = in_batches(3)
    query = patiently(stream_of(spark, plan, make_sources(tmp_path, batches)), tmp_path)
    told = plan.progress(query)
    replay = plan.replay({**batches, "categories": ROWS["categories"]}, shards=2)
    assert 0 < replay.result.num_rows < 0.6 * expected().num_rows
    written = rows_written(spark, tmp_path, replay.result.schema)
    assert written == canonical_rows(replay.result)
    nodes = {node.name: node for node in replay.nodes}
    assert [node.name for node in told] == ["p", "a", "b", "a+b", "a+b+c", "p+a+b+c"]
    for node in told:
        other = nodes[node.name]
        # What a join with a table takes of the table is not counted.
        taken = {name: rows for name, rows in other.taken.items() if name != "c"}
        assert node.taken == taken
        if node.metrics is None or other.metrics is None:
            assert node.given == other.given
        else:  # before what the join does not test itself
            assert node.given == other.metrics.emitted
        assert node.modelled == other.modelled
        # The same steps are counted, over nearly the same time: what was read, and what was joined.
        assert node.cost == (None if other.cost is None else pytest.approx(other.cost, rel=0.01))
        is_measured = node.measured is not None and node.measured > 0
        assert is_measured == (node.metrics is not None)
    bids = told[2]
    assert 0 < bids.given < 0.6 * bids.taken["bids"]


def test_a_drop_box_keeps_the_rows_that_replay_keeps(spark: SparkSession, tmp_path: Path) -> None:
    kinds = pa.table(
        {
            "t": pa.array([1, 2, 3, 4]).cast(pa.timestamp("us", "UTC")),
            "local": pa.array([1, -2, None, 2**50]).cast(pa.timestamp("us")),
            "tiny": pa.array([-1, 2, None, 127], pa.int8()),
            "small": pa.array([-1, 2, None, 7], pa.int16()),
            "middle": pa.array([-(2**31), 2**31 - 1, None, 0], pa.int32()),
            "whole": pa.array([1, -(2**62), 3, None]),
            "real": [0.5, -0.0, float("nan"), None],
            "short": pa.array([1.5, -0.0, None, float("nan")], pa.float32()),
            "yes": [True, False, None, True],
            "day": pa.array([0, 20_000, -5, None], pa.int32()).cast(pa.date32()),
            "text": ["", "four", "a text of more than thirty-two bytes, by far: äöü", None],
            "data": [b"12345678", b"", None, bytes(range(45))],
            "list": [[1], [], None, [2]],
        }
    )
    frame = make_sources(tmp_path, {"kinds": [kinds]})["kinds"].read(spark)
    columns = ", ".join(f"`{name}`" for name in kinds.column_names if name != "list")
    made = frame.selectExpr(f"xxhash64(5L, 'a', {columns}) AS hash").toArrow()
    assert sorted(made["hash"].to_pylist()) == sorted(row_hashes(kinds, "a", 5).tolist())
    # A collation changes what texts are equal to, not their bytes, which are hashed.
    collated = columns.replace("`text`", "`text` COLLATE UTF8_LCASE")
    assert frame.selectExpr(f"xxhash64(5L, 'a', {collated}) AS hash").toArrow() == made

    query = ps.Query("SELECT b.price, b.at FROM bids b [NOW]", streams={"bids": "at"})
    full = query.optimize(query.measure(ROWS))
    plan = replace(full, boxes=DropBoxes(kept={"b": 0.4}, rate=1.0, cost=1.0, value=1.0))
    kept = plan.replay(ROWS).result
    frames = {"bids": make_sources(tmp_path, {"bids": [ROWS["bids"]]})["bids"].read(spark)}
    assert 0.3 * 600 < kept.num_rows < 0.5 * 600
    batch = plan.batch(frames).toArrow().cast(kept.schema)
    assert canonical_rows(batch) == canonical_rows(kept)


def test_frames_that_do_not_fit_are_named(spark: SparkSession) -> None:
    frames = dict.fromkeys(ROWS, spark.range(1).toDF("id"))
    with pytest.raises(SchemaError, match=r'frame of "people" must be streaming, as spark.readStr'):
        PLANS[0].stream(frames)
    with pytest.raises(SchemaError, match=r'frame of "bids" must be a DataFrame of Spark; got'):
        PLANS[0].batch(frames | {"bids": ROWS["bids"]})
    with pytest.raises(SchemaError, match=r'column of "people" must be one of id, and only one'):
        PLANS[0].batch(frames)

"""Plans of queries on Spark: the rows of replay and of Spark's own joins, also after a restart."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest

import penstock as ps
from penstock.errors import SchemaError
from penstock.planning.all_plans import all_plans
from penstock.planning.drop_boxes import DropBoxes
from penstock.planning.drop_hash import row_hashes
from penstock.planning.plan import Plan
from penstock.planning.tree import short
from penstock.testing import canonical_rows
from tests.spark.support import make_sources, rows_written, run

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

SQL = """
    SELECT p.name, a.id AS auction, b.price * 2 AS twice, c.title
    FROM people p [RANGE 60 SECONDS], auctions a [RANGE 30 SECONDS], bids b [NOW], categories c
    WHERE p.id = a.seller AND a.id = b.auction AND a.category = c.id AND b.price > 20
"""
SECOND = 1_000_000


def make_rows(seed: int = 1) -> dict[str, pa.Table]:
    chance = np.random.default_rng(seed)

    def times(count: int) -> pa.Array:
        micros = np.sort(chance.integers(0, 200 * SECOND, count))
        return pa.array(micros).cast(pa.timestamp("us", "UTC"))

    return {
        "people": pa.table(
            {
                "id": pa.array(np.arange(120) % 40),
                "name": [f"person {at}" for at in range(120)],
                "joined_at": times(120),
            }
        ),
        "auctions": pa.table(
            {
                "id": pa.array(np.arange(200) % 60),
                "seller": pa.array(chance.integers(0, 40, 200)),
                "category": pa.array(chance.integers(0, 5, 200)),
                "opened_at": times(200),
            }
        ),
        "bids": pa.table(
            {
                "auction": pa.array(chance.integers(0, 60, 600)),
                "price": pa.array(chance.integers(0, 100, 600)),
                "at": times(600),
            }
        ),
        "categories": pa.table({"id": [0, 1, 2, 3], "title": ["art", "books", "coins", "dolls"]}),
    }


ROWS = make_rows()
QUERY = ps.Query(
    SQL,
    streams={"people": "joined_at", "auctions": "opened_at", "bids": "at"},
    tables=["categories"],
    schemas={name: table.schema for name, table in ROWS.items()},
)


def make_plans() -> list[Plan]:
    chosen = QUERY.optimize(QUERY.measure(ROWS))
    return [
        Plan(QUERY, chosen.model, tree, chosen.boxes, 1.0, None) for tree in all_plans(chosen.model)
    ]


PLANS = make_plans()


def in_batches(parts: int) -> dict[str, list[pa.Table]]:
    """Cut the streams into micro-batches out of step: bids come late, then all at once."""
    cut = {}
    for name in ("people", "auctions", "bids"):
        table = ROWS[name]
        ends = [table.num_rows * (at + 1) // parts for at in range(parts)]
        if name == "bids":
            ends = [table.num_rows * (at + 1) ** 2 // parts**2 for at in range(parts)]
        starts = [0, *ends[:-1]]
        cut[name] = [table.slice(s, e - s) for s, e in zip(starts, ends, strict=True)]
    return cut


def expected() -> pa.Table:
    return PLANS[0].replay(ROWS).result


def frames_of(spark: SparkSession, folder: Path) -> dict[str, DataFrame]:
    sources = make_sources(folder, {name: [table] for name, table in ROWS.items()})
    return {name: source.read(spark) for name, source in sources.items()}


def test_all_plans_in_a_batch_give_the_rows_of_sparks_own_joins(
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
    for plan in PLANS[6::6]:
        made = plan.batch(frames, shards=2).toArrow().cast(wanted.schema)
        assert canonical_rows(made) == canonical_rows(wanted), plan


def stream_of(
    spark: SparkSession, plan: Plan, sources: Mapping[str, object], folder: Path, **options: object
) -> DataFrame:
    frames = {name: source.read_stream(spark) for name, source in sources.items()}  # type: ignore[attr-defined]
    frames["categories"] = spark.createDataFrame(ROWS["categories"].to_pandas())
    return plan.stream(frames, shards=2, **options)  # type: ignore[arg-type]


def tree_of(text: str) -> Plan:
    return next(plan for plan in PLANS if short(plan.tree, plan.model.names) == text)


CHAINS = ["((p ⋈ a) ⋈ select(b)) ⋈ c", "(p ⋈ (a ⋈ c)) ⋈ select(b)", "p ⋈ ((a ⋈ select(b)) ⋈ c)"]


@pytest.mark.parametrize("text", CHAINS, ids=["table-last", "table-first", "table-between"])
def test_a_chain_gives_the_same_rows_after_a_restart(
    spark: SparkSession, tmp_path: Path, text: str
) -> None:
    plan = tree_of(text)
    batches = in_batches(4)
    wanted = expected()
    assert canonical_rows(plan.replay({**batches, "categories": ROWS["categories"]}).result) == (
        canonical_rows(wanted)
    )
    first: dict[str, Sequence[pa.Table]] = {name: parts[:2] for name, parts in batches.items()}
    sources = make_sources(tmp_path, first)
    run(stream_of(spark, plan, sources, tmp_path), tmp_path)
    before = rows_written(spark, tmp_path, wanted.schema)
    assert 0 < len(before) < wanted.num_rows
    for name, parts in batches.items():
        for part in parts[2:]:
            sources[name].add(part)
    query = run(stream_of(spark, plan, sources, tmp_path), tmp_path)
    assert rows_written(spark, tmp_path, wanted.schema) == canonical_rows(wanted)
    whole = plan.replay({**batches, "categories": ROWS["categories"]}, shards=2)
    joins = [node for node in whole.nodes if node.metrics is not None]
    told = plan.progress(query)
    assert [node.name for node in told] == [node.name for node in joins]
    for node, other in zip(told, joins, strict=True):
        assert node.taken == other.taken
        assert node.metrics is not None
        assert other.metrics is not None
        assert node.metrics.emitted == other.metrics.emitted


def test_a_drop_box_keeps_the_rows_that_replay_keeps(spark: SparkSession, tmp_path: Path) -> None:
    kinds = pa.table(
        {
            "t": pa.array([1, 2, 3, 4]).cast(pa.timestamp("us", "UTC")),
            "small": pa.array([-1, 2, None, 7], pa.int16()),
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
        PLANS[0].batch(frames | {"bids": ROWS["bids"]})  # type: ignore[dict-item]
    with pytest.raises(SchemaError, match=r'column of "people" must be one of id, and only one'):
        PLANS[0].batch(frames)

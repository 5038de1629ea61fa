"""One stream under two names, and one operator over all streams with a table above it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest

import penstock as ps
from penstock.planning.all_plans import all_plans
from penstock.planning.tree import short
from penstock.testing import canonical_rows
from tests.spark.support import in_parts, make_sources, rows_written, run

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

SECOND = 1_000_000
QUERY = ps.Query(
    "SELECT a.id AS a, b.id AS b, c.id AS c, n.name "
    "FROM s a [RANGE 8 SECONDS], s b [RANGE 3 SECONDS], o c [RANGE 5 SECONDS], names n "
    "WHERE a.x = b.x AND b.x = c.x AND c.y = n.y AND b.y > 2",
    streams={"s": "t", "o": "t"},
    tables=["names"],
)


def rows(seed: int, count: int) -> pa.Table:
    chance = np.random.default_rng(seed)
    times = np.sort(chance.integers(0, 60 * SECOND, count))
    return pa.table(
        {
            "id": range(count),
            "t": pa.array(times).cast(pa.timestamp("us", "UTC")),
            "x": chance.integers(0, 5, count),
            "y": chance.integers(0, 6, count),
        }
    )


@pytest.mark.slow
def test_one_stream_under_two_names(spark: SparkSession, tmp_path: Path) -> None:
    tables = {"s": rows(1, 80), "o": rows(2, 60)}
    names = pa.table({"y": [0, 1, 2, 3], "name": ["north", "east", "south", "west"]})
    chosen = QUERY.optimize(QUERY.measure({**tables, "names": names}))
    plans = {
        short(tree, chosen.model.names): replace(chosen, tree=tree)
        for tree in all_plans(chosen.model)
    }
    expected = chosen.replay({**tables, "names": names}).result
    assert expected.num_rows > 100
    batches = in_parts(tables, 3)
    sources = make_sources(tmp_path / "in", batches)
    stored = make_sources(tmp_path / "in", {"names": [names]})["names"].read(spark)
    single = plans["all at once (a, select(b), c) ⋈ n"]
    frames = {name: source.read_stream(spark) for name, source in sources.items()}
    query = run(single.stream(frames | {"names": stored}, shards=2), tmp_path)
    assert rows_written(spark, tmp_path, expected.schema) == canonical_rows(expected)
    own = single.replay({**batches, "names": names}, shards=2)
    costs = {node.name: node.cost for node in own.nodes}
    for node in single.progress(query):
        wanted = costs[node.name]  # of a join with a table it is not counted
        near = None if wanted is None else pytest.approx(wanted, rel=0.05)
        assert node.cost == near, node.name
    chain = plans["((a ⋈ select(b)) ⋈ c) ⋈ n"]
    frames = {name: source.read(spark) for name, source in sources.items()}
    made = chain.batch(frames | {"names": stored}, shards=1).toArrow().cast(expected.schema)
    assert canonical_rows(made) == canonical_rows(expected)

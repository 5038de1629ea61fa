"""Plans with windows by rows on Spark: the rows of replay and of the definition."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest

import penstock as ps
from penstock.errors import SpecificationError
from penstock.planning.tree import Pair, Read, Single
from penstock.testing import canonical_rows
from tests.oracles.naive_query import NaiveRelation, naive_query
from tests.spark.support import in_parts, make_sources, rows_written
from tests.spark.test_plans import patiently

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from penstock.planning.tree import Tree

pytestmark = [pytest.mark.spark, pytest.mark.slow]

WINDOWS = {"a": 90.0, "b": 60.0, "c": None}
LAST = {"c": 5}
SECOND = 1_000_000


def make_rows() -> dict[str, pa.Table]:
    """Three streams, no two rows of which have the same time."""
    chance = np.random.default_rng(3)
    times, streams = np.sort(chance.permutation(900)[:450]), chance.integers(0, 3, 450)
    keys, wanted = chance.integers(0, 6, 450), chance.integers(0, 3, 450)
    return {
        name: pa.table(
            {
                "id": np.flatnonzero(streams == s),
                "at": pa.array(times[streams == s] * SECOND).cast(pa.timestamp("us", "UTC")),
                "k": keys[streams == s],
                "w": wanted[streams == s],
            }
        )
        for s, name in enumerate("abc")
    }


ROWS = make_rows()
QUERY = ps.Query(
    "SELECT a.id AS x, b.id AS y, c.id AS z "
    "FROM a [RANGE 90 SECONDS], b [RANGE 60 SECONDS], c [ROWS 5] "
    "WHERE a.k = b.k AND b.k = c.k AND c.w > 0",
    streams=dict.fromkeys("abc", "at"),
)
CHAIN = Pair(Pair(Read(0), Read(1)), Read(2))
TOGETHER = Single((Read(0), Read(1), Read(2)))


def expected() -> list[tuple[str, ...]]:
    relations = []
    for name, table in ROWS.items():
        seconds = table["at"].cast(pa.int64()).to_numpy() / SECOND
        rows = table.set_column(1, "t", pa.array(seconds)).to_pylist()
        window = WINDOWS[name] or 0.0
        relations.append(NaiveRelation(name, rows, window, last=LAST.get(name)))
    tests = [
        ({"a", "b"}, lambda of: of["a"]["k"] == of["b"]["k"]),
        ({"b", "c"}, lambda of: of["b"]["k"] == of["c"]["k"]),
        ({"c"}, lambda of: of["c"]["w"] > 0),
    ]
    found = sorted(naive_query(relations, tests, "id").elements())
    columns = dict(zip("xyz", zip(*found, strict=True), strict=True))
    return canonical_rows(pa.table(columns))


@pytest.mark.parametrize("tree", [CHAIN, TOGETHER], ids=["chain", "one-operator"])
def test_a_window_by_rows_has_the_last_rows_also_after_a_restart(
    spark: SparkSession, tmp_path: Path, tree: Tree
) -> None:
    plan = replace(QUERY.optimize(QUERY.measure(ROWS)), tree=tree)
    wanted = expected()
    assert len(wanted) > 100
    batches = in_parts(ROWS, 3)
    # The streams are out of step: the second micro-batch has no rows of b.
    batches["b"] = [
        batches["b"][0],
        batches["b"][1].slice(0, 0),
        pa.concat_tables(batches["b"][1:]),
    ]
    replay = plan.replay(batches)
    assert canonical_rows(replay.result) == wanted
    sources = make_sources(tmp_path, {name: parts[:2] for name, parts in batches.items()})

    def stream() -> None:
        frames = {name: source.read_stream(spark) for name, source in sources.items()}
        patiently(plan.stream(frames), tmp_path)

    stream()
    for name, parts in batches.items():
        sources[name].add(parts[2])
    stream()
    # Rows wait until no older ones can come: the last ones for these, which match nothing. In a
    # chain the last join learns of it a micro-batch later.
    for at in (2_000, 3_000, 4_000):
        for name in batches:
            end = ROWS[name].slice(0, 1).to_pylist()[0]
            end |= {"at": np.datetime64(at * SECOND, "us").item(), "k": -1, "w": 0}
            sources[name].add(pa.Table.from_pylist([end], ROWS[name].schema))
        stream()
    assert rows_written(spark, tmp_path, replay.result.schema) == wanted


@pytest.mark.parametrize("tree", [CHAIN, TOGETHER], ids=["chain", "one-operator"])
def test_a_batch_has_the_same_rows(spark: SparkSession, tmp_path: Path, tree: Tree) -> None:
    plan = replace(QUERY.optimize(QUERY.measure(ROWS)), tree=tree)
    sources = make_sources(tmp_path, {name: [table] for name, table in ROWS.items()})
    frames = {name: source.read(spark) for name, source in sources.items()}
    with pytest.raises(SpecificationError, match=r'window by rows of "c" must be 1; got 2; leave'):
        plan.batch(frames, shards=2)
    made = plan.batch(frames).toArrow()
    assert canonical_rows(made.cast(plan.replay(ROWS).result.schema)) == expected()

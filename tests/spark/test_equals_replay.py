"""For all predicates, shards and budgets, Spark has the rows and counts of `replay`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest

import penstock as ps
from penstock.testing import canonical_rows
from tests.engine.cases import KINDS, NAMES, Kind
from tests.spark.support import assert_equals_replay, counts, make_sources, rows_written, run

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

PREDICATES = (
    "equal whole",
    "equal pair",
    "within float",
    "band whole",
    "compare <",
    "compare !=",
    "similar",
)
# How far each stream is behind the first, in units of time: the last one runs ahead.
BEHIND = (0, 7, -25)
CLOCKS = pa.schema([("t", pa.int64()), ("k0", pa.int64())])


def make_batches(kind: Kind, streams: int, seed: int) -> dict[str, list[pa.Table]]:
    """Make three micro-batches of streams that are not in step; some rows are late."""
    draw = np.random.default_rng(seed)
    batches: dict[str, list[pa.Table]] = {}
    for name, behind in zip(NAMES[:streams], BEHIND[3 - streams :], strict=True):
        batches[name] = []
        for number in range(3):
            # A micro-batch overlaps the one before by half.
            times: list[int | None] = (10 * number - behind + draw.integers(0, 20, 18)).tolist()
            times[3] = None
            columns: dict[str, Any] = {"t": pa.array(times, pa.int64())}
            for i, (type_, values) in enumerate(kind.columns):
                chosen = [values[draw.integers(len(values))] for _ in times]
                columns[f"k{i}"] = pa.array(chosen, type_)
            columns["tag"] = pa.array([100 * number + i for i in range(len(times))])
            batches[name].append(pa.table(columns))
    return batches


def make_join(
    kind: Kind, streams: int, strategy: str | None = None, budget: ps.Budget | None = None
) -> ps.Join:
    names = NAMES[:streams]
    windows = dict(zip(names, (12, 20, 9), strict=False))
    return ps.Join(
        streams={n: ps.Stream(time="t", window=windows[n], lateness=6) for n in names},
        on=kind.on(names),
        goal=ps.MaxSubset(strategy=strategy),
        budget=budget,
        seed=5,
    )


# Each predicate runs with two numbers of shards, and each number of streams with all three. Half
# of them are in every run.
@pytest.mark.parametrize(
    ("predicate", "streams", "shards"),
    [
        (
            predicate,
            2 + place % 2,
            place % 3 + 1,
        )  # each number of shards with two streams and three
        for place, predicate in enumerate(PREDICATES)
    ],
)
def test_exact(
    spark: SparkSession, tmp_path: Path, predicate: str, streams: int, shards: int
) -> None:
    kind = KINDS[predicate]
    batches = make_batches(kind, streams, seed=streams)
    join = make_join(kind, streams)
    expected = assert_equals_replay(spark, join, batches, tmp_path, shards=shards)
    assert expected.metrics.emitted > 0
    for counted in expected.metrics.streams.values():
        assert counted.late > 0
        assert counted.bad_times > 0


@pytest.mark.parametrize(
    ("predicate", "streams", "shards", "strategy", "budget"),
    [
        ("compare !=", 2, 3, "fifo", ps.Budget(rows=40)),
        ("band whole", 3, 1, "random", ps.Budget(rows=20)),
        ("equal whole", 3, 2, "random", ps.Budget(memory=6000)),
    ],
)
def test_within_a_budget(
    spark: SparkSession,
    tmp_path: Path,
    predicate: str,
    streams: int,
    shards: int,
    strategy: str,
    budget: ps.Budget,
) -> None:
    kind = KINDS[predicate]
    batches = make_batches(kind, streams, seed=0)
    join = make_join(kind, streams, strategy, budget)
    expected = assert_equals_replay(spark, join, batches, tmp_path, shards=shards)
    assert expected.metrics.emitted > 0
    assert sum(each.dropped + each.evicted for each in expected.metrics.streams.values()) > 0


def of_clocks(times: list[list[int]]) -> list[pa.Table]:
    """Make micro-batches of the given times."""
    return [
        pa.table({"t": batch, "k0": [i % 3 for i in range(len(batch))]}, CLOCKS) for batch in times
    ]


@pytest.mark.parametrize("shards", [1, 3])
def test_wrong_clocks(spark: SparkSession, tmp_path: Path, shards: int) -> None:
    batches = {
        # One wrong clock, then a stream that has moved on for good.
        "a": of_clocks([[0, 1, 2, 3, 900], [4, 5, 6, 901], [7, 8], [500, 501, 502, 503]]),
        # Wrong clocks from the beginning, and a late row that is not a gap.
        "b": of_clocks([[1, 2, 3, -400, 700], [4, 5, 300, 6], [7, 8, 9], [500, 501, 502, 503, 1]]),
    }
    stream = ps.Stream(time="t", window=20, lateness=3, max_ahead=50)
    join = ps.Join(streams={"a": stream, "b": stream}, on=ps.Equal("k0"))
    expected = assert_equals_replay(spark, join, batches, tmp_path, shards=shards)
    assert max(expected.result["time"].to_pylist()) == 503
    for counted in expected.metrics.streams.values():
        assert counted.far_ahead > 1


def test_a_stream_with_itself_in_several_partitions(spark: SparkSession, tmp_path: Path) -> None:
    tables = of_clocks([[*range(12), 900], [*range(12, 20), 901, 2], [*range(20, 30)]])
    stream = ps.Stream(time="t", window=6, lateness=3, max_ahead=50)
    join = ps.Join(streams={"a": stream, "b": stream}, on=ps.Equal("k0"))
    frame = make_sources(tmp_path, {"both": tables})["both"].read_stream(spark).repartition(3)
    query = run(join.stream({"a": frame, "b": frame}, shards=2), tmp_path)
    expected = join.replay({"a": tables, "b": tables}, shards=2, ended=False)
    assert rows_written(spark, tmp_path, expected.result.schema) == canonical_rows(expected.result)
    assert counts(ps.progress(query)) == counts(expected.metrics)
    for counted in expected.metrics.streams.values():
        assert (counted.far_ahead, counted.late) == (2, 1)

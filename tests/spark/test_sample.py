"""Samples on Spark have the rows, weights and clusters of `replay`, also after a restart."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import penstock as ps
from penstock.statistics.cluster_sample import total_of
from penstock.testing import canonical_rows
from tests.spark.support import counts, make_sources, run, run_and_stop

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

BATCHES, ROWS = 4, 400


def make_batches() -> dict[str, list[pa.Table]]:
    """Make micro-batches of two streams with heavy hitters; orders have a column of matches."""
    draw = np.random.default_rng(7)
    batches: dict[str, list[pa.Table]] = {"orders": [], "items": []}
    for number in range(BATCHES):
        for name, tables in batches.items():
            times = np.sort(draw.integers(number * 100, (number + 1) * 100, ROWS))
            keys = draw.zipf(1.5, ROWS) % 50
            table = {"t": times, "k": keys, "x": draw.integers(0, 100, ROWS)}
            if name == "orders":
                table["n"] = np.full(ROWS, 40)
            tables.append(pa.table(table))
    return batches


GOALS = {
    "eq-cluster": ps.Sample(strategy="eq-cluster"),
    "pps-cluster": ps.Sample(strategy="pps-cluster"),
    "uniform": ps.Sample(strategy="uniform", matches={"orders": "n"}),
    "chosen": ps.Sample(),
}


SLOW = {"pps-cluster", "uniform", "chosen"}


@pytest.mark.parametrize(
    "goal",
    [
        pytest.param(goal, id=name, marks=pytest.mark.slow if name in SLOW else ())
        for name, goal in GOALS.items()
    ],
)
def test_a_restarted_sample_is_that_of_replay(
    spark: SparkSession, tmp_path: Path, goal: ps.Sample
) -> None:
    join = ps.Join(
        streams={
            "orders": ps.Stream(time="t", window=60),
            "items": ps.Stream(time="t", window=20),
        },
        on=ps.Equal("k"),
        goal=goal,
        budget=ps.Budget(rows=120),
        seed=11,
    )
    batches = make_batches()
    stopped = run_and_stop(spark, join, batches, tmp_path / "first", before=2)
    assert len(stopped.before) > 100
    stopped.copy(tmp_path / "copy")
    query = stopped.resume(spark, tmp_path / "copy")
    assert query.exception() is None
    expected = join.replay(batches, shards=2, ended=False)
    assert stopped.rows(spark, tmp_path / "copy") == canonical_rows(expected.result)
    metrics = ps.progress(query)
    assert counts(metrics) == counts(expected.metrics)
    assert metrics.fraction == pytest.approx(expected.metrics.fraction)
    assert metrics.choice == expected.metrics.choice
    assert metrics.held_most <= 120
    assert len({row[-1] for row in stopped.after}) > 20  # clusters


def clocked(table: pa.Table) -> pa.Table:
    """Return a table with timestamps in place of seconds."""
    seconds = table["t"].to_numpy().astype("timedelta64[s]") + np.datetime64("2026-01-01", "us")
    times = pa.array(seconds).cast(pa.timestamp("us", tz="UTC"))
    return table.set_column(0, "t", times)


@pytest.mark.slow
def test_estimates_of_a_running_sample_are_the_same_after_a_restart(
    spark: SparkSession, tmp_path: Path
) -> None:
    join = ps.Join(
        streams={
            "orders": ps.Stream(time="t", window="60 seconds"),
            "items": ps.Stream(time="t", window="0 seconds"),
        },
        on=ps.Equal("k"),
        goal=ps.Sample(strategy="eq-cluster"),
        budget=ps.Budget(rows=200),
    )
    batches = {name: [clocked(each) for each in tables] for name, tables in make_batches().items()}

    def estimate(folder: Path, first: int) -> dict[object, tuple[float, ...]]:
        """Estimate from the first micro-batches, and from the others in a new query."""
        sources = make_sources(folder, {name: tables[:first] for name, tables in batches.items()})
        for number in (first, BATCHES):
            for name, tables in batches.items():
                for table in tables[first:number]:
                    sources[name].add(table)
            frames = {name: source.read_stream(spark) for name, source in sources.items()}
            sampled = join.stream(frames, shards=2)
            run(ps.estimate(sampled, every="50 seconds", sum="items.x"), folder)
        rows = spark.read.parquet(str(folder / "out")).collect()
        names = ("count", "count_low", "count_high", "sum_x", "sum_x_low", "sum_x_high")
        return {row.window.start: tuple(row[name] for name in names) for row in rows}

    straight = estimate(tmp_path / "straight", BATCHES)
    broken = estimate(tmp_path / "broken", 2)
    assert broken.keys() == straight.keys()
    for begin, numbers in straight.items():
        assert broken[begin] == pytest.approx(numbers)
    result = join.replay(batches, shards=2, ended=False).result
    start = np.datetime64("2026-01-01", "s")
    windows = (result["time"].to_numpy().astype("datetime64[s]") - start).astype(int) // 50
    assert len(straight) >= 6
    for place, begin in enumerate(sorted(straight, key=str)):
        mine = windows == place
        values = pc.struct_field(result["items"].combine_chunks(), "x").to_numpy()[mine]
        weights, clusters = (result[name].to_numpy()[mine] for name in ("weight", "cluster"))
        counted = total_of(np.ones(values.size), weights, clusters)
        summed = total_of(values.astype(float), weights, clusters)
        expected = (counted.value, counted.low, counted.high, summed.value, summed.low, summed.high)
        assert straight[begin] == pytest.approx(expected)

"""Samples on Spark: the rows, weights and clusters of `replay`, also after a restart."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest

import penstock as ps
from penstock.testing import canonical_rows
from tests.spark.support import counts, run_and_stop

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

BATCHES, ROWS = 4, 400


def make_batches() -> dict[str, list[pa.Table]]:
    """Make micro-batches of two streams; some keys are frequent, and rows say what they match."""
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


@pytest.mark.parametrize("goal", GOALS.values(), ids=GOALS)
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
    expected = join.replay(batches, shards=2)
    assert stopped.rows(spark, tmp_path / "copy") == canonical_rows(expected.result)
    metrics = ps.progress(query)
    assert counts(metrics) == counts(expected.metrics)
    assert metrics.fraction == pytest.approx(expected.metrics.fraction)
    assert metrics.choice == expected.metrics.choice
    assert metrics.held_most <= 120
    assert len({row[-1] for row in stopped.after}) > 20  # clusters

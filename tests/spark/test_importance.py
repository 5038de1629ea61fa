"""Importance on Spark: redefined by a schedule, with a restart in between."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

import penstock as ps
from penstock.testing import canonical_rows
from tests.engine.test_bad_importance import BAD_ROWS, join_of
from tests.engine.test_bad_importance import make_tables as bad_tables
from tests.engine.test_importance import EVENING, MORNING, make_tables
from tests.spark.support import counts, in_parts, run_and_stop

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


@pytest.mark.parametrize(
    "strategy",
    [
        "ijoin",
        pytest.param("worth", marks=pytest.mark.slow),
    ],
)
def test_importance_that_changes_survives_a_restart(
    spark: SparkSession, tmp_path: Path, strategy: str
) -> None:
    rows = 600
    join = ps.Join(
        streams={name: ps.Stream(time="t", window=200) for name in ("r", "s")},
        on=ps.Equal("k"),
        goal=ps.MaxImportance(
            of=[(None, MORNING), (350, EVENING), (900, MORNING)], strategy=strategy
        ),
        budget=ps.Budget(rows=40),
    )
    batches = in_parts(make_tables(rows, seed=5, keys=20), 4)
    # The first change is before the stop, the second one after it.
    stopped = run_and_stop(spark, join, batches, tmp_path / "first", before=2)
    stopped.copy(tmp_path / "copy")
    query = stopped.resume(spark, tmp_path / "copy")
    assert query.exception() is None
    expected = join.replay(batches, shards=2, ended=False)
    assert stopped.rows(spark, tmp_path / "copy") == canonical_rows(expected.result)
    metrics = ps.progress(query)
    assert counts(metrics) == counts(expected.metrics)
    assert metrics.importance == pytest.approx(expected.metrics.importance)
    assert metrics.fairness == pytest.approx(expected.metrics.fairness)


@pytest.mark.slow
def test_importance_that_is_redefined_every_day_survives_a_restart(
    spark: SparkSession, tmp_path: Path
) -> None:
    """With a period of 300 the turns are at 300, 400, 600, 700, ...; the stop is at 600."""
    join = ps.Join(
        streams={name: ps.Stream(time="t", window=200) for name in ("r", "s")},
        on=ps.Equal("k"),
        goal=ps.MaxImportance(of=[(0, MORNING), (100, EVENING)], every=300, strategy="ijoin"),
        budget=ps.Budget(rows=40),
    )
    batches = in_parts(make_tables(600, seed=5, keys=20), 4)
    stopped = run_and_stop(spark, join, batches, tmp_path / "first", before=2)
    stopped.copy(tmp_path / "copy")
    query = stopped.resume(spark, tmp_path / "copy")
    assert query.exception() is None
    expected = join.replay(batches, shards=2, ended=False)
    assert stopped.rows(spark, tmp_path / "copy") == canonical_rows(expected.result)
    metrics = ps.progress(query)
    assert counts(metrics) == counts(expected.metrics)
    assert metrics.importance == pytest.approx(expected.metrics.importance)
    # Without the turns other rows are kept.
    once = replace(join, goal=ps.MaxImportance(of=MORNING, strategy="ijoin"))
    assert canonical_rows(once.replay(batches, shards=2, ended=False).result) != stopped.after


def test_a_bad_importance_is_counted_and_stops_nothing(spark: SparkSession, tmp_path: Path) -> None:
    join = join_of(rows=40)
    batches = in_parts(bad_tables(), 4)
    stopped = run_and_stop(spark, join, batches, tmp_path / "first", before=2)
    stopped.copy(tmp_path / "copy")
    query = stopped.resume(spark, tmp_path / "copy")
    assert query.exception() is None
    expected = join.replay(batches, shards=2, ended=False)
    assert stopped.rows(spark, tmp_path / "copy") == canonical_rows(expected.result)
    metrics = ps.progress(query)
    assert counts(metrics) == counts(expected.metrics)
    assert [each.bad_importance for each in metrics.streams.values()] == [BAD_ROWS, 0]

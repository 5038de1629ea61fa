"""A workload that shares the time of a core."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

import penstock as ps
from penstock.testing import canonical_rows
from tests.workload.restarting import Restarted
from tests.workload.streams import WINDOW, by_key, in_time
from tests.workload.test_replay import of, recalls

if TYPE_CHECKING:
    import pyarrow as pa

    from tests.workload.test_replay import Several

COSTS = ps.Costs(insert=1e-6, result=1e-6)
DURATION = 6 * WINDOW


def two() -> Several:
    """Return a join of many rows, and one of few."""
    joins, tables = of(
        by_key("many", "UC", 1, duration=DURATION, rate=10.0),
        by_key("few", "UC", 2, duration=DURATION, rate=1.0),
    )
    return {n: replace(join, goal=ps.MaxSubset()) for n, join in joins.items()}, tables


def wanted(joins: dict[str, ps.Join], tables: dict[str, pa.Table]) -> float:
    """Return the work that all joins want, for a unit of time."""
    work = 0.0
    for join in joins.values():
        enough = replace(join, budget=ps.Budget(cpu=1.0, costs=COSTS))
        work += enough.replay({n: tables[n] for n in join.names}).metrics.work_wanted
    return work / DURATION


@pytest.mark.parametrize("rows", [None, 2_000])
def test_the_core_is_divided_so_that_the_least_recall_is_greatest(rows: int | None) -> None:
    joins, tables = two()
    cpu = 0.3 * wanted(joins, tables)
    budget = ps.Budget(cpu=cpu, costs=COSTS, rows=rows)
    replay = ps.Workload(joins, budget=budget).replay(tables)
    found = recalls(joins, tables, replay.results, since=3 * WINDOW)
    equal = {
        name: replace(join, budget=replace(budget, cpu=cpu / 2, rows=rows and rows // 2))
        .replay({n: tables[n] for n in join.names})
        .result
        for name, join in joins.items()
    }
    equally = recalls(joins, tables, equal, since=3 * WINDOW)
    assert min(found.values()) >= 1.3 * min(equally.values())
    metrics = replay.metrics
    assert sum(metrics.work_allotted.values()) <= 1.02 * cpu * DURATION
    assert sum(each.work for each in metrics.joins.values()) <= 1.02 * cpu * DURATION
    assert metrics.work_allotted["many"] > 2 * metrics.work_allotted["few"]
    assert "allowed, s" in str(metrics)


def test_the_cut_into_batches_has_no_effect() -> None:
    joins, tables = two()
    budget = ps.Budget(cpu=0.3 * wanted(joins, tables), costs=COSTS)
    work = ps.Workload(joins, budget=budget)
    one, many = work.replay(tables), work.replay(in_time(tables, 13, DURATION))
    for name in joins:
        assert canonical_rows(one.results[name]) == canonical_rows(many.results[name])


def test_restarts_change_nothing() -> None:
    joins, tables = two()
    work = ps.Workload(joins, budget=ps.Budget(cpu=0.3 * wanted(joins, tables), costs=COSTS))
    expected = work.replay(tables, ended=False)
    restarted = Restarted(list(joins))
    parts = in_time(tables, 7, DURATION)
    *_, joint = [
        restarted.run(work, {name: each[number] for name, each in parts.items()})
        for number in range(7)
    ]
    for name, found in restarted.found.items():
        assert canonical_rows(found) == canonical_rows(expected.results[name])
    assert joint.divisions > 2


def test_with_enough_for_all_each_join_is_exact() -> None:
    joins, tables = two()
    budget = ps.Budget(cpu=min(1.0, 3 * wanted(joins, tables)), costs=COSTS)
    replay = ps.Workload(joins, budget=budget).replay(tables)
    for name, join in joins.items():
        exact = join.replay({n: tables[n] for n in join.names}).result
        assert canonical_rows(replay.results[name]) == canonical_rows(exact)

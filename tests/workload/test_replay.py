"""A workload in process: within its budget, no worse than fixed divisions, and steady."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

import penstock as ps
from penstock.engine.operator import Operator
from penstock.testing import canonical_rows
from tests.workload.streams import WINDOW, by_age, by_key, followed_by, in_time

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa

    from tests.workload.streams import Made

    Several = tuple[dict[str, ps.Join], dict[str, pa.Table]]

DURATION = 8 * WINDOW


def of(*pairs: Made) -> Several:
    """Return joins by their names, and all tables."""
    joins: dict[str, ps.Join] = {}
    tables: dict[str, pa.Table] = {}
    for join, own in pairs:
        joins[join.names[0][:-1]] = join
        tables |= own
    return joins, tables


def three(duration: float = DURATION) -> Several:
    """Return a hard join, whose rows match late, and two easy ones."""
    return of(
        by_age("inc", "INC", 1, duration=duration),
        by_age("dec", "DEC", 2, duration=duration),
        by_key("keys", "IC", 3, duration=duration),
    )


def alone(join: ps.Join, tables: Mapping[str, pa.Table], rows: int | None = None) -> ps.Replay:
    budget = None if rows is None else ps.Budget(rows=rows)
    return replace(join, budget=budget).replay({name: tables[name] for name in join.names})


def recalls(
    joins: Mapping[str, ps.Join],
    tables: Mapping[str, pa.Table],
    found: Mapping[str, pa.Table],
    since: float = 0.0,
) -> dict[str, float]:
    """Return the true recall of each join, of results from a time on."""
    shares: dict[str, float] = {}
    for name, join in joins.items():
        exact = alone(join, tables).result["time"].to_numpy()
        mine = found[name]["time"].to_numpy()
        shares[name] = float(np.sum(mine >= since) / np.sum(exact >= since))
    return shares


def test_with_enough_for_all_each_join_is_exact() -> None:
    joins, tables = three(3 * WINDOW)
    whole = sum(table.num_rows for table in tables.values())
    replay = ps.Workload(joins, budget=ps.Budget(rows=3 * whole)).replay(tables)
    for name, join in joins.items():
        exact = alone(join, tables).result
        assert canonical_rows(replay.results[name]) == canonical_rows(exact)
    assert replay.metrics.least_recall == 1.0


def test_a_division_that_stays_gives_what_each_join_gives_alone() -> None:
    joins, tables = three(3 * WINDOW)
    work = ps.Workload(joins, budget=ps.Budget(rows=450), every=1e9)
    replay = work.replay(tables)
    for name, join in joins.items():
        expected = alone(join, tables, rows=150)
        assert canonical_rows(replay.results[name]) == canonical_rows(expected.result)
        assert replace(replay.metrics[name], behind={}) == replace(expected.metrics, behind={})


@pytest.mark.parametrize(
    "budget",
    [ps.Budget(rows=500), pytest.param(ps.Budget(memory="150 kB"), marks=[pytest.mark.slow])],
    ids=["rows", "memory"],
)
def test_the_whole_is_never_exceeded_and_the_cut_into_batches_has_no_effect(
    budget: ps.Budget, monkeypatch: pytest.MonkeyPatch
) -> None:
    joins, tables = three(4 * WINDOW)
    work = ps.Workload(joins, budget=budget)
    operators: dict[int, Operator] = {}
    changed = Operator.allot

    def allot(self: Operator, amount: int) -> None:
        operators[id(self)] = self
        changed(self, amount)
        taken = "taken" if self.limits.in_bytes else "held"
        unit = 8 if self.limits.in_bytes else 1
        assert int(self.store.memory.rule[taken][0]) * unit <= self.limits.amount <= amount
        if len(operators) == len(joins):
            whole = budget.rows or budget.memory_bytes or 0
            assert sum(each.limits.amount for each in operators.values()) <= whole

    monkeypatch.setattr(Operator, "allot", allot)
    seen = []
    many = work.replay(in_time(tables, 23, 4 * WINDOW), callback=lambda m: seen.append(m.allotment))
    operators.clear()
    one = work.replay(tables)
    assert len({tuple(each.values()) for each in seen}) > 3
    for name, join in joins.items():
        rows = canonical_rows(many.results[name])
        assert rows == canonical_rows(one.results[name])
        assert set(rows) <= set(canonical_rows(alone(join, tables).result))
    assert many.metrics.allotment == one.metrics.allotment


def larger(windows: float) -> Several:
    """Return a hard join and an easy one by age, and a small one by key, with its streams."""
    duration = windows * WINDOW
    return of(
        by_age("inc", "INC", 1, duration=duration, rate=20.0),
        by_age("dec", "DEC", 2, duration=duration, rate=20.0),
        by_key("keys", "DC", 3, duration=duration, rate=2.0),
    )


def test_where_needs_differ_the_least_recall_is_higher_than_with_equal_parts() -> None:
    joins, tables = larger(7)
    rows = 1050
    replay = ps.Workload(joins, budget=ps.Budget(rows=rows)).replay(tables)
    found = recalls(joins, tables, replay.results, since=2 * WINDOW)
    equal = {name: alone(join, tables, rows // 3).result for name, join in joins.items()}
    equally = recalls(joins, tables, equal, since=2 * WINDOW)
    assert min(found.values()) >= 1.3 * min(equally.values())


@pytest.mark.slow
def test_it_settles_on_steady_streams() -> None:
    joins, tables = larger(12)
    seen = []
    ps.Workload(joins, budget=ps.Budget(rows=1050)).replay(
        in_time(tables, 48, 12 * WINDOW), callback=lambda m: seen.append(m.allotment)
    )
    amounts = np.array([list(each.values()) for each in seen])
    late = amounts[24:]
    assert np.all(amounts.sum(axis=1) == 1050)
    # In the last six windows no join's part leaves a tenth of the whole.
    assert np.ptp(late, axis=0).max() <= 0.1 * 1050
    # It does not go to and fro: on average at most a hundredth of the whole moves at a time.
    assert np.abs(np.diff(late, axis=0)).sum(axis=1).mean() / 2 <= 0.01 * 1050


def load_moves(windows: float) -> Several:
    """Return two hard joins and a small one; half-way load moves from the second to the first."""
    duration = windows * WINDOW
    joins: dict[str, ps.Join] = {}
    tables: dict[str, pa.Table] = {}
    for seed, (name, curve, rates) in enumerate(
        (("a", "INC", (6.0, 18.0)), ("b", "INC", (18.0, 6.0)), ("c", "DEC", (3.0, 3.0)))
    ):
        (join, before), (_, after) = (
            by_age(name, curve, 10 * seed + place, duration=duration, rate=rate)
            for place, rate in enumerate(rates)
        )
        joins[name] = join
        for stream in before:
            tables[stream] = followed_by(before[stream], after[stream], duration / 2)
    return joins, tables


def in_hindsight(
    joins: Mapping[str, ps.Join], tables: Mapping[str, pa.Table], rows: int
) -> tuple[float, float]:
    """Return the least recall of three joins with the best fixed division, and with equal parts.

    The best one is searched for among many, by a curve of each join with 6 points.
    """
    grid = np.linspace(0.05, 0.7, 6) * rows
    curves, equally = [], []
    for join in joins.values():
        exact = alone(join, tables).result.num_rows
        found = [
            alone(join, tables, int(each)).result.num_rows / exact for each in (*grid, rows // 3)
        ]
        curves.append(found[:-1])
        equally.append(found[-1])
    steps = range(rows // 20, rows, rows // 60)
    best = max(
        min(
            np.interp(x, grid, curve) for x, curve in zip((a, b, rows - a - b), curves, strict=True)
        )
        for a in steps
        for b in steps
        if a + b <= 0.95 * rows
    )
    return float(best), min(equally)


@pytest.mark.slow
def test_after_a_change_half_way_it_is_near_the_best_fixed_division_and_above_equal_parts() -> None:
    joins, tables = load_moves(16)
    rows = 900
    replay = ps.Workload(joins, budget=ps.Budget(rows=rows)).replay(tables)
    found = min(recalls(joins, tables, replay.results).values())
    best, equally = in_hindsight(joins, tables, rows)
    assert found >= 0.97 * best
    assert found >= 1.3 * equally

"""Importance in the engine: results that carry it, GREEDY by the book, schedules, the estimate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given

import penstock as ps
from penstock.strategies import Worth
from penstock.studies.by_the_book import Arrivals, Greedy, Redefinition, simulate
from penstock.testing import canonical_rows, cut
from tests.conformance.checks import run
from tests.engine.support import choices, examples

if TYPE_CHECKING:
    from tests.engine.support import Pick

WINDOW = 40
STREAMS = {name: ps.Stream(time="t", window=WINDOW) for name in ("r", "s")}
TOPICS = ("politics", "sports", "art")
MORNING = ps.Lookup("topic", {"politics": 90, "sports": 40}, default=10)
EVENING = ps.Lookup("topic", {"politics": 20, "sports": 80}, default=10)


def make_tables(rows: int, seed: int, keys: int = 6) -> dict[str, pa.Table]:
    """Make streams whose rows come in turn, at times of their own."""
    draw = np.random.default_rng(seed)
    return {
        name: pa.table(
            {
                "t": 2 * np.arange(rows) + place,
                "k": draw.integers(0, keys, rows),
                "score": draw.integers(1, 6, rows),
                "topic": np.array(TOPICS)[draw.integers(0, 3, rows)],
            }
        )
        for place, name in enumerate(STREAMS)
    }


def join(
    goal: ps.MaxImportance,
    rows: int | None = None,
    monitor: float | None = None,
    window: int = WINDOW,
) -> ps.Join:
    streams = {name: ps.Stream(time="t", window=window) for name in STREAMS}
    budget = None if rows is None else ps.Budget(rows=rows, monitor=monitor)
    return ps.Join(streams=streams, on=ps.Equal("k"), goal=goal, budget=budget)


@pytest.mark.parametrize(
    ("result", "make"),
    [("min", min), ("max", max), ("sum", sum), ("product", lambda both: both[0] * both[1])],
)
def test_a_result_has_the_importance_that_its_members_give_it(result: str, make: Any) -> None:  # noqa: ANN401
    goal = ps.MaxImportance(of={"r": "score", "s": MORNING}, result=result)
    replay = join(goal).replay(make_tables(200, seed=1))
    found = replay.result.to_pylist()
    assert len(found) > 500
    for row in found:
        table = {"politics": 90, "sports": 40}
        members = [row["r"]["score"], table.get(row["s"]["topic"], 10)]
        assert row["importance"] == make(members)
    assert replay.metrics.importance == sum(row["importance"] for row in found)


def test_a_result_matters_as_is_defined_when_it_comes() -> None:
    goal = ps.MaxImportance(of=[(None, MORNING), (150, EVENING), (300, 7)])
    found = join(goal).replay(make_tables(200, seed=2)).result.to_pylist()
    tables = ({"politics": 90, "sports": 40}, {"politics": 20, "sports": 80})
    seen = set()
    for row in found:
        place = (row["time"] >= 150) + (row["time"] >= 300)
        seen.add(place)
        members = [
            7 if place == 2 else tables[place].get(row[name]["topic"], 10) for name in STREAMS
        ]
        assert row["importance"] == min(members)
    assert seen == {0, 1, 2}


def importance_of(table: pa.Table, lookup: ps.Lookup) -> np.ndarray:
    topics = table["topic"].to_pylist()
    return np.array([lookup.table.get(topic, lookup.default) for topic in topics], float)


@given(pick=choices())
@examples(25)
def test_greedy_keeps_what_it_keeps_by_the_book(pick: Pick) -> None:
    """With importance redefined on the way, whatever the cut into batches.

    No row expires: the engine removes a row when no row can come that joins it, a step later than
    the book does.
    """
    rows, memory = pick(20, 80), 2 * pick(1, 8)
    tables = make_tables(rows, seed=pick(0, 10**6), keys=pick(1, 6))
    when = pick(0, 2 * rows)
    first, second = (
        Arrivals(t["t"].to_numpy().astype(float), t["k"].to_numpy(), importance_of(t, MORNING))
        for t in tables.values()
    )
    evening = tuple(importance_of(table, EVENING) for table in tables.values())
    expected = simulate(
        first,
        second,
        Greedy(ties="newcomer"),
        window=10_000,
        memory=memory,
        order="probe first",
        reading="closed",
        redefinitions=[Redefinition(float(when), (evening[0], evening[1]))],
    )
    goal = ps.MaxImportance(of=[(None, MORNING), (when, EVENING)], strategy="greedy")
    made = join(goal, rows=memory, monitor=0, window=10_000)
    replay = made.replay(tables)
    assert replay.metrics.emitted == expected.size
    assert replay.metrics.importance == pytest.approx(expected.total_importance)
    times = sorted({pick(0, 2 * rows) for _ in range(3)})
    batches = cut(made, tables, times)
    saved = run(made, batches, saving=True)
    assert saved.rows == canonical_rows(replay.result)


@pytest.mark.parametrize("strategy", ["greedy", "worth"])
def test_a_restart_after_a_redefinition_changes_nothing(strategy: str) -> None:
    goal = ps.MaxImportance(of=[(None, MORNING), (700, EVENING)], strategy=strategy)
    made = join(goal, rows=12)
    tables = make_tables(600, seed=5, keys=8)
    batches = cut(made, tables, [200, 690, 720, 1000])
    one = run(made, batches)
    assert run(made, batches, saving=True) == one
    assert one.rows == canonical_rows(made.replay(tables).result)
    fixed = join(ps.MaxImportance(of=MORNING, strategy=strategy), rows=12).replay(tables)
    assert one.metrics.importance != fixed.metrics.importance
    pairs = [{row[:2] for row in rows} for rows in (one.rows, canonical_rows(fixed.result))]
    assert pairs[0] != pairs[1]  # what was kept did change


def skewed(rows: int, seed: int) -> dict[str, pa.Table]:
    """Make streams with frequent and rare keys, and importance that has nothing to do with it."""
    draw = np.random.default_rng(seed)
    weights = 1.0 / np.arange(1, 201)
    return {
        name: pa.table(
            {
                "t": 2 * np.arange(rows) + place,
                "k": draw.choice(200, rows, p=weights / weights.sum()),
                "score": draw.pareto(1.5, rows) + 1,
            }
        )
        for place, name in enumerate(STREAMS)
    }


def test_worth_finds_more_importance_than_size_and_greedy_and_says_how_much() -> None:
    streams = {name: ps.Stream(time="t", window=4_000) for name in STREAMS}
    tables = skewed(20_000, seed=3)

    def replay(strategy: str | None, rows: int | None) -> ps.Metrics:
        return (
            ps.Join(
                streams=streams,
                on=ps.Equal("k"),
                goal=ps.MaxImportance(of="score", strategy=strategy),
                budget=None if rows is None else ps.Budget(rows=rows),
            )
            .replay(tables)
            .metrics
        )

    exact = replay(None, None).importance
    found = {name: replay(name, 400).importance for name in ("fifo", "size", "greedy", "worth")}
    own = replay(None, 400)
    assert own.strategy == "worth"
    assert own.importance == found["worth"]
    assert found["worth"] > 1.15 * found["size"]
    assert found["size"] > 2 * found["greedy"]  # keys are more skewed than importance
    assert found["greedy"] > 1.2 * found["fifo"]
    assert own.importance_recall is not None
    assert own.importance_recall.low < own.importance / exact < own.importance_recall.high
    assert own.recall is not None
    assert own.importance_recall.value > own.recall.value  # what was lost matters less


def test_fairness_costs_importance() -> None:
    streams = {name: ps.Stream(time="t", window=4_000) for name in STREAMS}
    tables = skewed(15_000, seed=4)
    metrics = [
        ps.Join(
            streams=streams,
            on=ps.Equal("k"),
            goal=ps.MaxImportance(of="score", strategy=Worth(fairness=fairness)),
            budget=ps.Budget(rows=400, monitor=0.01),
        )
        .replay(tables)
        .metrics
        for fairness in (0.0, 0.25, 0.5, 0.75, 1.0)
    ]
    importance = [each.importance for each in metrics]
    fairness = [each.fairness or 0.0 for each in metrics]
    assert importance == sorted(importance, reverse=True)
    assert fairness == sorted(fairness)
    assert fairness[0] < 0.2
    assert 0.2 < fairness[2] < 0.5
    assert fairness[-1] > 0.9  # monitored rows, 1 % of them, stay for their whole lives


def test_where_keys_say_nothing_worth_does_about_what_greedy_does() -> None:
    """Counts of many keys differ by chance: that is not to be taken for a difference of keys."""
    draw = np.random.default_rng(7)
    rows = 30_000
    tables = {
        name: pa.table(
            {
                "t": 2 * np.arange(rows) + place,
                "k": draw.integers(0, 3_000, rows),
                "score": draw.pareto(1.5, rows) + 1,
            }
        )
        for place, name in enumerate(STREAMS)
    }
    found = [
        join(ps.MaxImportance(of="score", strategy=strategy), rows=1_000, window=8_000)
        .replay(tables)
        .metrics.importance
        for strategy in ("worth", "greedy")
    ]
    assert found[0] > 0.93 * found[1]

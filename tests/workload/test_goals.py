"""Workloads of all goals and orders of rows; restored, they go on as if nothing had happened."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest

import penstock as ps
from penstock.testing import canonical_rows
from tests.workload.restarting import Restarted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from penstock.goals import Goal
    from penstock.workload import WorkloadReplay

ROWS = 3_000
WINDOW = 600
BUDGET_ROWS = 300
BUDGET = ps.Budget(rows=BUDGET_ROWS)
GOALS: dict[str, Goal] = {
    "best": ps.MaxSubset(),
    "fifo": ps.MaxSubset(strategy="fifo"),
    "random": ps.MaxSubset(strategy="random"),
    "worth": ps.MaxImportance(of="votes"),
    "greedy": ps.MaxImportance(of="votes", strategy="greedy"),
    "ijoin": ps.MaxImportance(of="votes", strategy="ijoin"),
    "pps": ps.Sample(strategy="pps-cluster"),
    "uniform": ps.Sample(strategy="uniform"),
}

# Goals whose strategies do not say what they make of memory.
IN_PROPORTION = {"fifo", "random", "greedy", "ijoin"}


def make_tables() -> dict[str, pa.Table]:
    """Make two joins' streams; of the second join fewer rows are alive at a time."""
    tables = {}
    for seed, (name, every) in enumerate((("a1", 1), ("a2", 1), ("b1", 3), ("b2", 3))):
        draw = np.random.default_rng(seed)
        rows = ROWS // every
        tables[name] = pa.table(
            {
                "at": np.arange(rows) * every,
                "key": (100 * draw.random(rows) ** 2).astype(np.int64),
                "votes": draw.integers(1, 10, rows).astype(np.float64),
            }
        )
    return tables


def make_workload(goal: Goal, **said: object) -> ps.Workload:
    own = BUDGET if isinstance(goal, ps.Sample) else None
    joins = {
        name: ps.Join(
            streams={f"{name}{i}": ps.Stream(time="at", window=WINDOW) for i in (1, 2)},
            on=ps.Equal("key"),
            goal=goal,
            budget=own,
        )
        for name in ("a", "b")
    }
    return ps.Workload(joins, budget=BUDGET, **said)  # type: ignore[arg-type]


def cut(tables: Mapping[str, pa.Table], *edges: int) -> list[dict[str, pa.Table]]:
    bounds = [0, *edges, ROWS + 1]
    return [
        {
            name: table.filter((table["at"].to_numpy() >= low) & (table["at"].to_numpy() < high))
            for name, table in tables.items()
        }
        for low, high in pairwise(bounds)
    ]


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[] if name == "best" else [pytest.mark.slow]) for name in GOALS],
)
def test_restored_it_goes_on_as_before(name: str) -> None:
    work, tables = make_workload(GOALS[name]), make_tables()
    expected = work.replay(tables, ended=False)
    restarted = Restarted(list(work.joins))
    *_, joint = [restarted.run(work, batch) for batch in cut(tables, 700, 1_310, 2_222)]
    for join, found in restarted.found.items():
        assert canonical_rows(found) == canonical_rows(expected.results[join])
    amounts = joint.amounts["memory"]
    assert amounts == expected.metrics.allotment
    assert joint.divisions
    if name in IN_PROPORTION:
        # A third as many rows of the second join are alive: it gets a quarter, but for what is too
        # little to be divided again.
        assert amounts["b"] / BUDGET_ROWS == pytest.approx(0.25, abs=0.03)
    elif name == "pps":
        # The error of the smaller join is greater with as large a part of its rows.
        assert 0.3 * BUDGET_ROWS < amounts["b"] < 0.5 * BUDGET_ROWS
    elif name == "uniform":
        # Each join has as many results in its sample: the smaller one needs more of its rows.
        assert 0.5 * BUDGET_ROWS < amounts["b"] < 0.6 * BUDGET_ROWS
    else:
        assert 0.2 * BUDGET_ROWS < amounts["b"] < 0.33 * BUDGET_ROWS


def test_the_least_recall_is_that_of_both_and_the_sum_is_greatest_with_total() -> None:
    """By what is found, not by what is estimated."""
    tables = make_tables()
    least, total = (
        make_workload(ps.MaxSubset(), objective=objective).replay(tables)
        for objective in ("least", "total")
    )
    exact = {
        name: replace(join, budget=None).replay({n: tables[n] for n in join.names}).result.num_rows
        for name, join in make_workload(ps.MaxSubset()).joins.items()
    }
    found = [
        {name: each.results[name].num_rows / exact[name] for name in exact}
        for each in (least, total)
    ]
    assert found[0]["a"] == pytest.approx(found[0]["b"], abs=0.03)
    assert min(found[0].values()) > 1.1 * min(found[1].values())
    assert sum(found[1].values()) > sum(found[0].values())


@pytest.mark.slow
def test_weights_change_the_division_with_both_objectives() -> None:
    tables = make_tables()

    def replayed(**said: object) -> WorkloadReplay:
        return make_workload(ps.MaxSubset(), **said).replay(tables)

    for objective in ("least", "total"):
        same, first, second = (
            replayed(objective=objective, weights=weights).metrics.allotment
            for weights in ({}, {"a": 5.0}, {"b": 5.0})
        )
        assert first["a"] > 1.1 * same["a"]
        assert second["b"] > 1.1 * same["b"]
    # One and a half times the weight is one and a half times the recall.
    results = {}
    for weights in ({}, {"b": 1.5}):
        found = replayed(weights=weights).results
        results[len(weights)] = found["b"].num_rows / found["a"].num_rows
    assert results[1] == pytest.approx(1.5 * results[0], rel=0.1)


JOIN = make_workload(ps.MaxSubset()).joins["a"]
SAMPLE = make_workload(ps.Sample()).joins["b"]
SAMPLE_BY_CPU = replace(SAMPLE, budget=ps.Budget(cpu=0.5))


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"joins": {}}, "joins of Workload must be joins by their names"),
        ({"joins": {"time": JOIN}}, "name of a join must be a text that is none of join, time"),
        ({"joins": {"x": "y"}}, 'join "x" must be a Join'),
        ({"joins": {"x": JOIN, "X": JOIN}}, "different from each other in more than case"),
        ({"joins": {"x": JOIN, "y": SAMPLE}}, "goals of a workload's joins must be all Sample()"),
        ({"budget": 5}, "budget of Workload must be a Budget"),
        (
            {"budget": ps.Budget(cpu=0.5), "joins": {"y": SAMPLE_BY_CPU}},
            "MaxSubset() where cpu is divided",
        ),
        ({"budget": ps.Budget(rows=9), "joins": {"x": SAMPLE}}, "gets a part of the workload's"),
        ({"weights": {"y": 1}}, 'weights must be for joins among "x"'),
        ({"weights": {"x": 0}}, 'weight of "x" must be a finite number above 0'),
        ({"weights": 3}, "weights must be numbers by join"),
        ({"objective": "most"}, 'objective must be "least" or "total"'),
        ({"every": 0}, "every must be above 0"),
        ({"every": "0 seconds"}, "every must be above 0; got '0 seconds'"),
        ({"every": "often"}, "every must be a duration of zero or more"),
    ],
)
def test_what_cannot_be_is_refused(said: dict[str, object], words: str) -> None:
    given = {"joins": {"x": JOIN}, "budget": BUDGET} | said
    with pytest.raises(ps.SpecificationError) as raised:
        ps.Workload(**given)  # type: ignore[arg-type]
    assert words in str(raised.value)


def test_a_budget_too_small_for_all_joins_and_unknown_streams_are_refused() -> None:
    tables = make_tables()
    work = make_workload(ps.MaxSubset())
    small = ps.Workload(work.joins, budget=ps.Budget(rows=3))
    with pytest.raises(ps.SpecificationError, match="at least 4: one row for each stream, join"):
        small.replay(tables)
    with pytest.raises(ps.SchemaError, match='given for stream "b2"'):
        work.replay({name: tables[name] for name in ("a1", "a2", "b1")})
    with pytest.raises(ps.SchemaError, match="one of the workload's"):
        work.replay(tables | {"c": tables["a1"]})

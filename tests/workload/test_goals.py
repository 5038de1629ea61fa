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

ROWS = 3_000
WINDOW = 600
BUDGET = ps.Budget(rows=300)
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
    # Rows of the second join are a third of the first one's: it needs less, for the same recall.
    assert joint.divisions
    assert name in {"pps", "uniform"} or amounts["b"] < amounts["a"]


@pytest.mark.slow
def test_weights_and_the_objective_change_the_division() -> None:
    tables = make_tables()
    workloads = {
        "least": make_workload(ps.MaxSubset()),
        "weighted": make_workload(ps.MaxSubset(), weights={"b": 2.0}),
        "total": make_workload(ps.MaxSubset(), objective="total", weights={"b": 5.0}),
    }
    allotted = {
        label: work.replay(tables).metrics.allotment["b"] for label, work in workloads.items()
    }
    assert allotted["weighted"] > 1.2 * allotted["least"]
    assert allotted["total"] > 1.2 * allotted["least"]


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

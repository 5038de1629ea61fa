"""Best lot: rows are dropped, or inserted less often, whichever leaves more results."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

import penstock as ps
from penstock.costs import Costs
from penstock.strategies import Admit, Decision, Insert, View, strategies_for, strategies_of
from penstock.strategies.best_lot import BestLot
from penstock.strategies.view import WorkView

if TYPE_CHECKING:
    from penstock.predicates import Predicate

COMPARING = Costs(insert=1e-6, compare=1e-6)
INSERTING = Costs(insert=1e-3, compare=1e-6)


def view_of(costs: Costs, share: float) -> WorkView:
    """Return three streams of 10 rows a second, windows of 10 s, one of 100 rows fits."""
    work = WorkView(
        capacity=np.inf,
        at_once=np.inf,
        costs=costs,
        rates=np.full(3, 10.0),
        lives=np.full(3, 10.0),
        selectivity=1e-4,
        compared=150.0,
        grades=np.zeros((3, 1, 2)),
        orders=np.array([[1, 2], [0, 2], [0, 1]]),
        selectivities=np.full((3, 3), 0.01),
        lags=np.ones((3, 3, 1)),
    )
    # 30 rows a second are each compared with 100 rows, and what they find with 100 more.
    full = 30.0 * costs.insert + 30.0 * 200.0 * costs.compare
    return replace(work, capacity=share * full)


def test_rows_are_dropped_where_comparisons_cost_and_not_inserted_where_insertions_do() -> None:
    dropping = BestLot().share_out(view_of(COMPARING, 0.3))
    assert not dropping.admit.is_certain
    assert dropping.insert.is_certain
    inserting = BestLot().share_out(view_of(INSERTING, 0.3))
    assert inserting.admit.is_certain
    assert not inserting.insert.is_certain


def test_it_stays_with_what_it_does_unless_the_other_is_clearly_better() -> None:
    # Between the two costs there is one at which both leave about as much.
    costs = [Costs(insert=cost, compare=1e-6) for cost in np.geomspace(1e-6, 1e-3, 200)]
    differ = 0
    for each in costs:
        view = view_of(each, 0.3)
        decided = [
            BestLot().decide(View((), None, None, previous=previous, work=view)).admit.is_certain
            for previous in (Decision(admit=Admit(0.5)), Decision(insert=Insert(0.5)))
        ]
        differ += decided == [False, True]
        assert decided != [True, False]
    assert 0 < differ < 50


def test_nothing_is_decided_before_anything_is_known() -> None:
    assert BestLot().decide(View((), None, None)) == Decision()


@pytest.mark.parametrize(
    ("on", "streams", "chosen"),
    [
        (ps.Equal("v"), "abc", "probe-no-insert"),
        (ps.Within(1, a="v", b="v", c="v"), "abc", "best-lot"),
        (ps.Band(low=0, high=1, a="v", b="v", c="v"), "abc", "best-lot"),
        (ps.Within(1, a="v", b="v"), "ab", "by-partner"),
    ],
)
def test_without_a_name_it_is_for_three_streams_that_are_not_joined_by_equality(
    on: Predicate, streams: str, chosen: str
) -> None:
    join = ps.Join(
        streams={name: ps.Stream(time="t", window=10) for name in streams},
        on=on,
        budget=ps.Budget(cpu=0.5, costs=COMPARING),
    )
    assert [each.name for each in strategies_of(join)] == [chosen]
    assert strategies_for(join.goal, join.budget)[0].name == "by-partner"

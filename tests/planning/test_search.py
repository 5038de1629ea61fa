"""Plans and their search against naive twins."""

from __future__ import annotations

from itertools import combinations, pairwise
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.planning.all_plans import all_plans, count_shapes
from penstock.planning.choose import within_memory
from penstock.planning.estimate import Estimator
from penstock.planning.model import Condition, QueryModel, Relation, Selection
from penstock.planning.operator_costs import OperatorCosts
from penstock.planning.search import Search, _Table, cheapest, plans_by_split, single_plans
from penstock.planning.subsets import Subsets
from penstock.planning.tree import Filter, Pair, Read, Single, nodes_of
from tests.oracles.plans import every_plan, flow
from tests.planning.support import models

if TYPE_CHECKING:
    from random import Random

    import numpy as np
    import numpy.typing as npt

    from penstock.planning.tree import Tree

    Floats = npt.NDArray[np.float64]
    Integers = npt.NDArray[np.int64]


@settings(max_examples=30)
@given(models(selections=2), st.randoms(use_true_random=False))
def test_estimates_are_the_papers_equations(model: QueryModel, random: Random) -> None:
    tree = random.choice(list(every_plan(model)))
    found, expected = Estimator(model).estimate(tree), flow(model, tree)
    assert found.rate == pytest.approx(expected.rate)
    assert found.root.window == pytest.approx(expected.window)
    assert found.cost == pytest.approx(expected.cost)
    assert found.memory == pytest.approx(expected.memory)


@settings(max_examples=30)
@given(models(selections=1))
def test_observation_1_all_plans_have_the_same_rate(model: QueryModel) -> None:
    rates = [flow(model, tree).rate for tree in every_plan(model)]
    assert rates == pytest.approx([rates[0]] * len(rates))


@settings(max_examples=30)
@given(models(most=3, selections=3))
def test_the_search_is_as_good_as_trying_all(model: QueryModel) -> None:
    best = min(flow(model, tree).cost for tree in every_plan(model))
    assert flow(model, Search(model).best()).cost == pytest.approx(best)


@settings(max_examples=3)
@given(models(least=5, most=5, selections=2))
def test_also_for_five_streams_with_selections(model: QueryModel) -> None:
    best = min(flow(model, tree).cost for tree in every_plan(model))
    assert flow(model, cheapest(model)).cost == pytest.approx(best)


@settings(max_examples=4)
@given(models(least=6, most=6))
def test_also_for_six_streams(model: QueryModel) -> None:
    plans = list(every_plan(model))
    assert len(plans) == count_shapes(len(model.relations))
    best = min(flow(model, tree).cost for tree in plans)
    assert flow(model, cheapest(model)).cost == pytest.approx(best)


@settings(max_examples=30)
@given(models(selections=2))
def test_least_memory(model: QueryModel) -> None:
    best = min(flow(model, tree).memory for tree in every_plan(model))
    found = Search(model, memory_price=1.0, cost_weight=0.0).best()
    # Cheap selections are at their relations in both, where they save memory, too.
    assert flow(model, found).memory == pytest.approx(best)


@settings(max_examples=30)
@given(models(selections=1))
def test_all_plans_have_the_best_one_and_no_plan_twice(model: QueryModel) -> None:
    plans = all_plans(model)
    assert len(set(plans)) == len(plans)
    assert set(plans) <= set(every_plan(model))
    best = min(flow(model, tree).cost for tree in every_plan(model))
    assert min(flow(model, tree).cost for tree in plans) == pytest.approx(best)


@settings(max_examples=30)
@given(models(), st.floats(0, 1))
def test_the_cheapest_plan_within_memory(model: QueryModel, place: float) -> None:
    flows = [flow(model, tree) for tree in every_plan(model)]
    low, high = (pick(each.memory for each in flows) for pick in (min, max))
    rows = low + place * (high - low)
    found = within_memory(model, rows)
    assert found is not None
    allowed = [each.cost for each in flows if each.memory <= rows * (1 + 1e-9)]
    assert flow(model, found).cost == pytest.approx(min(allowed))
    assert within_memory(model, 0.99 * low) is None


@settings(max_examples=30)
@given(models(selections=2))
def test_plans_by_split_are_ranked_and_begin_with_the_best(model: QueryModel) -> None:
    costs = [flow(model, tree).cost for tree in plans_by_split(model)]
    assert costs == sorted(costs)
    assert costs[0] == pytest.approx(flow(model, Search(model).best()).cost)
    assert len(costs) == 2 ** (len(model.relations) - 1) - 1


def test_a_costly_selection_waits_until_there_are_few_rows() -> None:
    model = QueryModel(
        relations=(Relation(name="a", rate=100, rows=1), Relation(name="b", rate=1, rows=1)),
        conditions=(Condition(left="a", right="b", selectivity=0.01),),
        selections=(Selection(relation="a", selectivity=0.5, cost=0.1),),
        costs=OperatorCosts(probe=0.001),
    )
    assert [type(node).__name__ for node in nodes_of(cheapest(model))] == [
        "Read",
        "Read",
        "Pair",
        "Filter",
    ]


def chain_of(count: int, selections: int = 0) -> QueryModel:
    names = [f"s{at}" for at in range(count)]
    return QueryModel(
        relations=tuple(
            Relation(name=name, rate=1.0 + at % 5, duration=3.0 + at % 7)
            for at, name in enumerate(names)
        ),
        conditions=tuple(
            Condition(left=left, right=right, selectivity=0.05 + 0.02 * at)
            for at, (left, right) in enumerate(pairwise(names))
        ),
        selections=tuple(
            Selection(relation=names[at], selectivity=0.5, cost=0.01) for at in range(selections)
        ),
        costs=OperatorCosts.per_row(0.0001),
    )


class Count:
    """Counts the plans that a search costs: ways to divide a set, times selections applied."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.plans = 0
        values = _Table._values

        def counted(table: _Table, sets: Integers, parts: Integers) -> Floats:
            found = values(table, sets, parts)
            self.plans += found.size
            return found

        monkeypatch.setattr(_Table, "_values", counted)


def ways_to_divide(count: int) -> int:
    """How often a set of two or more of so many relations can be divided in two."""
    ways: int = (3**count - 2 ** (count + 1) + 1) // 2
    return ways


@pytest.mark.parametrize("count", [2, 4, 6, 12])
def test_each_way_to_divide_each_set_is_costed_once(
    count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """12 streams have about 13.7 billion plans. How long it takes is in docs/queries.md."""
    counted = Count(monkeypatch)
    tree = Search(chain_of(count)).best()
    assert counted.plans == ways_to_divide(count)
    reads = [node.relation for node in nodes_of(tree) if isinstance(node, Read)]
    assert sorted(reads) == list(range(count))


def test_of_twelve_streams_selections_that_may_be_anywhere_are_limited(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    counted = Count(monkeypatch)
    Search(chain_of(12, selections=8)).best()
    assert ways_to_divide(12) < counted.plans <= 1 << 23


@pytest.mark.parametrize("count", [3, 4, 5, 6])
def test_the_search_equals_trying_all_plans(count: int) -> None:
    model = chain_of(count, selections=2 if count < 5 else 0)
    plans = list(every_plan(model))
    assert len(plans) >= count_shapes(count)
    best = min(flow(model, tree).cost for tree in plans)
    assert flow(model, Search(model).best()).cost == pytest.approx(best)


def test_twelve_streams_are_planned() -> None:
    model = chain_of(12)
    tree = cheapest(model)
    left_deep: Tree = Read(0)
    for at in range(1, 12):
        left_deep = Pair(left_deep, Read(at))
    assert flow(model, tree).cost <= flow(model, left_deep).cost * (1 + 1e-9)


class TestTables:
    MODEL = QueryModel(
        relations=(
            Relation(name="bids", rate=100, rows=50),
            Relation(name="people", rate=0, rows=1000),
            Relation(name="cities", rate=0, rows=20),
        ),
        conditions=(
            Condition(left="bids", right="people", selectivity=0.001),
            Condition(left="people", right="cities", selectivity=0.05),
        ),
        costs=OperatorCosts(insert=0.001, invalidate=0.001, probe=0.002),
    )

    def test_joining_a_table_is_a_filter(self) -> None:
        found = Estimator(self.MODEL).estimate(Pair(Pair(Read(0), Read(1)), Read(2)))
        first, second = (node for node in found.nodes if isinstance(node.tree, Pair))
        assert (first.rate, first.window) == pytest.approx((100, 50))
        # Nothing arrives from a table: rows of the stream only probe, and are not kept.
        assert (first.cost, first.memory) == pytest.approx((0.2, 1000))
        assert (second.cost, second.memory) == pytest.approx((0.2, 20))

    def test_joining_tables_with_each_other_costs_nothing(self) -> None:
        found = Estimator(self.MODEL).estimate(Pair(Read(0), Pair(Read(1), Read(2))))
        assert found.cost == pytest.approx(0.2)
        assert found.memory == pytest.approx(1000)
        assert cheapest(self.MODEL) == found.root.tree


class TestTwoSidedSelectivities:
    def model(self, forward: float, backward: float | None, rows: float = 10) -> QueryModel:
        return QueryModel(
            relations=(Relation(name="a", rate=4, rows=rows), Relation(name="b", rate=6, rows=10)),
            conditions=(Condition(left="a", right="b", selectivity=forward, backward=backward),),
            costs=OperatorCosts.per_row(0.001),
        )

    def test_each_side_finds_its_own(self) -> None:
        newest = Subsets.of(self.model(0.5, 0.1)).newest[3]
        assert newest.tolist() == pytest.approx([0.5 * 10 * 4, 0.1 * 10 * 6])

    def test_the_same_on_both_sides_is_one(self) -> None:
        one, two = (Subsets.of(self.model(0.3, other)) for other in (None, 0.3))
        assert one.newest.tolist() == two.newest.tolist()
        assert one.windows.tolist() == pytest.approx(two.windows.tolist())

    def test_live_pairs_by_littles_law(self) -> None:
        """Pairs come at each side's rate and stay until the first of the two expires."""
        model = self.model(0.5, 0.1, rows=2)
        span_a, span_b = 2 / 4, 10 / 6
        of_a = 4 * 0.5 * 10 * span_a * (1 - span_a / (2 * span_b))
        of_b = 6 * 0.1 * 2 * span_a / 2
        assert Subsets.of(model).windows[3] == pytest.approx(of_a + of_b)


def equal_streams(single: bool = True) -> QueryModel:
    return QueryModel(
        relations=tuple(
            Relation(name=name, rate=rate, duration=10.0)
            for name, rate in (("a", 5.0), ("b", 10.0), ("c", 20.0))
        ),
        conditions=tuple(
            Condition(left=left, right=right, selectivity=f, group="x")
            for left, right, f in (("a", "b", 0.01), ("b", "c", 0.001), ("a", "c", 0.001))
        ),
        costs=OperatorCosts(insert=0.001, invalidate=0.001, probe=0.002),
        single=single,
    )


class TestOneEquality:
    def test_conditions_that_follow_from_others_do_not_count_twice(self) -> None:
        subsets = Subsets.of(equal_streams())
        assert subsets.windows[0b011] == pytest.approx(50 * 100 * 0.01)
        assert subsets.windows[0b101] == pytest.approx(50 * 200 * 0.001)
        assert subsets.windows[0b111] == pytest.approx(50 * 100 * 200 * 0.01 * 0.001)

    def test_the_single_operator_keeps_only_the_streams(self) -> None:
        model = equal_streams()
        (tree,) = single_plans(model)
        assert tree == Single((Read(0), Read(1), Read(2)))
        found = Estimator(model).estimate(tree)
        assert found.memory == pytest.approx(50 + 100 + 200)
        pairs = Estimator(model).estimate(Search(model).best())
        assert found.rate == pytest.approx(pairs.rate)
        # insertions and first probes of all rows; then each first probe's matches probe again
        partial = 5 * 200 * 0.001 + 10 * 200 * 0.001 + 20 * 50 * 0.001
        assert found.cost == pytest.approx(35 * 0.004 + partial * 0.002)

    @settings(max_examples=2)
    @given(
        st.lists(st.floats(0.5, 50.0), min_size=5, max_size=5),
        st.floats(0.001, 0.5),
        st.floats(0.0, 0.01),
    )
    def test_the_cheapest_of_five_streams_is_that_of_all_plans(
        self, rates: list[float], selectivity: float, cost: float
    ) -> None:
        names = "abcde"
        model = QueryModel(
            relations=tuple(
                Relation(name=name, rate=rate, duration=10.0)
                for name, rate in zip(names, rates, strict=True)
            ),
            conditions=tuple(
                Condition(left=left, right=right, selectivity=selectivity, group="x")
                for left, right in combinations(names, 2)
            ),
            selections=(Selection(relation="c", selectivity=0.3, cost=cost),),
            costs=OperatorCosts(insert=0.001, invalidate=0.001, probe=0.002),
            single=True,
        )
        reads: list[Tree] = [Read(at) for at in range(5)]
        below: list[Tree] = [Filter(0, each) if at == 2 else each for at, each in enumerate(reads)]
        every = [*every_plan(model), Filter(0, Single(tuple(reads))), Single(tuple(below))]
        estimator = Estimator(model)
        best = min(estimator.estimate(tree).cost for tree in every)
        assert estimator.estimate(cheapest(model)).cost == pytest.approx(best)

    def test_it_is_only_for_one_equality_or_one_distance(self) -> None:
        assert single_plans(equal_streams(single=False)) == []

"""Example 1 and Figures 2, 4 and 7 of `ayad04`, exactly."""

from __future__ import annotations

import pytest

from penstock.planning.choose import choose, fits
from penstock.planning.drop_boxes import keep_within
from penstock.planning.estimate import Estimator, PlanEstimate
from penstock.planning.examples import EXAMPLE_1_PLANS, example_1, figure_4
from penstock.planning.model import Condition, QueryModel, Relation, Selection
from penstock.planning.operator_costs import OperatorCosts
from penstock.planning.search import cheapest, plans_by_split
from penstock.planning.tree import Filter, Pair, Read, short
from penstock.planning.waiting import waiting_of

NAMES = ("A", "B", "C")


def plan(name: str, cost: float) -> PlanEstimate:
    return Estimator(example_1(cost)).estimate(EXAMPLE_1_PLANS[name])


def throughput(name: str, cost: float) -> float:
    return keep_within(plan(name, cost), example_1(cost), 1.0).rate


class TestExample1:
    @pytest.mark.parametrize(
        ("name", "rows_per_second", "memory", "used"),
        [("a", 250, 80, 0.125), ("b", 280, 50, 0.14), ("c", 900, 130, 0.45)],
    )
    def test_rates_memory_and_use(
        self, name: str, rows_per_second: float, memory: float, used: float
    ) -> None:
        found = plan(name, 0.0005)
        assert sum(node.arrivals for node in found.nodes if isinstance(node.tree, Pair)) == (
            pytest.approx(rows_per_second, rel=1e-12)
        )
        assert found.memory == pytest.approx(memory, rel=1e-12)
        assert found.cost == pytest.approx(used, rel=1e-12)
        assert found.rate == pytest.approx(1000, rel=1e-12)

    def test_the_intermediate_results(self) -> None:
        rates = {}
        for name in "abc":
            joins = [node for node in plan(name, 0.0005).nodes if isinstance(node.tree, Pair)]
            rates[name] = (joins[0].rate, joins[0].window)
        assert rates == {"a": (150, 50), "b": (180, 20), "c": (800, 100)}

    def test_at_4_ms_only_plan_a_is_feasible(self) -> None:
        feasible = [name for name in "abc" if fits(plan(name, 0.004).cost, 1.0)]
        assert feasible == ["a"]
        assert cheapest(example_1(0.004)) == EXAMPLE_1_PLANS["a"]

    def test_at_5_ms_none_is(self) -> None:
        assert not any(fits(plan(name, 0.005).cost, 1.0) for name in "abc")
        choice = choose(example_1(0.005), 1.0)
        assert choice is not None
        assert choice.boxes.cost == pytest.approx(1.0)
        assert short(choice.tree, NAMES) == "(A ⋈ B) ⋈ C"

    def test_the_ranking(self) -> None:
        ranked = [short(each, NAMES) for each in plans_by_split(example_1(0.0005))]
        assert ranked == ["(A ⋈ B) ⋈ C", "A ⋈ (B ⋈ C)", "(A ⋈ C) ⋈ B"]

    def test_the_plan_with_the_least_memory_is_another(self) -> None:
        choice = choose(example_1(0.0005), 1.0, rows=60)
        assert choice is not None
        assert short(choice.tree, NAMES) == "A ⋈ (B ⋈ C)"
        assert choose(example_1(0.0005), 1.0, rows=49) is None

    def test_head_room_and_processors_change_the_bound(self) -> None:
        needed = plan("a", 0.004).cost
        assert not fits(needed, 0.8)
        assert fits(plan("a", 0.008).cost, 2.0)
        assert fits(plan("a", 0.0064).cost, 2 * 0.8)


def test_figure_2_the_window_behind_a_selection_is_smaller() -> None:
    """Selecting before the join or after it gives the same rows, so the same rate."""
    model = QueryModel(
        relations=(Relation(name="A", rate=30, rows=40), Relation(name="B", rate=50, rows=20)),
        conditions=(Condition(left="A", right="B", selectivity=0.1),),
        selections=(Selection(relation="A", selectivity=0.3),),
        costs=OperatorCosts(select=0.001, probe=0.001),
    )
    before = Estimator(model).estimate(Pair(Filter(0, Read(0)), Read(1)))
    after = Estimator(model).estimate(Filter(0, Pair(Read(0), Read(1))))
    assert before.nodes[1].window == pytest.approx(0.3 * 40)
    assert before.rate == pytest.approx(after.rate)
    assert before.root.window == pytest.approx(after.root.window)
    assert before.memory == pytest.approx(12 + 20)
    assert after.memory == pytest.approx(40 + 20)


class TestFigure4:
    def test_one_order_is_feasible_and_the_other_not(self) -> None:
        model, plans = figure_4()
        costs = {name: Estimator(model).estimate(tree) for name, tree in plans.items()}
        assert [node.cost for node in costs["A"].nodes] == [0, 0.5, 0.25]
        assert [node.cost for node in costs["B"].nodes] == [0, 1.0, 0.25]
        assert fits(costs["A"].cost, 1.0)
        assert not fits(costs["B"].cost, 1.0)
        assert cheapest(model) == plans["A"]

    def test_the_scheduler_gives_the_first_twice_the_time(self) -> None:
        model, plans = figure_4()
        _, first, second = Estimator(model).estimate(plans["A"]).shares()
        assert first == pytest.approx(2 * second)
        assert first + second == pytest.approx(1)


class TestFigure7:
    def test_all_plans_begin_at_1000_and_a_keeps_it_until_one_in_250(self) -> None:
        assert [throughput(name, 1 / 1000) for name in "abc"] == pytest.approx([1000] * 3)
        assert throughput("a", 1 / 250) == pytest.approx(1000)
        assert throughput("a", 1.001 / 250) < 999.9

    def test_a_is_as_c_from_one_in_20(self) -> None:
        assert throughput("a", 0.999 / 20) > throughput("c", 0.999 / 20) + 0.05
        for cost in (1 / 20, 0.06, 1 / 12, 0.1):
            assert throughput("a", cost) == pytest.approx(throughput("c", cost))

    def test_b_is_below_c_from_two_in_95_to_one_in_10(self) -> None:
        crossing = 2 / 95
        assert throughput("b", crossing) == pytest.approx(throughput("c", crossing))
        assert throughput("b", 0.99 * crossing) > throughput("c", 0.99 * crossing) + 0.1
        for cost in (1.01 * crossing, 0.05, 0.09, 0.99 / 10):
            assert throughput("b", cost) < throughput("c", cost) - 0.1

    def test_all_are_equal_from_one_in_10(self) -> None:
        for cost in (1 / 10, 0.11, 0.15):
            rates = [throughput(name, cost) for name in "abc"]
            assert rates == pytest.approx([rates[0]] * 3)

    def test_the_best_plan_is_a_or_as_good(self) -> None:
        for cost in (1 / 250, 0.01, 0.04, 0.07, 0.12):
            choice = choose(example_1(cost), 1.0)
            assert choice is not None
            assert choice.boxes.rate == pytest.approx(throughput("a", cost))


def test_a_plan_near_its_limit_is_slow() -> None:
    quick, slow = (waiting_of(plan("a", cost)) for cost in (0.001, 0.0039))
    assert quick.response < slow.response
    assert slow.rows == pytest.approx(0.975 / 0.025)
    assert waiting_of(plan("a", 0.004)).response == float("inf")

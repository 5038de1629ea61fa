"""Several queries over the same streams."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest

from penstock.errors import SpecificationError
from penstock.planning import together
from penstock.planning.choose import choose
from penstock.planning.drop_boxes import solve_drop_boxes
from penstock.planning.estimate import Estimator
from penstock.planning.examples import EXAMPLE_1_PLANS, example_1
from penstock.planning.model import QueryModel, Relation, Selection
from penstock.planning.operator_costs import OperatorCosts
from penstock.planning.together import plan_together, shared_cost_of
from tests.oracles.plans import every_plan


def of_two(model: QueryModel, *names: str) -> QueryModel:
    """The part of a query over some of its streams."""
    return replace(
        model,
        relations=tuple(each for each in model.relations if each.name in names),
        conditions=tuple(
            each for each in model.conditions if {each.left, each.right} <= set(names)
        ),
    )


def test_a_join_that_another_query_needs_anyway_is_free() -> None:
    """Alone the query of three takes plan (a); with a query of B and C it is better to share."""
    three = example_1(0.001)
    joint = plan_together([three, of_two(three, "B", "C")], 1.0)
    assert joint.trees[0] != EXAMPLE_1_PLANS["a"]
    assert joint.cost == pytest.approx(0.28)  # (b) alone: B and C are joined for both
    assert joint.alone == pytest.approx(0.28 + 0.09)
    assert joint.memory == pytest.approx(50)


def test_selections_are_shared_whatever_the_window() -> None:
    def query(rows: float) -> QueryModel:
        return QueryModel(
            relations=(Relation(name="s", rate=100, rows=rows),),
            selections=(Selection(relation="s", selectivity=0.5, text="s.x > 1"),),
            costs=OperatorCosts(select=0.001),
        )

    joint = plan_together([query(10), query(20)], 1.0)
    assert (joint.cost, joint.alone) == pytest.approx((0.1, 0.2))


def test_one_bound_for_all() -> None:
    three = example_1(0.01)
    joint = plan_together([three, of_two(three, "B", "C")], 1.0)
    assert joint.cost > 1
    assert joint.boxes.cost == pytest.approx(1.0)
    assert min(joint.boxes.kept.values()) < 1


@pytest.mark.parametrize("seconds", [0.005, 0.02, 0.06])
def test_one_query_alone_is_chosen_as_by_itself(seconds: float) -> None:
    """Also where the cheapest plan is not the one that gives most with drop boxes."""
    choice = choose(example_1(seconds), 1.0)
    assert choice is not None
    joint = plan_together([example_1(seconds)], 1.0)
    assert joint.boxes.value == pytest.approx(choice.boxes.value)


def over_the_bound(duration: float | None) -> list[QueryModel]:
    three = example_1(0.02, duration=duration)
    return [three, of_two(three, "B", "C")]


@pytest.mark.parametrize("duration", [None, 1.0])
def test_over_the_bound_the_plans_that_give_most_are_chosen(duration: float | None) -> None:
    models = over_the_bound(duration)
    joint = plan_together(models, 1.0)
    found = []
    for trees in product(*(every_plan(model) for model in models)):
        plans = [
            (Estimator(model).estimate(tree), model)
            for model, tree in zip(models, trees, strict=True)
        ]
        found.append(solve_drop_boxes(plans, 1.0, shared_cost=shared_cost_of).value)
    assert joint.boxes.value == pytest.approx(max(found))
    assert joint.boxes.cost <= 1 + 1e-9


def test_many_plans_and_their_boxes_are_improved_in_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    models = over_the_bound(None)
    best = plan_together(models, 1.0)
    monkeypatch.setattr(together, "_MOST_BOXED", 0)
    found = plan_together(models, 1.0)
    assert found.boxes.value <= best.boxes.value * (1 + 1e-9)
    assert found.boxes.value >= 0.9 * best.boxes.value
    assert found.boxes.cost <= 1 + 1e-9


def test_a_minimum_that_fits_no_plans_is_refused() -> None:
    with pytest.raises(SpecificationError, match="minimum must be within the budget"):
        plan_together(over_the_bound(None), 1.0, minimum={"C": 1.0, "B": 1.0})


def test_many_queries_are_chosen_in_turn() -> None:
    models = [example_1(0.001)] * 9
    joint = plan_together(models, 1.0)
    assert joint.cost == pytest.approx(0.25)


def test_a_stream_has_one_rate() -> None:
    one = example_1(0.001)
    other = replace(one, relations=(replace(one.relations[0], rate=11.0), *one.relations[1:]))
    with pytest.raises(SpecificationError, match='rate of "A" must be the same in all queries'):
        plan_together([one, other], 1.0)


def test_one_name_is_of_one_stream() -> None:
    one = example_1(0.001)
    other = replace(one, relations=(replace(one.relations[0], origin="Z"), *one.relations[1:]))
    with pytest.raises(SpecificationError, match='stream "A" must be the same in all queries'):
        plan_together([one, other], 1.0)


def test_projections_are_counted_for_each_query() -> None:
    one = example_1(0.001)
    costs = replace(one.costs, project=0.0001)
    model = replace(one, costs=costs, project=True)
    joint = plan_together([model, model], 1.0)
    project = 2 * 0.0001 * 1000  # both queries select columns of their own
    assert joint.cost == pytest.approx(0.25 + project)
    assert joint.alone == pytest.approx(2 * 0.25 + project)
    tight = plan_together([model, model], 0.2)
    assert tight.boxes.cost == pytest.approx(0.2)

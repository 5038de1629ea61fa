"""Several queries over the same streams."""

from __future__ import annotations

from dataclasses import replace

import pytest

from penstock.errors import SpecificationError
from penstock.planning.examples import EXAMPLE_1_PLANS, example_1
from penstock.planning.model import QueryModel, Relation, Selection
from penstock.planning.operator_costs import OperatorCosts
from penstock.planning.together import plan_together


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

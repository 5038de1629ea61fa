"""Drop boxes where selectivities depend on what is kept: two of them, and windows by rows."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.planning.drop_boxes import NotWithinError, keep_within
from penstock.planning.estimate import Estimator
from penstock.planning.model import Condition, QueryModel, Relation
from penstock.planning.operator_costs import OperatorCosts
from penstock.planning.search import Search
from penstock.planning.tree import Read, Single
from tests.oracles.plans import every_plan
from tests.planning.support import models


def market() -> QueryModel:
    return QueryModel(
        relations=(
            Relation(name="a", rate=5.0, duration=20.0),
            Relation(name="b", rate=20.0, duration=20.0),
            Relation(name="c", rate=20.0, rows=40.0),
        ),
        conditions=(
            Condition(left="a", right="b", selectivity=0.05),
            Condition(left="b", right="c", selectivity=0.1, backward=0.0),
        ),
        costs=OperatorCosts(insert=1e-6, invalidate=0.0, probe=1e-6, result=3e-6),
    )


@pytest.mark.parametrize("share", [0.1, 0.4, 0.8])
@pytest.mark.parametrize("fill", [0.0, 0.01])
def test_no_plan_is_over_the_bound(share: float, fill: float) -> None:
    model = market()
    for tree in every_plan(model):
        full = Estimator(model).estimate(tree)
        boxes = keep_within(full, model, share * full.cost, fill=fill)
        kept = Estimator(model).estimate_kept(tree, boxes.kept)
        assert kept.cost <= share * full.cost * (1 + 1e-9)
        assert (boxes.cost, boxes.rate) == pytest.approx((kept.cost, kept.rate), rel=1e-6)


@settings(max_examples=30, deadline=None)
@given(models(least=3, by="mixed", two_sided=True), st.floats(0.05, 0.95), st.floats(0.001, 1.0))
def test_any_query_is_within_its_bound(model: QueryModel, share: float, same: float) -> None:
    tree = Search(model).best()
    estimator = Estimator(model)
    bound = share * estimator.estimate(tree).cost
    boxes = keep_within(estimator.estimate(tree), model, bound)
    kept = estimator.estimate_kept(tree, boxes.kept)
    assert kept.cost <= bound * (1 + 1e-9)
    assert (boxes.cost, boxes.rate) == pytest.approx((kept.cost, kept.rate), rel=1e-6)
    # It is no worse than the same share of all streams, if that fits.
    alike = estimator.estimate_kept(tree, dict.fromkeys(model.names, same * share))
    assert alike.cost > bound or kept.rate >= alike.rate * (1 - 1e-6)


@settings(max_examples=10, deadline=None)
@given(
    models(least=3, most=3, by="mixed", two_sided=True),
    st.floats(0.05, 0.95),
    st.floats(0.3, 1.1),
)
def test_so_are_rows(model: QueryModel, share: float, of_memory: float) -> None:
    tree = Search(model).best()
    estimator = Estimator(model)
    full = estimator.estimate(tree)
    bound, rows = share * full.cost, of_memory * full.memory
    try:
        boxes = keep_within(full, model, bound, rows=rows)
    except NotWithinError:  # windows by rows alone are too many rows
        return
    kept = estimator.estimate_kept(tree, boxes.kept)
    assert kept.cost <= bound * (1 + 1e-9)
    assert kept.memory <= rows * (1 + 1e-9)


@settings(max_examples=20)
@given(models(least=3, by="rows"), st.floats(0.05, 0.95))
def test_the_same_on_both_sides_is_the_knapsack(model: QueryModel, share: float) -> None:
    both = replace(
        model,
        conditions=tuple(replace(each, backward=each.selectivity) for each in model.conditions),
    )
    tree = Search(model).best()
    one, two = (Estimator(each).estimate(tree) for each in (model, both))
    bound = share * one.cost
    assert keep_within(two, both, bound).rate == pytest.approx(
        keep_within(one, model, bound).rate, rel=1e-9
    )


@pytest.mark.parametrize("share", [0.2, 0.6])
def test_they_are_no_worse_than_a_grid(share: float) -> None:
    """A query that the means at full rates would give a quarter of what is possible."""
    model = QueryModel(
        relations=tuple(
            Relation(name=name, rate=rate, rows=rows)
            for name, rate, rows in (("a", 60.0, 20.0), ("b", 4.0, 30.0), ("c", 20.0, 10.0))
        ),
        conditions=(
            Condition(left="a", right="b", selectivity=0.02, backward=0.4),
            Condition(left="b", right="c", selectivity=0.2),
        ),
        costs=OperatorCosts.per_row(0.001),
    )
    tree = Search(model).best()
    estimator = Estimator(model)
    full = estimator.estimate(tree)
    boxes = keep_within(full, model, share * full.cost)
    kept = [
        estimator.estimate_kept(tree, dict(zip("abc", shares, strict=True)))
        for shares in product([1e-9, 0.01, 0.03, 0.1, 0.3, 0.6, 1.0], repeat=3)
    ]
    best = max(each.rate for each in kept if each.cost <= share * full.cost)
    assert boxes.rate >= best * (1 - 1e-6)


def test_no_results_no_stream_is_preferred() -> None:
    model = market()
    none = replace(model.conditions[0], selectivity=0.0)
    model = replace(model, conditions=(none, model.conditions[1]))
    full = Estimator(model).estimate(Search(model).best())
    boxes = keep_within(full, model, 0.5 * full.cost)
    assert boxes.rate == 0
    assert min(boxes.kept.values()) > 0.1
    kept = Estimator(model).estimate_kept(full.root.tree, boxes.kept)
    assert kept.cost == pytest.approx(0.5 * full.cost, rel=1e-3)


def test_the_order_in_which_one_operator_probes_may_change_behind_drop_boxes() -> None:
    model = QueryModel(
        relations=(
            Relation(name="a", rate=50.0, duration=2.0),
            Relation(name="b", rate=40.0, rows=300.0),
            Relation(name="c", rate=60.0, duration=5.0),
        ),
        conditions=tuple(
            Condition(left=left, right=right, selectivity=0.01, group="x")
            for left, right in ("ab", "bc", "ac")
        ),
        costs=OperatorCosts.per_row(0.001),
        single=True,
    )
    tree = Single((Read(0), Read(1), Read(2)))
    estimator = Estimator(model)
    full = estimator.estimate(tree)
    for share in (0.05, 0.2, 0.5, 0.9):
        boxes = keep_within(full, model, share * full.cost)
        kept = estimator.estimate_kept(tree, boxes.kept)
        assert kept.cost <= share * full.cost * (1 + 1e-9)
        assert kept.cost == pytest.approx(boxes.cost, rel=1e-9)

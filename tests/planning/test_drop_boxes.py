"""Drop boxes: linear and geometric programmes, and the paper's observations."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.errors import SpecificationError
from penstock.planning.choose import best_with_drop_boxes, choose
from penstock.planning.drop_boxes import keep_within, solve_drop_boxes
from penstock.planning.estimate import Estimator
from penstock.planning.examples import EXAMPLE_1_PLANS, example_1, figure_4
from penstock.planning.geometric import Posynomial, maximize_product
from penstock.planning.knapsack import fill_knapsack
from penstock.planning.model import Condition, QueryModel, Relation, Selection
from penstock.planning.operator_costs import OperatorCosts
from penstock.planning.search import Search
from penstock.planning.tree import Read, Tree, nodes_of
from tests.oracles.plans import every_plan, flow
from tests.planning.support import models

SHARES = st.floats(0.05, 1.0)


@settings(max_examples=30)
@given(models(selections=1), st.floats(0.05, 0.95))
def test_boxes_need_what_there_is_and_give_what_they_say(model: QueryModel, share: float) -> None:
    tree = Search(model).best()
    full = Estimator(model).estimate(tree)
    boxes = keep_within(full, model, share * full.cost)
    again = flow(model, tree, {Read(model.index(n)): x for n, x in boxes.kept.items()})
    assert boxes.cost == pytest.approx(share * full.cost, rel=1e-6)
    assert again.cost == pytest.approx(boxes.cost, rel=1e-6)
    assert again.rate == pytest.approx(boxes.rate, rel=1e-6)
    kept = Estimator(model).estimate_kept(tree, boxes.kept)
    assert (kept.cost, kept.rate) == pytest.approx((boxes.cost, boxes.rate), rel=1e-6)
    assert all(0 <= each <= 1 for each in boxes.kept.values())


@settings(max_examples=30)
@given(models(), st.floats(0.05, 0.95), st.lists(SHARES, min_size=4, max_size=4))
def test_no_other_shares_give_more(model: QueryModel, share: float, tried: list[float]) -> None:
    tree = Search(model).best()
    full = Estimator(model).estimate(tree)
    bound = share * full.cost
    best = keep_within(full, model, bound).rate

    # any point is scaled down until it fits; the cost rises with the factor
    def scaled(factor: float) -> dict[Tree, float]:
        return {Read(at): factor * tried[at] for at in range(len(model.relations))}

    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        fits = flow(model, tree, scaled(middle)).cost <= bound
        low, high = (middle, high) if fits else (low, middle)
    assert flow(model, tree, scaled(low)).rate <= best * (1 + 1e-6)


@settings(max_examples=30)
@given(models(), st.data())
def test_observation_3_boxes_before_the_joins_suffice(
    model: QueryModel, data: st.DataObject
) -> None:
    """Any boxes anywhere can be moved to the streams: same results, no more cost."""
    tree = data.draw(st.sampled_from(list(every_plan(model))))
    boxes = {node: data.draw(SHARES) for node in set(nodes_of(tree))}
    anywhere = flow(model, tree, boxes)
    moved: dict[Tree, float] = {
        node: share for node, share in boxes.items() if isinstance(node, Read)
    }
    for node, share in boxes.items():
        below = [each for each in nodes_of(node) if isinstance(each, Read)]
        if isinstance(node, Read):
            continue
        # By rows all streams below are thinned; by time one is enough, as windows shrink, too.
        for each in below if model.by_rows else below[:1]:
            moved[each] *= share
    at_streams = flow(model, tree, moved)
    assert at_streams.rate == pytest.approx(anywhere.rate)
    assert at_streams.cost <= anywhere.cost * (1 + 1e-9)


@settings(max_examples=30)
@given(
    st.lists(st.tuples(st.floats(0.01, 0.99), st.floats(0.001, 0.1)), min_size=1, max_size=4),
    st.floats(0.05, 0.95),
)
def test_observation_2_filters(filters: list[tuple[float, float]], share: float) -> None:
    """One box at the stream, with what there is divided by what is needed; least cost is best."""
    model = QueryModel(
        relations=(Relation(name="s", rate=100.0, rows=10),),
        selections=tuple(
            Selection(relation="s", selectivity=selectivity, cost=cost)
            for selectivity, cost in filters
        ),
        costs=OperatorCosts(select=0.001),
    )
    bound = share * Estimator(model).estimate(Search(model).best()).cost
    rates = {}
    for tree in every_plan(model):
        full = Estimator(model).estimate(tree)
        boxes = keep_within(full, model, bound)
        assert boxes.kept["s"] == pytest.approx(min(1.0, bound / full.cost))  # 23
        assert boxes.rate == pytest.approx(boxes.kept["s"] * full.rate)  # 24
        rates[full.cost] = boxes.rate
    assert rates[min(rates)] == pytest.approx(max(rates.values()))


def test_figure_4_within_less() -> None:
    model, plans = figure_4()
    boxes = keep_within(Estimator(model).estimate(plans["A"]), model, 0.375)
    assert boxes.kept == pytest.approx({"S": 0.5})
    assert boxes.rate == pytest.approx(62.5)


class TestKnapsack:
    def test_equal_ratios_are_filled_in_order_whatever_rounding_says(self) -> None:
        gain = np.array([0.1 + 0.2, 0.3])  # the first is larger by rounding
        kept = fill_knapsack(gain[::-1], np.ones(2), 1.0, np.zeros(2))
        assert kept.tolist() == [1.0, 0.0]

    def test_the_minimum_comes_first(self) -> None:
        kept = fill_knapsack(np.array([9.0, 1.0]), np.ones(2), 1.0, np.array([0.0, 0.25]))
        assert kept.tolist() == [0.75, 0.25]


class TestWeightsAndMinimum:
    def boxes(
        self,
        weights: dict[str, float] | None = None,
        minimum: dict[str, float] | None = None,
    ) -> dict[str, float]:
        model = example_1(0.02)
        full = Estimator(model).estimate(EXAMPLE_1_PLANS["a"])
        return dict(keep_within(full, model, 1.0, weights=weights, minimum=minimum).kept)

    def test_streams_may_be_shut_off(self) -> None:
        assert self.boxes() == pytest.approx({"A": 0, "B": 0, "C": 50 / 70})

    def test_a_weight_prefers_a_stream(self) -> None:
        assert self.boxes(weights={"B": 10}) == pytest.approx({"A": 0, "B": 50 / 120, "C": 0})

    def test_a_minimum_keeps_a_part_of_it(self) -> None:
        kept = self.boxes(minimum={"A": 0.1, "B": 0.1})
        assert kept == pytest.approx({"A": 0.1, "B": 0.1, "C": 32 / 70})

    def test_a_minimum_that_needs_too_much_is_refused_and_says_by_how_much(self) -> None:
        message = (
            r"minimum must be within the budget; got \{'A': 1.0\}; they need 120% of a processor, "
            r"20% more than the 100% that is allowed; lower them"
        )
        with pytest.raises(SpecificationError, match=message):
            self.boxes(minimum={"A": 1.0})

    def test_streams_of_windows_by_time_have_weights_too(self) -> None:
        model = example_1(0.01, duration=1.0)
        full = Estimator(model).estimate(EXAMPLE_1_PLANS["a"])
        plain = keep_within(full, model, 1.0).kept
        heavy = keep_within(full, model, 1.0, weights={"C": 3}).kept
        assert heavy["C"] > plain["C"]
        assert heavy["A"] < plain["A"]

    def test_a_minimum_far_beyond_the_budget_is_said_in_processors(self) -> None:
        model = example_1(2.0)
        full = Estimator(model).estimate(EXAMPLE_1_PLANS["a"])
        with pytest.raises(
            SpecificationError, match=r"120 processors, 12 times the 10 processors that is"
        ):
            keep_within(full, model, 10.0, minimum={"A": 1.0})

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"weights": {"zzz": 3}}, "weights must be given for streams of the query; got 'zzz'"),
            ({"weights": {"A": -3}}, 'weights of "A" must be a number of 0 or more; got -3'),
            ({"weights": {"A": float("inf")}}, 'weights of "A" must be a number of 0 or more'),
            ({"weights": {"A": "3"}}, "weights of \"A\" must be a number of 0 or more; got '3'"),
            ({"minimum": {"A": 7}}, 'minimum of "A" must be a share from 0 to 1; got 7'),
            ({"minimum": {"A": float("nan")}}, 'minimum of "A" must be a share from 0 to 1'),
        ],
    )
    def test_wrong_ones_are_refused_also_if_nothing_is_dropped(
        self, options: dict[str, Any], message: str
    ) -> None:
        for seconds_per_row in (0.0001, 1.0):
            with pytest.raises(SpecificationError, match=message):
                choose(example_1(seconds_per_row), 1.0, **options)

    @pytest.mark.parametrize("what", ["weights", "minimum"])
    def test_unknown_streams_are_refused(self, what: str) -> None:
        with pytest.raises(SpecificationError, match=f"{what} must be given for streams"):
            self.boxes(**{what: {"D": 0.5}})


class TestGeometric:
    @settings(max_examples=30)
    @given(st.data())
    def test_the_optimum_satisfies_its_conditions(self, data: st.DataObject) -> None:
        """Kuhn and Tucker: powers = price * share of the cost, for all x between their bounds."""
        count = data.draw(st.integers(1, 4))
        rows = data.draw(st.integers(1, 6))
        cost = Posynomial(
            np.array(data.draw(st.lists(st.floats(0.1, 10), min_size=rows, max_size=rows))),
            np.array(
                data.draw(
                    st.lists(
                        st.lists(st.sampled_from([0.0, 1.0]), min_size=count, max_size=count),
                        min_size=rows,
                        max_size=rows,
                    )
                )
            ),
        )
        cost = cost.plus(Posynomial(np.ones(count), np.eye(count)))
        bound = data.draw(st.floats(0.1, 0.9)) * (
            cost.at(np.ones(count)) - cost.at(np.zeros(count))
        )
        bound += cost.at(np.zeros(count))
        x = maximize_product(np.ones(count), [(cost, bound)], np.zeros(count))
        assert cost.at(x) == pytest.approx(bound, rel=1e-7)
        use = cost.exponents.T @ cost.terms(x)
        inner = x < 1 - 1e-6
        assert inner.any()
        price = use[inner].mean()
        assert use[inner] == pytest.approx(np.full(inner.sum(), price), rel=1e-4)
        assert (use[~inner] <= price * (1 + 1e-4)).all()

    def test_a_minimum_of_one_is_not_changed(self) -> None:
        cost = Posynomial(np.array([1.0, 1.0]), np.eye(2))
        x = maximize_product(np.ones(2), [(cost, 1.25)], np.array([1.0, 0.0]))
        assert x == pytest.approx([1.0, 0.25])


def test_rows_and_time_at_once_against_a_grid() -> None:
    model = QueryModel(
        relations=(
            Relation(name="a", rate=10, rows=10),
            Relation(name="b", rate=20, duration=2.0),
            Relation(name="c", rate=30, rows=5),
        ),
        conditions=(
            Condition(left="a", right="b", selectivity=0.1),
            Condition(left="b", right="c", selectivity=0.2),
        ),
        costs=OperatorCosts.per_row(0.01),
    )
    tree = Search(model).best()
    estimator = Estimator(model)
    full = estimator.estimate(tree)
    found = keep_within(full, model, 0.4 * full.cost)
    steps = np.linspace(0.001, 1, 7)
    best = 0.0
    for a in steps:
        for b in steps:
            for c in steps:
                kept = estimator.estimate_kept(tree, {"a": a, "b": b, "c": c})
                if kept.cost <= 0.4 * full.cost:
                    best = max(best, kept.rate)
    assert found.rate >= best * 0.999


class TestTwoLimits:
    """Time and rows at once."""

    @settings(max_examples=30)
    @given(
        models(by="time"),
        st.floats(0.05, 1.2),
        st.floats(0.05, 1.2),
        st.lists(SHARES, min_size=4, max_size=4),
    )
    def test_both_are_met_and_no_other_shares_give_more(
        self, model: QueryModel, of_cost: float, of_memory: float, tried: list[float]
    ) -> None:
        tree = Search(model).best()
        full = Estimator(model).estimate(tree)
        bound, rows = of_cost * full.cost, of_memory * full.memory
        boxes = keep_within(full, model, bound, rows=rows)

        def at(shares: dict[str, float]) -> tuple[float, bool]:
            kept: dict[Tree, float] = {Read(model.index(n)): x for n, x in shares.items()}
            found = flow(model, tree, kept)
            fits = found.cost <= bound * (1 + 1e-6) and found.memory <= rows * (1 + 1e-6)
            return found.rate, fits

        rate, fits = at(dict(boxes.kept))
        assert fits
        assert rate == pytest.approx(boxes.rate, rel=1e-6)
        low, high = 0.0, 1.0
        for _ in range(40):
            middle = (low + high) / 2
            inside = at({n: middle * tried[i] for i, n in enumerate(model.names)})[1]
            low, high = (middle, high) if inside else (low, middle)
        other, _ = at({n: low * tried[i] for i, n in enumerate(model.names)})
        assert other <= rate * (1 + 1e-5)

    def test_windows_by_time_shrink_until_they_fit(self) -> None:
        model = example_1(0.0001, duration=1.0)
        full = choose(model, 1.0)
        assert full is not None
        least = min(flow(model, tree).memory for tree in every_plan(model))
        choice = choose(model, 1.0, rows=least / 4)
        assert choice is not None
        kept = Estimator(model).estimate_kept(choice.tree, choice.boxes.kept)
        assert kept.memory == pytest.approx(least / 4, rel=1e-6)
        assert 0 < choice.boxes.rate < full.boxes.rate

    def test_windows_by_rows_do_not(self) -> None:
        model = example_1(0.0001)
        assert choose(model, 1.0, rows=49) is None
        assert choose(model, 1.0, rows=50) is not None

    def test_a_minimum_that_keeps_too_many_rows_says_by_how_much(self) -> None:
        model = example_1(0.0001, duration=1.0)
        message = r"within the budget; .* they keep 80 rows, 100% more than the 40 that are allowed"
        only = replace(model, relations=model.relations[::2], conditions=())
        full = Estimator(only).estimate(Search(only).best())
        assert full.memory == pytest.approx(80)
        with pytest.raises(SpecificationError, match=message):
            keep_within(full, only, 1.0, rows=40, minimum={"A": 1.0, "C": 1.0})

    def test_a_plan_that_can_have_the_minimum_is_found_among_others_that_cannot(self) -> None:
        model = example_1(0.001)
        cheap, dear = (Estimator(model).estimate(EXAMPLE_1_PLANS[name]).cost for name in "ac")
        assert cheap < dear
        shares = {"A": 0.9, "B": 0.9, "C": 0.9}
        choice = choose(model, 0.95 * cheap, minimum=shares)
        assert choice is not None
        assert choice.boxes.cost <= 0.95 * cheap * (1 + 1e-9)


def test_one_stream_with_windows_by_rows_and_by_time_in_two_queries() -> None:
    """Also if the query with windows by rows comes last: shares are no worse than a grid's."""
    models = [
        QueryModel(
            relations=(
                Relation(name="A", rate=10, rows=rows, duration=duration),
                Relation(name="B", rate=20, rows=5),
            ),
            costs=OperatorCosts.per_row(0.01),
        )
        for rows, duration in ((None, 1.0), (10.0, None))
    ]
    trees = [Search(each).best() for each in models]
    plans = [
        (Estimator(model).estimate(tree), model) for model, tree in zip(models, trees, strict=True)
    ]
    bound = 0.3 * sum(plan.cost for plan, _ in plans)
    boxes = solve_drop_boxes(plans, bound)
    assert boxes.cost == pytest.approx(bound, rel=1e-6)
    best = 0.0
    for shares in product(np.linspace(0.001, 1, 7), repeat=2):
        kept = dict(zip("AB", map(float, shares), strict=True))
        found = [
            Estimator(model).estimate_kept(tree, kept)
            for model, tree in zip(models, trees, strict=True)
        ]
        if sum(each.cost for each in found) <= bound:
            best = max(best, sum(each.rate for each in found))
    assert boxes.rate >= 0.999 * best


@pytest.mark.parametrize(
    "windows",
    [
        [{"rows": 10}, {"rows": 20}],
        [{"duration": 1.0}, {"duration": 2.0}],
        [{"duration": 1.0}, {"rows": 10}],
        [{"duration": 0.0}, {"duration": 0.0}],
    ],
)
def test_without_any_results_no_stream_is_preferred(windows: list[dict[str, Any]]) -> None:
    model = QueryModel(
        relations=tuple(
            Relation(name=name, rate=10.0, **window)
            for name, window in zip("ab", windows, strict=True)
        ),
        conditions=(Condition(left="a", right="b", selectivity=0.0),),
        costs=OperatorCosts.per_row(0.01),
    )
    full = Estimator(model).estimate(Search(model).best())
    choice = choose(model, 0.5 * full.cost)
    assert choice is not None
    assert choice.boxes.kept == pytest.approx({"a": 0.5, "b": 0.5}, rel=1e-6)
    assert choice.boxes.rate == 0


class TestChoice:
    @settings(max_examples=10)
    @given(models(least=3, most=4, by="rows"), st.floats(0.02, 0.9))
    def test_the_heuristic_is_between_the_cheapest_plan_and_the_best(
        self, model: QueryModel, share: float
    ) -> None:
        full = Estimator(model).estimate(Search(model).best())
        bound = share * full.cost
        best = best_with_drop_boxes(model, bound, exhaustive=True)
        found = best_with_drop_boxes(model, bound, exhaustive=False)
        assert best is not None
        assert found is not None
        assert found.boxes.value <= best.boxes.value * (1 + 1e-9)
        assert found.boxes.value >= keep_within(full, model, bound).value * (1 - 1e-9)

    def test_what_is_feasible_needs_no_boxes(self) -> None:
        choice = choose(example_1(0.001), 1.0)
        assert choice is not None
        assert set(choice.boxes.kept.values()) == {1.0}

"""RandomDrop: drop boxes by the geometric programme, and the throttle."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from penstock.errors import SpecificationError
from penstock.statistics.drop_boxes import (
    Charges,
    best_drop_boxes,
    common_drop_box,
    cost_of_boxes,
)
from penstock.statistics.throttle import Throttle
from penstock.studies.harvest_problems import problem


@pytest.mark.parametrize("streams", [2, 3, 5])
@pytest.mark.parametrize("throttle", [0.05, 0.3, 0.8])
def test_boxes_are_those_of_scipy(streams: int, throttle: float) -> None:
    for seed in range(3):
        model = problem("skewed", seed, streams=streams)
        boxes = best_drop_boxes(model, throttle)
        budget = throttle * model.full_cost
        found = minimize(
            lambda y: -y.sum(),
            np.log(np.full(streams, common_drop_box(model, throttle))),
            bounds=[(-20.0, 0.0)] * streams,
            constraints={
                "type": "ineq",
                "fun": lambda y, model=model, budget=budget: np.log(
                    budget / cost_of_boxes(model, np.exp(y))
                ),
            },
            method="SLSQP",
        )
        assert np.log(boxes).sum() >= found.x.sum() - 1e-4
        assert cost_of_boxes(model, boxes) == pytest.approx(budget, rel=1e-6)


@pytest.mark.parametrize("scanned", [False, True])
def test_boxes_for_all_that_is_charged(scanned: bool) -> None:
    """Insertions and results are paid for as well, and windows may be scanned once for a row."""
    for seed in range(3):
        model = problem("skewed", seed, streams=4)
        if scanned:
            draws = np.random.default_rng(seed)
            model = replace(
                model,
                scanned=draws.uniform(0.1, 1.0, (4, 4)),
                checked=draws.uniform(0.0, 0.2, (4, 4)),
            )
        whole = np.ones(4)
        compared = cost_of_boxes(model, whole)
        charges = Charges(
            compare=1.0 / compared,
            insert=0.5 / float(model.rates.sum()),
            result=0.5 / model.full_output,
        )
        assert cost_of_boxes(model, whole, charges) == pytest.approx(2.0)
        for boxes in (
            best_drop_boxes(model, 0.3, charges),
            np.full(4, common_drop_box(model, 0.3, charges)),
        ):
            assert cost_of_boxes(model, boxes, charges) == pytest.approx(0.6, rel=1e-6)
        found = minimize(
            lambda y: -y.sum(),
            np.log(boxes),
            bounds=[(-20.0, 0.0)] * 4,
            constraints={
                "type": "ineq",
                "fun": lambda y, model=model, charges=charges: np.log(
                    0.6 / cost_of_boxes(model, np.exp(y), charges)
                ),
            },
            method="SLSQP",
        )
        assert np.log(best_drop_boxes(model, 0.3, charges)).sum() >= found.x.sum() - 1e-4


@settings(max_examples=50)
@given(st.integers(0, 1000), st.integers(2, 5), st.floats(0.001, 1.0))
def test_boxes_keep_to_the_cost_and_are_no_worse_than_one_for_all(
    seed: int, streams: int, throttle: float
) -> None:
    model = problem("uniform", seed, streams=streams)
    boxes, common = best_drop_boxes(model, throttle), common_drop_box(model, throttle)
    assert ((boxes > 0.0) & (boxes <= 1.0)).all()
    assert cost_of_boxes(model, boxes) <= throttle * model.full_cost * (1 + 1e-6)
    assert cost_of_boxes(model, np.full(streams, common)) <= throttle * model.full_cost * (1 + 1e-6)
    assert boxes.prod() >= common**streams * (1 - 1e-6)


def test_with_all_of_the_cost_nothing_is_dropped() -> None:
    model = problem("uniform", 1)
    assert best_drop_boxes(model, 1.0).tolist() == [1.0, 1.0, 1.0]
    assert common_drop_box(model, 1.0) == pytest.approx(1.0)
    assert cost_of_boxes(model, np.ones(3)) == pytest.approx(model.full_cost)


def test_streams_alike_have_boxes_alike() -> None:
    model = problem("flat", 1)
    alike = replace(
        model,
        rates=np.full(3, 100.0),
        selectivity=np.full((3, 3), 0.005),
        orders=np.array([[1, 2], [2, 0], [0, 1]]),
    )
    boxes = best_drop_boxes(alike, 0.2)
    assert boxes == pytest.approx(np.full(3, common_drop_box(alike, 0.2)))


def test_a_stream_that_all_probe_first_is_thinned_out_alone() -> None:
    """All of the cost is in proportion to its box, so other boxes would lose more."""
    model = problem("flat", 1)
    alike = replace(
        model,
        rates=np.full(3, 100.0),
        selectivity=np.full((3, 3), 0.005),
        orders=np.array([[2, 1], [2, 0], [0, 1]]),
    )
    assert best_drop_boxes(alike, 0.2) == pytest.approx(np.array([1.0, 1.0, 0.2]))


class TestThrottle:
    def test_section_3_1(self) -> None:
        throttle = Throttle(boost=1.5)
        assert throttle.adapt(popped=50, pushed=200) == 0.25
        assert throttle.adapt(popped=100, pushed=200) == 0.125
        assert throttle.adapt(popped=200, pushed=200) == 0.1875
        assert throttle.adapt(popped=300, pushed=200) == 0.28125

    @given(st.lists(st.tuples(st.integers(0, 1000), st.integers(0, 1000))))
    def test_the_fraction_stays_above_0_and_up_to_1(self, counts: list[tuple[int, int]]) -> None:
        throttle = Throttle()
        for popped, pushed in counts:
            assert 0.0 < throttle.adapt(popped=popped, pushed=pushed) <= 1.0

    def test_parameters_are_checked(self) -> None:
        with pytest.raises(SpecificationError, match="boost must be above 1"):
            Throttle(boost=1.0)
        with pytest.raises(SpecificationError, match="fraction must be above 0 and at most 1"):
            Throttle(fraction=0.0)

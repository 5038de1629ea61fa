"""Costs that are learned from the times of batches."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.costs import Costs
from penstock.statistics.measured_costs import MeasuredCosts


def _learn(true: Costs, batches: int, seed: int, *, noise: float = 0.05) -> MeasuredCosts:
    """Have batches of different sizes and selectivities take the time that they cost."""
    draw = np.random.default_rng(seed)
    measured = MeasuredCosts()
    for _ in range(batches):
        arrivals = draw.integers(20_000, 200_000)
        inserted = arrivals * draw.uniform(0.2, 1.0)
        results = arrivals * draw.uniform(0.5, 20.0)
        counted = np.array([arrivals, inserted, results, results])
        measured.add(counted, true.of_counted(counted) * draw.lognormal(0, noise) + 0.01)
        measured.hand_over(int(results), 2e-6 * results)
    return measured


@pytest.mark.parametrize("seed", range(5))
def test_what_batches_cost_is_learned(seed: int) -> None:
    true = Costs(arrival=2e-6, insert=1e-6, compare=0.02e-6, result=0.4e-6)
    found = _learn(true, 60, seed).costs
    for steps in ([1e5, 1e5, 2e5, 2e5], [1e5, 3e4, 2e6, 2e6], [1e5, 1e5, 5e5, 5e5]):
        expected = true.of_counted(steps) + 2e-6 * steps[3]
        assert found.of_counted(steps) == pytest.approx(expected, rel=0.15)


def test_before_the_first_batch_costs_are_the_usual_ones() -> None:
    assert MeasuredCosts().costs == Costs.usual()


def test_a_slow_batch_does_not_change_much() -> None:
    true = Costs(arrival=2e-6, insert=1e-6, compare=0.02e-6, result=0.4e-6)
    measured = _learn(true, 60, 1)
    before = measured.costs
    counted = [1e5, 1e5, 1e6, 1e6]
    measured.add(counted, 100 * true.of_counted(counted))
    assert measured.costs.of_counted(counted) < 1.5 * before.of_counted(counted)


def test_a_machine_that_gets_slower_is_followed() -> None:
    true = Costs(arrival=2e-6, insert=1e-6, compare=0.02e-6, result=0.4e-6)
    measured = _learn(true, 60, 1)
    counted = np.array([1e5, 1e5, 1e6, 1e6])
    for _ in range(80):
        measured.add(counted, 3 * true.of_counted(counted))
    found = measured.costs.of_counted(counted) - 2e-6 * counted[3]
    assert found == pytest.approx(3 * true.of_counted(counted), rel=0.15)


def test_batches_without_rows_or_time_say_nothing() -> None:
    measured = MeasuredCosts()
    measured.add([0, 0, 0, 0], 1.0)
    measured.add([10, 10, 10, 10], 0.0)
    measured.hand_over(0, 1.0)
    assert measured.costs == Costs.usual()


def test_a_saved_one_goes_on() -> None:
    true = Costs(arrival=2e-6, insert=1e-6, compare=0.02e-6, result=0.4e-6)
    one = _learn(true, 10, 3)
    other = MeasuredCosts()
    other.restore(one.save())
    for each in (one, other):
        each.add([1e5, 1e5, 1e6, 1e6], 1.0)
    assert other.costs == one.costs

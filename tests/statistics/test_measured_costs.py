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


def test_results_that_stay_in_the_process_cost_what_the_batches_took() -> None:
    true = Costs(arrival=2e-6, insert=1e-6, compare=0.02e-6, result=0.4e-6)
    draw = np.random.default_rng(1)
    measured = MeasuredCosts()
    for _ in range(60):
        arrivals = float(draw.integers(20_000, 200_000))
        results = arrivals * draw.uniform(0.5, 20.0)
        counted = [arrivals, arrivals, results, results]
        measured.add(counted, true.of_counted(counted))
        measured.hand_over_nothing()
    steps = [1e5, 1e5, 1e6, 1e6]
    assert measured.costs.of_counted(steps) == pytest.approx(true.of_counted(steps), rel=0.05)
    other = MeasuredCosts()
    other.restore(measured.save())
    assert other.costs == measured.costs


def test_one_slow_hand_over_does_not_change_much() -> None:
    true = Costs(arrival=2e-6, insert=1e-6, compare=0.02e-6, result=0.4e-6)
    measured = _learn(true, 60, 1)
    before = measured.costs.result
    measured.hand_over(500_000, 100.0)
    assert before < measured.costs.result < 1.5 * before


def _shed(
    seed: int, *, overhead: float, row: float, wobble: float = 0.1
) -> list[tuple[float, float]]:
    """Return the cost of a comparison, in microseconds, and the part made, batch after batch.

    The costs that were measured decide how many comparisons are made, and these what is measured.
    A comparison takes 0.02 microseconds.
    """
    draw = np.random.default_rng(seed)
    measured = MeasuredCosts()
    course = []
    for _ in range(120):
        rows = float(draw.poisson(1_000))
        wanted = 4e6 * (rows / 1_000) ** 2 * draw.uniform(0.95, 1.05)
        costs = measured.costs
        left = 0.1 * draw.lognormal(0, wobble) - rows * (costs.arrival + costs.insert)
        part = min(1.0, max(0.002, left / (wanted * costs.compare)))
        seconds = overhead + row * rows + 0.02e-6 * wanted * part
        measured.add([rows, rows, wanted * part, 100 * part], seconds * draw.lognormal(0, 0.05))
        course.append((measured.costs.compare * 1e6, part))
    return course


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("wobble", [0.0, 0.1])
def test_what_a_batch_takes_without_rows_is_not_charged_to_steps(seed: int, wobble: float) -> None:
    # Charged to comparisons it would be: the fewer are made, the more each seems to cost.
    course = _shed(seed, overhead=0.15, row=60e-6, wobble=wobble)
    costs, parts = np.array(course[20:]).T
    assert costs.max() < 0.06
    assert costs.min() > 0.01
    assert parts.mean() > 0.4


def test_no_step_is_free() -> None:
    measured = MeasuredCosts()
    for _ in range(50):
        measured.add([1_000, 1_000, 1e6, 1e6], 1e-4)
    costs, usual = measured.costs, Costs.usual()
    for name in ("arrival", "insert", "compare", "result"):
        assert getattr(costs, name) >= 0.03 * getattr(usual, name)

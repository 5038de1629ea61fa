"""Age curves: the worked examples of `srivastava04`, and what holds for any curve."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.statistics.age_curve import AgeCurve
from penstock.testing import bell, decreasing, increasing

CURVES = st.lists(st.integers(0, 9), min_size=1, max_size=12).map(AgeCurve)
# Up to a peak and down from it: no minima.
PEAKED = st.tuples(
    st.lists(st.integers(0, 9), max_size=6), st.lists(st.integers(0, 9), min_size=1, max_size=6)
).map(lambda halves: AgeCurve([*sorted(halves[0]), *sorted(halves[1], reverse=True)]))


def brute_force_priorities(curve: AgeCurve) -> list[float]:
    """Priority(i), as section 3.2.1 defines it."""
    sums = [float(curve.matches[:k].sum()) for k in range(curve.parts + 1)]
    return [
        max(((sums[j] - sums[i]) / (j - i) for j in range(i + 1, curve.parts + 1)), default=0.0)
        for i in range(curve.parts + 1)
    ]


def test_example_3_3() -> None:
    curve = AgeCurve([1, 1, 2, 1])
    assert curve.best_age == 3
    assert not curve.has_minima
    assert curve.priorities() == pytest.approx([4 / 3, 3 / 2, 2, 1, 0])
    # Strategy 1: four results every three units of time, from one cell.
    assert curve.output(1, rate=1, window=4) == pytest.approx(4 / 3)


def test_example_3_4() -> None:
    curve = AgeCurve([3, 0, 2])
    assert curve.best_age == 1
    assert curve.has_minima
    # At age 1 a row is worth less than a new one (3) and less than one of age 2 (2): of two
    # cells one keeps rows for 1 unit and the other for 3, as the example's table has it.
    assert curve.priorities() == pytest.approx([3, 1, 2, 0])


@pytest.mark.parametrize(
    ("rows", "results"), [(0, 0), (1, 4 / 3), (2, 8 / 3), (3, 4), (3.5, 4.5), (4, 5), (9, 5)]
)
def test_equation_3_on_example_3_3(rows: float, results: float) -> None:
    assert AgeCurve([1, 1, 2, 1]).output(rows, rate=1, window=4) == pytest.approx(results)


def test_equation_3_with_a_rate_and_coarse_parts() -> None:
    # Ten rows a second, parts of five seconds: 150 rows hold each row for 15 s, k_opt.
    curve = AgeCurve([1, 1, 2, 1])
    found = curve.output([50, 150, 175, 200], rate=10, window=20)
    assert found == pytest.approx([50 * 4 / 15, 40, 45, 50])


@pytest.mark.parametrize(
    ("matches", "minima"),
    [
        ([1, 2, 3], False),
        ([3, 2, 1], False),
        ([1, 3, 3, 1], False),
        ([2, 2, 2], False),
        ([3, 1, 2], True),
        ([1, 3, 2, 2, 2.5], True),
        ([], False),
        ([4], False),
        ([0, 0], False),
    ],
)
def test_a_curve_has_minima_if_it_rises_after_a_fall(matches: list[float], minima: bool) -> None:
    assert AgeCurve(matches).has_minima is minima


def test_the_papers_curves_have_no_minima() -> None:
    assert not any(AgeCurve(shape(20)).has_minima for shape in (increasing, decreasing, bell))
    assert AgeCurve(increasing(20)).best_age == 20
    assert AgeCurve(decreasing(20)).best_age == 1
    assert AgeCurve(bell(20)).best_age == 13


def test_the_noise_of_sums_is_no_minimum_and_no_better_age() -> None:
    curve = AgeCurve([0.3, 0.1 + 0.2, 0.3, 0.3])
    assert not curve.has_minima
    assert curve.best_age == 1
    assert len(set(curve.priorities()[:-1].tolist())) == 1


@given(CURVES)
def test_priorities_equal_brute_force(curve: AgeCurve) -> None:
    assert curve.priorities() == pytest.approx(brute_force_priorities(curve), abs=1e-7)


@given(PEAKED)
def test_without_minima_priority_falls_with_age_beyond_the_best(curve: AgeCurve) -> None:
    """The no-minima rule: after k_opt the oldest is the one to leave."""
    assert not curve.has_minima
    after = curve.priorities()[curve.best_age :]
    assert (np.diff(after) <= 1e-7).all()


@given(PEAKED, st.floats(0.1, 10), st.floats(0.5, 100))
def test_without_minima_output_is_concave_and_never_falls(
    curve: AgeCurve, rate: float, window: float
) -> None:
    rows = np.linspace(0, rate * window, 60)
    made = curve.output(rows, rate=rate, window=window)
    scale = max(float(made.max()), 1.0)
    assert (np.diff(made) >= -1e-6 * scale).all()
    # Concave: no step gains more than the one before it.
    assert (np.diff(made, 2) <= 1e-6 * scale).all()


@given(CURVES, st.floats(0.1, 10), st.floats(0.5, 100))
def test_enough_memory_gives_everything(curve: AgeCurve, rate: float, window: float) -> None:
    made = curve.output(rate * window, rate=rate, window=window)
    assert made == pytest.approx(rate * curve.total)


@given(CURVES)
def test_no_staggering_gives_more_per_row_than_the_best_age(curve: AgeCurve) -> None:
    gains = [curve.cumulative()[k] / k for k in range(1, curve.parts + 1)]
    assert curve.output(1e-6, rate=1, window=curve.parts) == pytest.approx(1e-6 * max(gains))


def test_nothing_comes_of_nothing() -> None:
    assert AgeCurve([1, 2]).output([5.0], rate=0, window=3).tolist() == [0.0]
    assert AgeCurve([1, 2]).output([5.0], rate=3, window=0).tolist() == [0.0]
    assert AgeCurve([]).output([5.0], rate=3, window=3).tolist() == [0.0]


def test_a_curve_does_not_change_with_what_it_was_made_of() -> None:
    numbers = np.array([1.0, 2.0])
    curve = AgeCurve(numbers)
    numbers[0] = 9
    assert curve.matches.tolist() == [1.0, 2.0]
    with pytest.raises(ValueError, match="read-only"):
        curve.matches[0] = 5

"""ALLOC equals brute force over all divisions, and Theorem 5.1 of `srivastava04` holds."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.statistics.allotment import Allotment, QualityCurve, allot_least, allot_total

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

Problem = tuple[int, list[QualityCurve], list[float]]


@st.composite
def curves(draw: st.DrawFn, *, rising: bool = False) -> QualityCurve:
    """Draw a curve over the whole numbers from a least amount on."""
    least = draw(st.integers(0, 2))
    steps = draw(st.lists(st.integers(1 if rising else 0, 5), min_size=1, max_size=7).filter(any))
    sums = np.cumsum([0, *steps])
    return QualityCurve(least + np.arange(sums.size), sums / sums[-1])


@st.composite
def problems(draw: st.DrawFn, *, rising: bool = False) -> Problem:
    """Draw two or three curves, weights, and a budget that suffices for the least of each."""
    some = draw(st.lists(curves(rising=rising), min_size=2, max_size=3))
    weights = [draw(st.sampled_from([0.5, 1.0, 2.0, 3.0])) for _ in some]
    least = sum(int(curve.least) for curve in some)
    return least + draw(st.integers(0, 16)), some, weights


def divisions(total: int, some: Sequence[QualityCurve]) -> Iterator[tuple[int, ...]]:
    """Yield all divisions of a whole number that leave each join its least."""
    ranges = [range(int(curve.least), total + 1) for curve in some]
    return (each for each in product(*ranges) if sum(each) <= total)


def qualities(some: Sequence[QualityCurve], amounts: Sequence[int]) -> list[float]:
    return [curve.at(amount) for curve, amount in zip(some, amounts, strict=True)]


def least_weighted(weights: Sequence[float], quality: Sequence[float]) -> float:
    return min(q / w for q, w in zip(quality, weights, strict=True))


def is_within(total: int, some: Sequence[QualityCurve], allotment: Allotment) -> bool:
    enough = all(a >= curve.least for a, curve in zip(allotment.amounts, some, strict=True))
    return sum(allotment.amounts) == total and enough


@given(problems())
def test_the_least_is_as_great_as_in_any_division(problem: Problem) -> None:
    total, some, weights = problem
    found = allot_least(total, some, weights)
    best = max(least_weighted(weights, qualities(some, d)) for d in divisions(total, some))
    assert is_within(total, some, found)
    assert least_weighted(weights, found.quality) == pytest.approx(best)


@given(problems())
def test_the_sum_is_as_great_as_in_any_division(problem: Problem) -> None:
    total, some, weights = problem
    found = allot_total(total, some, weights)
    best = max(np.dot(weights, qualities(some, d)) for d in divisions(total, some))
    assert is_within(total, some, found)
    assert np.dot(weights, found.quality) == pytest.approx(best, abs=1e-6)


@given(problems(rising=True), st.integers(100, 1000))
def test_all_joins_have_the_same_recall(problem: Problem, fine: int) -> None:
    # Theorem 5.1, of curves that rise: but for those that have all, and for what one row is worth.
    total, some, weights = problem
    finer = [QualityCurve(curve.amounts * fine, curve.quality) for curve in some]
    found = allot_least(total * fine, finer, weights)
    some_left = [q / w for q, w in zip(found.quality, weights, strict=True) if q < 1]
    assert max(some_left, default=0.0) - min(some_left, default=0.0) <= 2 * 5 / fine / min(weights)


def test_a_join_that_has_all_leaves_the_rest_to_the_others() -> None:
    easy, hard = QualityCurve([0, 10], [0, 1]), QualityCurve([0, 100], [0, 1])
    assert allot_least(60, [easy, hard], [4, 1]).amounts == (10, 50)
    assert allot_least(220, [easy, hard]).amounts == (20, 200)  # more than enough for all


@pytest.mark.parametrize("allot", [allot_least, allot_total])
def test_large_budgets_are_divided_to_the_row(allot: Callable[..., Allotment]) -> None:
    some = [QualityCurve([1, 10**9 + 7], [0, 1]), QualityCurve([1, 10**9], [0, 1])]
    assert sum(allot(10**9 + 1, some).amounts) == 10**9 + 1

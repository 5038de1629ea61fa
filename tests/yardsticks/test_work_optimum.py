"""The most results for a limited amount of work: against brute force, and by the paper's proof."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import SpecificationError
from penstock.yardsticks import Matches, best_insertions, best_subset, greedy_subset
from tests.engine.support import examples

if TYPE_CHECKING:
    from collections.abc import Iterable

Edge = tuple[int, int]


def graph(left: int, right: int, edges: Iterable[Edge]) -> Matches:
    """Return results between rows of a first stream, and rows of a second."""
    pairs = np.array(sorted(edges), np.int64).reshape(-1, 2)
    return Matches(np.arange(left + right), pairs[:, 0], pairs[:, 1] + left, left)


@st.composite
def graphs(draw: st.DrawFn) -> tuple[int, int, list[Edge]]:
    left, right = draw(st.integers(1, 4)), draw(st.integers(1, 4))
    every = [(u, v) for u in range(left) for v in range(right)]
    return left, right, draw(st.lists(st.sampled_from(every), unique=True, max_size=10))


def naive(matches: Matches, limit: float, insert: float, result: float, *, induced: bool) -> int:
    """Return the most results, by trying all sets of rows."""
    edges = list(zip(matches.waiting.tolist(), matches.probing.tolist(), strict=True))
    rows = sorted({row for edge in edges for row in edge})
    most = 0
    for count in range(len(rows) + 1):
        for chosen in combinations(rows, count):
            inside = sum(u in chosen and v in chosen for u, v in edges)
            left = limit * (1 + 1e-9) - count * insert
            if left < 0 or (induced and inside * result > left):
                continue
            affordable = inside if induced or result == 0 else min(inside, int(left / result))
            most = max(most, affordable)
    return most


_COSTS = st.sampled_from([(1.0, 0.0), (1.0, 1.0), (0.3, 1.0), (0.0, 1.0), (2.0, 0.5)])


@pytest.mark.parametrize("induced", [False, True])
@given(shape=graphs(), limit=st.integers(0, 12), costs=_COSTS)
@examples(80)
def test_the_best_subset_is_that_of_brute_force(
    induced: bool, shape: tuple[int, int, list[Edge]], limit: int, costs: tuple[float, float]
) -> None:
    matches, (insert, result) = graph(*shape), costs
    best = best_subset(matches, limit, insert=insert, result=result, induced=induced)
    assert best.results == naive(matches, limit, insert, result, induced=induced)
    assert best.work <= limit * (1 + 1e-6)
    if induced:
        both = best.takes_part[matches.waiting] & best.takes_part[matches.probing]
        assert best.found.tolist() == both.tolist()


@given(shape=graphs(), limit=st.integers(0, 12), costs=_COSTS)
@examples(80)
def test_the_greedy_subset_fits_and_is_no_better(
    shape: tuple[int, int, list[Edge]], limit: int, costs: tuple[float, float]
) -> None:
    matches, (insert, result) = graph(*shape), costs
    some = greedy_subset(matches, limit, insert=insert, result=result)
    assert some.work <= limit * (1 + 1e-6)
    assert some.results <= best_subset(matches, limit, insert=insert, result=result).results
    if not limit:
        assert not some.found.any()


@given(shape=graphs(), limit=st.integers(0, 12), costs=_COSTS, seed=st.integers(0, 9))
@examples(80)
def test_the_best_insertions_are_those_of_brute_force(
    shape: tuple[int, int, list[Edge]], limit: int, costs: tuple[float, float], seed: int
) -> None:
    matches, (insert, result) = graph(*shape), costs
    # Of each result, either row may be the one that waits.
    turned = np.random.default_rng(seed).random(len(matches)) < 0.5
    waiting, probing = (
        np.where(turned, one, other)
        for one, other in (
            (matches.probing, matches.waiting),
            (matches.waiting, matches.probing),
        )
    )
    matches = Matches(matches.arrived, waiting, probing, matches.first_rows)
    best = best_insertions(matches, limit, insert=insert, result=result)
    rows = sorted(set(matches.waiting.tolist()))
    most = 0
    for count in range(len(rows) + 1):
        left = limit * (1 + 1e-9) - count * insert
        for chosen in combinations(rows, count):
            there = sum(row in chosen for row in matches.waiting.tolist())
            if left >= 0:
                most = max(most, there if result == 0 else min(there, int(left / result)))
    assert best.results == most
    assert best.work <= limit * (1 + 1e-6)
    assert best.takes_part[matches.waiting[best.found]].all()
    # Of the paper's optimum both rows of a result pay.
    assert best.results >= best_subset(matches, limit, insert=insert, result=result).results


@pytest.mark.parametrize(
    ("edges", "is_there"),
    [
        ([(0, 0), (0, 1), (1, 0), (1, 1), (2, 2)], True),  # rows 0 and 1 on both sides
        ([(0, 0), (0, 1), (1, 0), (1, 2), (2, 1), (2, 2)], False),  # a ring of six
    ],
)
@pytest.mark.parametrize("induced", [False, True])
def test_the_reduction_from_balanced_cliques(
    edges: list[Edge], is_there: bool, induced: bool
) -> None:
    """With C_u = 1, C_p = 0 and a limit of 2 K there are K^2 results iff there is a K-clique."""
    best = best_subset(graph(3, 3, edges), 4, insert=1, result=0, induced=induced)
    assert (best.results == 4) == is_there


def test_components_that_give_most_come_first() -> None:
    # A star of three, a complete one of four, and a single result.
    star, square, single = [(0, 0), (0, 1), (0, 2)], [(1, 3), (1, 4), (2, 3), (2, 4)], [(3, 5)]
    matches = graph(4, 6, star + square + single)
    some = greedy_subset(matches, 8, insert=1, result=1)
    assert [some.results, some.work] == [4, 8]
    assert some.takes_part.tolist() == [False, True, True, False] + [False] * 3 + [
        True,
        True,
        False,
    ]
    # What is left then suffices for one result of the star: two rows and the result.
    assert greedy_subset(matches, 11, insert=1, result=1).results == 5
    assert greedy_subset(matches, 13, insert=1, result=1).results == 6


def test_without_results_nothing_is_done() -> None:
    nothing = graph(2, 2, [])
    for found in (
        best_subset(nothing, 5, insert=1, result=1),
        greedy_subset(nothing, 5, insert=1, result=1),
    ):
        assert (found.results, found.work, found.recall) == (0, 0.0, 1.0)


def test_bad_numbers_are_named() -> None:
    matches = graph(1, 1, [(0, 0)])
    with pytest.raises(SpecificationError, match="insert must be 0 or more; got -1"):
        greedy_subset(matches, 5, insert=-1, result=1)
    with pytest.raises(SpecificationError, match="limit must be 0 or more; got nan"):
        best_subset(matches, float("nan"), insert=1, result=1)


def test_too_many_results_are_refused() -> None:
    many = graph(50, 50, [(u, v) for u in range(50) for v in range(50)])
    with pytest.raises(SpecificationError, match="results of the join must be 2,000 at most"):
        best_subset(many, 5, insert=1, result=1)
    assert greedy_subset(many, 100, insert=1, result=0).results == 2_500

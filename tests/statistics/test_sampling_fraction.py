"""The fraction that fits: its equations, and the three ways of sampling themselves."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.statistics.sampling_fraction import (
    cluster_chances,
    fraction_by_size,
    fraction_of_clusters,
    solve_fraction,
)
from penstock.statistics.sampling_memory import uniform_share
from tests.oracles.naive_sampling import NaiveEqCluster, NaivePpsCluster, NaiveUniform

if TYPE_CHECKING:
    from tests.oracles.naive_sampling import NaiveSampling

# Sizes and rows of each value: also of size 0, without rows, and equal ones.
VALUES = st.lists(
    st.tuples(
        st.one_of(st.integers(0, 4).map(float), st.floats(1e-6, 1e6)),
        st.one_of(st.integers(0, 4).map(float), st.floats(1e-3, 1e3)),
    ),
    min_size=1,
    max_size=12,
)


def iterative_factor(rows: float, values: list[tuple[float, float]]) -> float:
    """The procedure of footnote 2: whoever would be above 1 is certain, and again for the rest."""
    certain: set[int] = set()
    while True:
        rest = [v for v in range(len(values)) if v not in certain]
        left = rows - sum(values[v][1] for v in certain)
        factor = left / sum(values[v][0] * values[v][1] for v in rest)
        above = {v for v in rest if factor * values[v][0] > 1}
        if not above:
            return factor
        certain |= above


def test_equal_chances() -> None:
    assert fraction_of_clusters(30, 120) == 0.25
    assert fraction_of_clusters(120, 120) == 1.0
    assert fraction_of_clusters(1, 0) == 1.0
    assert fraction_of_clusters(0, 0) == 1.0
    assert fraction_of_clusters(0, 7) == 0.0
    assert fraction_of_clusters(-1, 7) == 0.0


def test_chances_by_size_by_hand() -> None:
    # Ten rows of each value. Without a certain one: 10 k (8 + 1 + 1) = 5.
    assert fraction_by_size(5, [8, 1, 1], [10, 10, 10]) == pytest.approx(0.05)
    # At k = 1/8 the first is certain, with 10 + 2.5 rows.
    assert fraction_by_size(12.5, [8, 1, 1], [10, 10, 10]) == pytest.approx(1 / 8)
    # Then each further row is for the others: 10 + 20 k = 20. The printed formula has 0.2.
    assert fraction_by_size(20, [8, 1, 1], [10, 10, 10]) == pytest.approx(0.5)
    assert fraction_by_size(30, [8, 1, 1], [10, 10, 10]) == math.inf
    assert fraction_by_size(0, [8, 1, 1], [10, 10, 10]) == 0.0


def test_values_of_size_0_are_kept_only_if_all_fit() -> None:
    factor = fraction_by_size(25, [2, 1, 0], [10, 10, 10])
    assert factor == 1.0
    assert cluster_chances(factor, [2, 1, 0]).tolist() == [1, 1, 0]
    factor = fraction_by_size(30, [2, 1, 0], [10, 10, 10])
    assert cluster_chances(factor, [2, 1, 0]).tolist() == [1, 1, 1]
    assert fraction_by_size(5, [0, 0], [10, 10]) == 0.0
    assert fraction_by_size(5, [], []) == math.inf


@given(VALUES, st.floats(0, 1))
def test_the_factor_solves_its_equation(values: list[tuple[float, float]], part: float) -> None:
    sizes, alive = np.array(values).T
    most = float(alive[sizes > 0].sum())
    rows = part * most
    factor = fraction_by_size(rows, sizes, alive)
    held = float((alive * cluster_chances(factor, sizes)).sum())
    if rows >= alive.sum():
        assert factor == math.inf
    else:
        assert held == pytest.approx(rows, rel=1e-6, abs=1e-6 * most)


@given(VALUES, st.floats(0.01, 0.99))
def test_one_sort_gives_what_the_iterative_procedure_gives(
    values: list[tuple[float, float]], part: float
) -> None:
    sizes, alive = np.array(values).T
    rows = part * float(alive[sizes > 0].sum())
    if not rows:
        return
    found = fraction_by_size(rows, sizes, alive)
    assert cluster_chances(found, sizes) == pytest.approx(
        cluster_chances(iterative_factor(rows, values), sizes), rel=1e-6, abs=1e-9
    )


@given(VALUES, st.floats(0.01, 0.99), st.floats(0.001, 1000))
def test_the_unit_of_the_sizes_does_not_matter(
    values: list[tuple[float, float]], part: float, unit: float
) -> None:
    sizes, alive = np.array(values).T
    rows = part * float(alive.sum())
    one = cluster_chances(fraction_by_size(rows, sizes, alive), sizes)
    other = cluster_chances(fraction_by_size(rows, unit * sizes, alive), unit * sizes)
    assert one == pytest.approx(other, rel=1e-6, abs=1e-9)


@given(st.floats(-11, 0), st.floats(0.1, 5))
def test_a_fraction_is_found_with_all_its_digits(power: float, exponent: float) -> None:
    fraction = 10**power
    found = solve_fraction(fraction**exponent, lambda p: float(p**exponent))
    assert found == pytest.approx(fraction, rel=1e-8)


def test_a_fraction_is_above_0_and_at_most_1() -> None:
    assert solve_fraction(5, lambda p: 5 * p) == 1.0
    assert solve_fraction(9, lambda p: 5 * p) == 1.0
    assert solve_fraction(0, lambda p: 5 * p) == pytest.approx(1e-12)


def test_few_evaluations_are_needed_and_what_is_found_fits() -> None:
    asked: list[float] = []
    generator = np.random.default_rng(0)
    matches, alive = generator.exponential(3.0, 4096), generator.random(4096)
    limits = np.ceil(matches)

    def held(fraction: float) -> float:
        asked.append(fraction)
        return float(alive @ uniform_share(fraction, matches, limits))

    found = solve_fraction(400, held)
    assert len(asked) <= 36
    assert held(found) <= 400
    assert held(found) == pytest.approx(400, rel=1e-6)


# Per window of length 1: rows of each value on S1, and on S2, which are the matches of a row.
OWN = {"a": 30.0, "b": 20.0, "c": 10.0}
PARTNERS = {"a": 1.0, "b": 6.0, "c": 24.0}
SIZES, ALIVE = list(PARTNERS.values()), list(OWN.values())
RESULTS = sum(OWN[value] * PARTNERS[value] for value in OWN)
MEMORY = 25.0


def run(window: NaiveSampling, windows: int = 200) -> tuple[float, float]:
    """Let both streams run; give the mean number of rows held, and of results by the sample."""
    generator = np.random.default_rng(3)
    events = [
        (float(time), stream, value)
        for stream, rates in ((1, OWN), (2, PARTNERS))
        for value, rate in rates.items()
        for time in generator.random(generator.poisson(rate * windows)) * windows
    ]
    held = []
    for time, stream, value in sorted(events):
        if stream == 1:
            window.arrive(time, value)
            held.append(len(window.held))  # random arrivals see the mean
        else:
            window.probe(time, value)
    estimate = sum(s1.weight for s1, _ in window.sample) / (windows - 0.5)
    # A row that has just come is counted as well; the first window fills.
    return float(np.mean(held[60:])), estimate


def test_eq_cluster_takes_the_memory_and_is_unbiased() -> None:
    fraction = fraction_of_clusters(MEMORY, sum(ALIVE))
    held, estimate = run(NaiveEqCluster(1.0, np.random.default_rng(4), fraction=fraction))
    assert held == pytest.approx(MEMORY + fraction, rel=0.05)
    assert estimate == pytest.approx(RESULTS, rel=0.05)


def test_pps_cluster_takes_the_memory_and_is_unbiased() -> None:
    factor = fraction_by_size(MEMORY, SIZES, ALIVE)
    assert cluster_chances(factor, SIZES).max() == 1  # the printed formula would not fill memory
    window = NaivePpsCluster(
        1.0, np.random.default_rng(5), factor=factor, matches=PARTNERS.__getitem__
    )
    held, estimate = run(window)
    assert held == pytest.approx(MEMORY, rel=0.05)
    assert estimate == pytest.approx(RESULTS, rel=0.05)


def test_uniform_takes_the_memory() -> None:
    matches = np.array(SIZES)
    fraction = solve_fraction(
        MEMORY, lambda p: float(np.array(ALIVE) @ uniform_share(p, matches, matches))
    )
    window = NaiveUniform(
        1.0, np.random.default_rng(6), fraction=fraction, matches=PARTNERS.__getitem__
    )
    held, estimate = run(window)
    # Random matches need less memory than even ones, and some occur after the row has left.
    assert 0.8 * MEMORY < held < MEMORY
    assert 0.8 * RESULTS < estimate < RESULTS

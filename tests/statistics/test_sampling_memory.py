"""How many rows UNIFORM holds: against plain sums, and against Fig. 4 itself."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.statistics.sampling_memory import (
    mean_for,
    uniform_share,
    uniform_share_at_random,
    uniform_share_by_age,
    uniform_variance,
)
from penstock.testing import bell, decreasing, increasing
from tests.oracles.naive_sampling import NaiveUniform, Rounding

if TYPE_CHECKING:
    from collections.abc import Callable

Floats = npt.NDArray[np.float64]

# Simulated for each mean: with a share of 0.1, the least here, its standard error is 2.1 %, and
# 5 % is more than twice that; with a share of 0.4 it is 0.9 %.
TUPLES = 20_000

FRACTIONS = st.floats(-9, 0).map(lambda power: 10**power)
MATCHES = st.one_of(st.floats(0, 60), st.integers(0, 60).map(float))
LIMITS = st.integers(0, 60)
CURVES = st.lists(st.one_of(st.integers(0, 4).map(float), st.floats(0, 4)), max_size=9).map(
    lambda matches: np.concatenate([[0.0], np.cumsum(matches)])
)


def plain_share(fraction: float, matches: float, limit: int) -> float:
    """The sum over the last chosen match, term by term."""
    return math.fsum(
        fraction * (1 - fraction) ** (limit - i) * (min(i / matches, 1) if matches else 1)
        for i in range(1, limit + 1)
    )


def plain_share_by_age(fraction: float, cumulative: Floats, limit: int) -> float:
    """Theorem 4.3, term by term."""

    def inverse(m: int) -> float:
        for k in range(1, parts + 1):
            if cumulative[k] >= m * (1 - 1e-9):
                step = cumulative[k] - cumulative[k - 1]
                return min(k - 1 + (m - float(cumulative[k - 1])) / float(step), float(k))
        return parts

    parts = cumulative.size - 1
    chances = [fraction * (1 - fraction) ** (limit - i) for i in range(1, limit + 1)]
    ages = [inverse(i) for i in range(1, limit + 1)]
    return math.fsum(c * age for c, age in zip(chances, ages, strict=True)) / max(parts, 1)


def poisson_share(fraction: float, matches: float, limit: int) -> float:
    """The mean share for Poisson matches: all their numbers, term by term."""
    numbers = range(1, int(matches + 12 * math.sqrt(matches) + 30))
    return math.fsum(
        math.exp(x * math.log(matches) - matches - math.lgamma(x + 1))
        * x
        * plain_share(fraction, x, limit)
        / matches
        for x in numbers
    )


def times_held(
    ages: list[list[float]],
    fraction: float,
    matches: float,
    rounding: Rounding = "down",
    seed: int = 0,
) -> list[float]:
    """How long Fig. 4 holds each of many tuples, given the ages, of 1, at which each matches."""
    generator = np.random.default_rng(seed)
    times = []
    for of_one in ages:
        window = NaiveUniform(
            1.0, generator, fraction=fraction, matches=lambda _: matches, rounding=rounding
        )
        window.arrive(0.0, "a")
        until = 0.0 if not window.held else 1.0
        for age in of_one:
            window.probe(age, "a")
            if not window.held:
                until = min(until, age)
        times.append(until)
    return times


def test_two_matches_by_hand() -> None:
    # The second is chosen with 1/4; else the first, at half of the life, with 1/4.
    assert uniform_share(0.25, 2) == pytest.approx(0.25 + 0.75 * 0.25 / 2)
    # Two and a half, of which the third never comes.
    assert uniform_share(0.25, 2.5, 3) == pytest.approx(
        0.25 + 0.75 * 0.25 * 2 / 2.5 + 0.75**2 * 0.25 * 1 / 2.5
    )


def test_an_age_curve_by_hand() -> None:
    # The matches come at the ages of 1, 2, 2.5, 3 and 4 quarters.
    by_hand = 4 / 2 + 3 / 4 + 2.5 / 8 + 2 / 16 + 1 / 32
    assert uniform_share_by_age(0.5, [0, 1, 2, 4, 5], 5) == pytest.approx(by_hand / 4)
    # Six are awaited: the sixth takes a whole life.
    more = uniform_share_by_age(0.5, [0, 1, 2, 4, 5], 6)
    assert more == pytest.approx(1 / 2 + by_hand / 4 / 2)
    # Two come at once, and then none.
    assert uniform_share_by_age(1.0, [0, 2, 2, 2], [0, 1, 2, 3]).tolist() == pytest.approx(
        [0, 1 / 6, 1 / 3, 1]
    )
    assert uniform_share_by_age([0.5, 1.0], [0.0], 3).tolist() == [0.0, 0.0]


@pytest.mark.parametrize("fraction", [1e-9, 0.01, 0.3, 0.999, 1.0])
@pytest.mark.parametrize("matches", [0.2, 1, 7.5, 40, 1e6])
def test_without_a_limit_it_is_theorem_4_2(fraction: float, matches: float) -> None:
    p, q, n = np.longdouble(fraction), 1 - np.longdouble(fraction), np.longdouble(matches)
    theorem = float(1 - q * (1 - q**n) / (p * n))
    # The formula as printed loses its digits where p is small; 80 bits leave 1e-19 / p^2 of them.
    assert uniform_share(fraction, matches) == pytest.approx(theorem, rel=1e-9, abs=1e-10)
    if fraction * matches < 1e-6:
        # There the two terms that are left of it are p (n + 1) / 2.
        assert uniform_share(fraction, matches) == pytest.approx(fraction * (matches + 1) / 2)


@given(FRACTIONS, MATCHES, LIMITS)
def test_with_a_limit_it_is_the_plain_sum(fraction: float, matches: float, limit: int) -> None:
    found = float(uniform_share(fraction, matches, limit))
    assert found == pytest.approx(plain_share(fraction, matches, limit), rel=1e-8)


@given(FRACTIONS, CURVES, LIMITS)
def test_by_age_it_is_the_plain_sum(fraction: float, cumulative: Floats, limit: int) -> None:
    found = float(uniform_share_by_age(fraction, cumulative, limit))
    if cumulative.size == 1:
        assert found == 0
    else:
        plain = plain_share_by_age(fraction, cumulative, limit)
        assert found == pytest.approx(plain, rel=1e-8)


@given(FRACTIONS, st.integers(1, 60), st.integers(1, 12), LIMITS)
def test_an_even_age_curve_is_the_frequency_model(
    fraction: float, matches: int, parts: int, limit: int
) -> None:
    even = np.linspace(0, matches, parts + 1)
    found = float(uniform_share_by_age(fraction, even, limit))
    assert found == pytest.approx(float(uniform_share(fraction, matches, limit)), rel=1e-8)


@given(FRACTIONS, FRACTIONS, MATCHES, LIMITS, CURVES)
def test_it_is_a_share_and_rises_with_the_fraction_and_the_limit(
    one: float,
    other: float,
    matches: float,
    limit: int,
    cumulative: Floats,
) -> None:
    fractions = np.array([[0.0], [min(one, other)], [max(one, other)], [1.0]])
    limits = np.array([0, limit, limit + 1, limit + 9])
    for shares in (
        uniform_share(fractions, matches, limits),
        uniform_share_at_random(fractions, matches, limits),
        uniform_share_by_age(fractions, cumulative, limits),
    ):
        assert (shares >= 0).all()
        assert (shares <= 1 + 1e-12).all()
        assert (np.diff(shares, axis=0) >= -1e-12).all()
        assert (np.diff(shares, axis=1) >= -1e-12).all()
        assert not shares[0].any()
        assert not shares[:, 0].any()


@given(MATCHES, LIMITS)
def test_a_fraction_of_one_holds_a_tuple_until_the_limit_is_reached(
    matches: float, limit: int
) -> None:
    until = min(limit / matches, 1) if matches else float(limit > 0)
    assert uniform_share(1.0, matches, limit) == pytest.approx(until)
    assert uniform_share(1.0, matches) == 1.0


def test_extremes() -> None:
    tiny, huge = 5e-324, 1e15
    assert uniform_share(0.0, [0, 1, huge]).tolist() == [0, 0, 0]
    assert uniform_share(0.5, [0, tiny]) == pytest.approx(1 - math.log(2))
    assert uniform_share(0.5, huge) == pytest.approx(1)
    assert uniform_share(1e-12, 1e12) == pytest.approx(1 / math.e)
    assert uniform_share(0.25, [0, tiny], 2) == pytest.approx(1 - 0.75**2)
    assert uniform_share(0.25, huge, 2) == pytest.approx(plain_share(0.25, huge, 2))
    assert uniform_share_at_random(0.25, [0, tiny], 2) == pytest.approx(1 - 0.75**2)
    assert uniform_share_at_random(0.25, huge, 2) == pytest.approx(plain_share(0.25, huge, 2))


@pytest.mark.parametrize("fraction", [0.1, 0.3, 0.9])
@pytest.mark.parametrize("matches", [1, 6, 25])
def test_figure_4_holds_as_many_rows_as_theorem_4_2_says(fraction: float, matches: int) -> None:
    ages = [[i / matches for i in range(1, matches + 1)]] * TUPLES
    mean = float(np.mean(times_held(ages, fraction, matches)))
    assert mean == pytest.approx(float(uniform_share(fraction, matches)), rel=0.05)


@pytest.mark.parametrize(("rounding", "limit"), [("down", 3), ("up", 4)])
def test_figure_4_with_a_number_that_is_not_whole(rounding: Rounding, limit: int) -> None:
    ages = [[i / 3.6 for i in range(1, 4)]] * TUPLES
    mean = float(np.mean(times_held(ages, 0.3, 3.6, rounding)))
    assert mean == pytest.approx(float(uniform_share(0.3, 3.6, limit)), rel=0.05)


def test_figure_4_rounding_at_random_is_the_mixture() -> None:
    ages = [[i / 3.6 for i in range(1, 4)]] * TUPLES
    mean = float(np.mean(times_held(ages, 0.3, 3.6, "random")))
    down, up = uniform_share(0.3, 3.6, [3, 4])
    assert mean == pytest.approx(0.4 * down + 0.6 * up, rel=0.05)


@pytest.mark.parametrize("fraction", [0.1, 0.3, 0.9])
@pytest.mark.parametrize("shape", [increasing, decreasing, bell])
def test_figure_4_holds_as_many_rows_as_theorem_4_3_says(
    fraction: float, shape: Callable[[int], Floats]
) -> None:
    curve = np.asarray(shape(20), np.float64)
    cumulative = np.concatenate([[0.0], np.cumsum(curve * 10 / curve.sum())])
    at = np.interp(np.arange(1, 11) * (1 - 1e-9), cumulative, np.arange(21)) / 20
    mean = float(np.mean(times_held([at.tolist()] * TUPLES, fraction, 10)))
    expected = float(uniform_share_by_age(fraction, cumulative, 10))
    assert mean == pytest.approx(expected, rel=0.05)


# n and N; the error of `uniform_share` for matches at random, the largest for p from 0.01 to 0.9,
# and the share of the results of a row before it is discarded for good.
AT_RANDOM = [
    (0.1, 1, 0.05, 0.95),  # rounded up
    (0.3, 1, 0.16, 0.86),
    (1.0, 1, 0.58, 0.63),
    (2.5, 2, 0.22, 0.65),  # rounded down
    (2.5, 3, 0.20, 0.84),
    (10.0, 10, 0.14, 0.87),
    (30.0, 30, 0.08, 0.93),
    (100.0, 100, 0.04, 0.96),
    (0.1, 2, 0.03, 1.00),  # n + 2 sqrt(n) + 1, rounded up
    (0.3, 3, 0.05, 1.00),
    (1.0, 4, 0.14, 1.00),
    (2.5, 7, 0.08, 1.00),
    (10.0, 18, 0.04, 1.00),
    (30.0, 42, 0.02, 1.00),
    (100.0, 121, 0.01, 1.00),
]


@pytest.mark.parametrize(("matches", "limit", "error", "given_"), AT_RANDOM)
def test_matches_at_random_take_less_memory_than_even_ones(
    matches: float, limit: int, error: float, given_: float
) -> None:
    fractions = [0.01, 0.1, 0.5, 0.9]
    exact = np.array([poisson_share(p, matches, limit) for p in fractions])
    even = uniform_share(fractions, matches, limit) / exact - 1
    assert (even > -1e-9).all()
    assert even.max() == pytest.approx(error, abs=0.006)
    # Of a fraction of 1, the time until the limit is reached is the share of the results given.
    assert poisson_share(1.0, matches, limit) == pytest.approx(given_, abs=0.006)
    found = uniform_share_at_random(fractions, matches, limit) / exact - 1
    assert np.abs(found).max() < (0.02 if limit >= matches + 2 * math.sqrt(matches) + 1 else 0.06)


@pytest.mark.parametrize("fraction", [0.1, 0.5])
@pytest.mark.parametrize(("matches", "limit"), [(1.0, 1), (1.0, 4), (5.0, 6), (20.0, 20)])
def test_figure_4_with_matches_at_random(fraction: float, matches: float, limit: int) -> None:
    generator = np.random.default_rng(1)
    ages = [
        np.sort(generator.random(number)).tolist() for number in generator.poisson(matches, TUPLES)
    ]
    mean = float(np.mean(times_held(ages, fraction, limit)))
    # A share of 0.063 is the least: its standard error is 2.7 %.
    assert mean == pytest.approx(poisson_share(fraction, matches, limit), rel=0.05)


def test_the_number_of_rows_held_is_a_poisson_number() -> None:
    """Tuples that come at random, each with matches of its own."""
    windows, rate = 2_000, 15
    generator = np.random.default_rng(2)
    came = np.sort(generator.random(generator.poisson(windows * rate))) * windows
    even = [[i / 8 for i in range(1, 9)]] * came.size
    gone = came + times_held(even, 0.2, 8)
    # Two instants that are a window apart have no row in common.
    held = [int(((came <= t) & (t < gone)).sum()) for t in np.arange(1, windows)]
    mean = rate * float(uniform_share(0.2, 8))
    # Of 2,000 numbers: standard errors of 0.9 % of the mean and 3.3 % of the variance.
    assert np.mean(held) == pytest.approx(mean, rel=0.03)
    assert np.var(held) == pytest.approx(mean, rel=0.1)
    more = np.mean([number > 12 for number in held])
    poisson = 1 - math.fsum(math.exp(-mean) * mean**k / math.factorial(k) for k in range(13))
    assert more == pytest.approx(poisson, abs=0.02)


@pytest.mark.parametrize("chance", [0.01, 0.05, 0.2])
@pytest.mark.parametrize("rows", [0, 1, 2, 10, 50, 150])
def test_more_rows_than_fit_are_as_seldom_as_was_asked_for(rows: int, chance: float) -> None:
    mean = mean_for(rows, chance)
    terms = [math.exp(k * math.log(mean) - mean - math.lgamma(k + 1)) for k in range(rows + 1)]
    more = 1 - math.fsum(terms)
    # For one or two rows the mean is on the safe side.
    assert more == pytest.approx(chance, rel=0.03) or (rows in {1, 2} and more < chance)


def test_the_mean_for_no_rows_is_above_zero() -> None:
    assert mean_for(0) == mean_for(-5) == pytest.approx(-math.log(0.95))
    assert mean_for(1, 1e-6) > 0
    means = [mean_for(rows) for rows in range(300)]
    assert (np.diff(means) > 0).all()
    assert all(mean < rows for rows, mean in enumerate(means) if rows)


@given(fraction=FRACTIONS, matches=st.integers(1, 40), beyond=st.integers(0, 20))
def test_the_variance_of_rows_that_arrive_evenly(
    fraction: float, matches: int, beyond: int
) -> None:
    """The integral of h (1 - h) over ages, h the chance to be held at an age."""
    limit = matches + beyond
    left = limit - np.arange(matches)  # matches to come, between one match and the next
    held = 1 - (1 - fraction) ** left.astype(float)
    found = uniform_variance(fraction, lambda p: uniform_share(p, matches, limit))
    assert float(found) == pytest.approx(float(np.mean(held * (1 - held))), rel=1e-6, abs=1e-9)
    share = float(uniform_share(fraction, matches, limit))
    assert float(found) <= share * (1 - share) + 1e-9  # the bound for random matches
    curve = np.arange(matches + 1.0)
    by_age = uniform_variance(fraction, lambda p: uniform_share_by_age(p, curve, limit))
    assert float(by_age) == pytest.approx(float(found), rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("is_even", [True, False])
def test_the_number_of_rows_held_varies_so_much(is_even: bool) -> None:
    """Held at one time, in 4,000 runs: evenly, as the formula says; at random, as Poisson."""
    draw, matches, fraction, alive = np.random.default_rng(1), 5, 0.2, 200
    counts = []
    for _ in range(4_000):
        rows = alive if is_even else draw.poisson(alive)
        ages = (np.arange(rows) + draw.random()) / rows if is_even else draw.random(rows)
        chosen = draw.random((rows, matches)) < fraction
        places = np.arange(1, matches + 1) / matches
        last = np.max(chosen * places, axis=1)
        counts.append(np.count_nonzero(last > ages))
    share = float(uniform_share(fraction, matches))
    variance = float(uniform_variance(fraction, lambda p: uniform_share(p, matches)))
    assert np.mean(counts) == pytest.approx(alive * share, rel=0.02)
    assert np.var(counts) == pytest.approx(alive * (variance if is_even else share), rel=0.1)

"""The work of a uniform sample: against rows that are followed one by one, and against a join."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.statistics.work_output import WorkModel
from penstock.statistics.work_uniform import (
    Arrivals,
    matches_of,
    uniform_compared,
    uniform_fraction,
    uniform_inserted,
    uniform_work,
)
from tests.engine.support import examples

if TYPE_CHECKING:
    from collections.abc import Iterator

ARRIVALS = get_args(Arrivals)
COSTS = {"results": (1.0, 0.0), "probes": (0.0, 1.0), "both": (0.5, 0.5)}

# Rows that are followed for each mean: a share of 0.1 then has a standard error of 2 %.
ROWS = 20_000


def follow(
    fraction: float, matches: float, arrivals: str, generator: np.random.Generator
) -> Iterator[tuple[bool, int]]:
    """Yield for each row whether it is inserted, and how many matches find it."""
    for _ in range(ROWS):
        number = int(matches) if arrivals == "regular" else generator.poisson(matches)
        drawn = np.flatnonzero(generator.random(number) < fraction)
        yield drawn.size > 0, int(drawn[-1]) + 1 if drawn.size else 0


@pytest.mark.parametrize("arrivals", ARRIVALS)
@pytest.mark.parametrize(
    ("fraction", "matches"), [(0.1, 1.0), (0.1, 10.0), (0.5, 3.0), (0.02, 60.0), (1.0, 2.0)]
)
def test_rows_that_are_followed_one_by_one(
    fraction: float, matches: float, arrivals: Arrivals
) -> None:
    inserted, compared = np.array(
        list(follow(fraction, matches, arrivals, np.random.default_rng(1)))
    ).T
    by_formula = uniform_inserted(fraction, matches, arrivals=arrivals)
    assert inserted.mean() == pytest.approx(float(by_formula), rel=0.07)
    found = uniform_compared(fraction, matches, arrivals=arrivals)
    assert compared.mean() == pytest.approx(float(found), rel=0.07)


def stream(
    rates: np.ndarray, duration: float, arrivals: str, generator: np.random.Generator
) -> list[tuple[float, int]]:
    """Return times and values in order: each value at its own rate."""
    rows = []
    for value, rate in enumerate(rates):
        if arrivals == "regular":
            times = np.arange(generator.random() / rate, duration, 1 / rate)
        else:
            times = generator.random(generator.poisson(rate * duration)) * duration
        rows += [(float(time), value) for time in times]
    return sorted(rows)


@pytest.mark.parametrize("arrivals", ARRIVALS)
def test_a_join_row_by_row(arrivals: Arrivals) -> None:
    """Draw each result by itself, hold rows until their last, and count the steps of a join."""
    fraction, duration = 0.3, 400.0
    generator = np.random.default_rng(3)
    wanted = np.array([[4.0, 1.0, 0.5], [2.0, 3.0, 1.0]])
    streams = [stream(each, duration, arrivals, generator) for each in wanted]
    # As many as came: otherwise chance decides about 5 % of the results.
    rates = np.array([np.bincount([value for _, value in rows]) for rows in streams]) / duration
    model = WorkModel(rates, (2.0, 4.0), insert=1.0, result=1.0)
    inserted = compared = drawn = 0
    for own, other, life in zip(streams, streams[::-1], model.windows, strict=True):
        for time, value in own:
            coins = [
                generator.random() < fraction
                for when, what in other
                if what == value and time < when <= time + life
            ]
            if any(coins):
                inserted += 1
                compared += len(coins) - coins[::-1].index(True)
                drawn += sum(coins)
    work = {
        "results": inserted + drawn,
        "probes": inserted + compared,
        "both": inserted + 0.5 * (compared + drawn),
    }
    for cost, (result, compare) in COSTS.items():
        expected = uniform_work(
            replace(model, result=result), fraction, compare=compare, arrivals=arrivals
        )
        # Windows of the last rows are cut off: 1 % of them.
        assert work[cost] / duration == pytest.approx(expected, rel=0.04)


_RATE = st.floats(0.01, 50.0)


@st.composite
def models(draw: st.DrawFn) -> WorkModel:
    values = draw(st.integers(1, 4))
    rates = np.array([[draw(_RATE) for _ in range(values)] for _ in range(2)])
    windows = draw(st.floats(0.1, 20.0)), draw(st.floats(0.1, 20.0))
    return WorkModel(rates, windows, insert=draw(st.sampled_from([0.0, 0.1])), result=0.01)


@pytest.mark.parametrize("arrivals", ARRIVALS)
@given(model=models(), share=st.floats(0.02, 0.95))
@examples(40)
def test_the_fraction_is_that_for_which_there_is_enough_work(
    arrivals: Arrivals, model: WorkModel, share: float
) -> None:
    whole = uniform_work(model, 1.0, arrivals=arrivals)
    fraction = uniform_fraction(model, share * whole, arrivals=arrivals)
    assert 0.0 < fraction <= 1.0
    assert uniform_work(model, fraction, arrivals=arrivals) == pytest.approx(
        share * whole, rel=1e-6
    )
    assert uniform_fraction(model, whole * (1 + 1e-12), arrivals=arrivals) == 1.0


@given(model=models(), fraction=st.floats(1e-6, 1.0))
@examples(60)
def test_the_conservative_cost_is_never_below_that_of_results(
    model: WorkModel, fraction: float
) -> None:
    of_results = uniform_work(model, fraction)
    of_probes = uniform_work(replace(model, result=0.0), fraction, compare=model.result)
    assert of_results <= of_probes * (1 + 1e-9)
    assert of_probes <= model.full_work * (1 + 1e-9)


def test_of_rows_with_less_than_one_match_eq_22_finds_fewer_than_are_drawn() -> None:
    drawn = 0.5 * 0.5
    assert uniform_compared(0.5, 0.5, arrivals="regular") < drawn
    assert uniform_compared(0.5, 0.5) > drawn


@given(fraction=st.floats(1e-6, 0.999), matches=st.floats(0.0, 60.0))
@examples(60)
def test_at_random_fewer_rows_are_inserted(fraction: float, matches: float) -> None:
    """By Jensen's inequality, eq. 18 takes too few rows for superfluous where matches vary."""
    at_random = uniform_inserted(fraction, matches)
    assert at_random <= uniform_inserted(fraction, matches, arrivals="regular") + 1e-12


def test_values_without_partners_cost_nothing() -> None:
    model = WorkModel(np.array([[1.0, 2.0], [0.0, 2.0]]), (5.0, 5.0), insert=0.1, result=0.01)
    assert matches_of(model)[0, 0] == 0.0
    for arrivals in ARRIVALS:
        alone = replace(model, rates=model.rates[:, 1:])
        assert uniform_work(model, 0.3, arrivals=arrivals) == pytest.approx(
            uniform_work(alone, 0.3, arrivals=arrivals)
        )

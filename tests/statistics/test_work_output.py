"""What is put out for an amount of work: by formula, and against brute force."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.statistics.work_output import (
    Steps,
    WorkModel,
    by_partner,
    coin_flip,
    insert_no_probe,
    max_subset,
    probe_no_insert,
)
from tests.engine.support import examples

if TYPE_CHECKING:
    from collections.abc import Callable

WAYS = {
    "INP": insert_no_probe,
    "CF": coin_flip,
    "PNI": probe_no_insert,
    "max-subset": max_subset,
    "by-partner": by_partner,
}
SHARES = (0.2, 0.4, 0.6, 0.8)


def zipf(correlation: str) -> WorkModel:
    """100 values, Zipf 1, 40 and 60 rows a second, windows of 3 and 5 seconds."""
    left = 1.0 / np.arange(1, 101)
    left /= left.sum()
    right = {
        "direct": left,
        "inverse": left[::-1],
        "none": np.random.default_rng(1).permutation(left),
    }[correlation]
    return WorkModel(np.stack([40 * left, 60 * right]), (3.0, 5.0), insert=0.001, result=0.0002)


# Shares of the full output for 20, 40, 60 and 80 % of the work. Those for direct correlation and
# 40 % were computed by others from the paper; the rest follow from the same formulas.
@pytest.mark.parametrize(
    ("correlation", "way", "expected"),
    [
        ("direct", "INP", (0.00, 0.14, 0.43, 0.71)),
        ("direct", "CF", (0.13, 0.33, 0.55, 0.77)),
        ("direct", "PNI", (0.20, 0.40, 0.61, 0.80)),
        ("direct", "max-subset", (0.25, 0.50, 0.74, 0.93)),
        ("direct", "by-partner", (0.25, 0.50, 0.74, 0.93)),
        ("inverse", "INP", (0.00, 0.00, 0.00, 0.00)),
        ("inverse", "CF", (0.05, 0.19, 0.41, 0.69)),
        ("inverse", "PNI", (0.21, 0.41, 0.62, 0.81)),
        ("inverse", "max-subset", (0.24, 0.46, 0.66, 0.84)),
        ("inverse", "by-partner", (0.52, 0.67, 0.78, 0.90)),
    ],
)
def test_shares_of_the_full_output(correlation: str, way: str, expected: tuple[float, ...]) -> None:
    model = zipf(correlation)
    found = [
        model.output(WAYS[way](model, share * model.full_work)) / model.full_output
        for share in SHARES
    ]
    assert [round(share, 2) for share in found] == list(expected)


def test_by_partner_finds_twice_as_much_where_values_are_inversely_correlated() -> None:
    model = zipf("inverse")
    capacity = 0.2 * model.full_work
    best = model.output(by_partner(model, capacity))
    assert best >= 1.9 * model.output(max_subset(model, capacity))


_RATE = st.floats(0.05, 50.0)


@st.composite
def models(draw: st.DrawFn) -> tuple[WorkModel, float]:
    """A model, and a capacity below or above its full work."""
    values = draw(st.integers(1, 4))
    rates = np.array([[draw(_RATE) for _ in range(values)] for _ in range(2)])
    windows = draw(st.floats(0.1, 20.0)), draw(st.floats(0.1, 20.0))
    model = WorkModel(
        rates, windows, insert=draw(st.sampled_from([0.0, 0.001, 0.1])), result=draw(_RATE) / 100
    )
    return model, draw(st.floats(0.02, 1.3)) * model.full_work


@pytest.mark.parametrize("way", list(WAYS))
@given(given=models())
@examples(60)
def test_no_way_does_more_work_than_it_may(way: str, given: tuple[WorkModel, float]) -> None:
    model, capacity = given
    steps = WAYS[way](model, capacity)
    for chances in (steps.admit, steps.probe, steps.insert):
        assert np.all((chances >= 0.0) & (chances <= 1.0))
    assert model.work(steps) <= capacity * (1 + 1e-9)


@pytest.mark.parametrize("way", list(WAYS))
@given(given=models())
@examples(60)
def test_with_enough_work_all_rows_take_all_steps(way: str, given: tuple[WorkModel, float]) -> None:
    model, _ = given
    steps = WAYS[way](model, model.full_work * (1 + 1e-12))
    assert steps.admit.min() == steps.probe.min() == steps.insert.min() == 1.0


@given(given=models())
@examples(300)
def test_theorems_2_and_3(given: tuple[WorkModel, float]) -> None:
    """INP <= CF <= PNI; PNI is strictly better where the join is infeasible and C_u > 0."""
    model, capacity = given
    inp, cf, pni = (
        model.output(way(model, capacity)) for way in (insert_no_probe, coin_flip, probe_no_insert)
    )
    assert inp <= cf * (1 + 1e-9)
    assert cf <= pni * (1 + 1e-9)
    if model.full_work > 1.05 * capacity and model.insert > 0:
        assert cf < pni
    assert pni <= model.output(by_partner(model, capacity)) * (1 + 1e-9)


def best_of(model: WorkModel, capacity: float, steps: Callable[[float, float], Steps]) -> float:
    """Return the best output over a fine grid of chances for the two streams."""
    grid = np.linspace(0.0, 1.0, 41)
    found = 0.0
    for left, right in product(grid, grid):
        tried = steps(float(left), float(right))
        if model.work(tried) <= capacity:
            found = max(found, model.output(tried))
    return found


@pytest.mark.parametrize("correlation", ["direct", "inverse"])
@pytest.mark.parametrize("share", [0.2, 0.5, 0.8])
@pytest.mark.parametrize("way", ["CF", "INP", "PNI"])
def test_no_other_chances_are_better(way: str, share: float, correlation: str) -> None:
    model = zipf(correlation)
    capacity = share * model.full_work
    ones = np.ones(2)

    def steps(left: float, right: float) -> Steps:
        both = np.array([left, right])
        return {
            "CF": lambda: model.all_alike(admit=both, probe=ones, insert=ones),
            "INP": lambda: model.all_alike(admit=ones, probe=both, insert=ones),
            "PNI": lambda: model.all_alike(admit=ones, probe=ones, insert=both),
        }[way]()

    best = best_of(model, capacity, steps)
    mine = model.output(WAYS[way](model, capacity))
    assert best <= mine * (1 + 1e-9)
    assert mine <= best * 1.12 + 1e-9  # the grid has steps of 1/40


@pytest.mark.parametrize("boundary", ["probe-no-insert", "coin-flip", "insert-no-probe"])
def test_the_boundary_value_is_shed_by_lot(boundary: str) -> None:
    model = zipf("direct")
    capacity = 0.4 * model.full_work
    steps = max_subset(model, capacity, boundary=boundary)  # type: ignore[arg-type]
    partial = [
        value
        for value in range(100)
        if 0.0 < (steps.admit * steps.probe * steps.insert)[:, value].sum() < 2.0
    ]
    assert len(partial) == 1
    assert steps.admit[:, partial[0] + 1 :].max() == 0.0
    if boundary != "insert-no-probe":
        assert model.work(steps) == pytest.approx(capacity)


def test_values_that_match_nothing_are_not_taken_in_unless_all_fits() -> None:
    model = WorkModel(
        np.array([[1.0, 2.0, 0.0], [1.0, 0.0, 2.0]]), (5.0, 5.0), insert=0.1, result=0.01
    )
    assert max_subset(model, 0.9 * model.full_work).admit[:, 1:].max() == 0.0
    assert by_partner(model, 0.9 * model.full_work).insert[:, 1:].max() == 0.0
    assert max_subset(model, model.full_work).admit.min() == 1.0


def test_nothing_is_put_out_if_insertion_alone_is_too_much() -> None:
    model = zipf("direct")
    assert model.output(insert_no_probe(model, 0.0999)) == 0.0
    assert model.output(insert_no_probe(model, 0.1001)) > 0.0

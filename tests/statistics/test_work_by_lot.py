"""Shedding by lot, of any number of streams: against the formulas of two, and brute force."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.statistics.work_by_lot import LotModel, best_chances
from penstock.statistics.work_output import (
    Steps,
    WorkModel,
    coin_flip,
    insert_no_probe,
    probe_no_insert,
)
from tests.engine.support import examples

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.statistics.work_by_lot import Step

_FORMULAS: dict[Step, Callable[[WorkModel, float], Steps]] = {
    "admit": coin_flip,
    "probe": insert_no_probe,
    "insert": probe_no_insert,
}
_positive = st.floats(0.1, 10.0)


def _both(
    rates: tuple[float, float], windows: tuple[float, float], insert: float
) -> tuple[WorkModel, LotModel]:
    pair = WorkModel(np.array(rates)[:, None], windows, insert, 0.5, selectivity=0.3)
    # A row that arrives finds what waits of the other stream.
    found = pair.found[::-1].sum(axis=1)
    return pair, LotModel(np.array(rates), found, insert, 0.5)


@pytest.mark.parametrize("step", _FORMULAS)
@examples(40)
@given(
    rates=st.tuples(_positive, _positive),
    windows=st.tuples(_positive, _positive),
    insert=st.just(0.0) | st.floats(1e-6, 5.0),
    share=st.floats(0.05, 1.2),
)
def test_of_two_streams_it_is_as_good_as_the_formulas(
    step: Step,
    rates: tuple[float, float],
    windows: tuple[float, float],
    insert: float,
    share: float,
) -> None:
    pair, model = _both(rates, windows, insert)
    capacity = share * pair.full_work
    chances = best_chances(model, capacity, step)
    ones = np.ones(2)
    probe = {"admit": chances, "probe": chances, "insert": ones}[step]
    inserted = {"admit": chances, "probe": ones, "insert": chances}[step]
    by_formula = pair.output(_FORMULAS[step](pair, capacity))
    if step == "probe" and rates[0] * insert + rates[1] * insert > capacity:
        assert by_formula == 0.0  # inserting alone is too much
        return
    assert model.work(probe, inserted) <= capacity * (1 + 1e-6)
    assert model.output(probe, inserted) >= by_formula * (1 - 1e-6)
    if step != "admit":
        assert model.output(probe, inserted) <= by_formula * (1 + 1e-6)


@pytest.mark.parametrize("seed", range(20))
def test_of_three_streams_a_search_of_all_chances_is_hardly_better(seed: int) -> None:
    draw = np.random.default_rng(seed)
    rates, windows = draw.uniform(0.5, 5, 3), draw.uniform(0.5, 5, 3)
    held = rates * windows
    found = np.array([rates[s] * np.delete(held, s).prod() for s in range(3)]) * 0.1
    model = LotModel(rates, found, insert=draw.uniform(0, 3), result=0.2)
    ones = np.ones(3)
    capacity = draw.uniform(0.1, 0.9) * float(model.work(ones, ones))
    chances = best_chances(model, capacity, "insert")
    assert model.work(ones, chances) <= capacity * (1 + 1e-6)
    grid = np.array(list(product(np.linspace(0, 1, 26), repeat=3)))
    probe = np.ones_like(grid)
    fits = model.work(probe, grid) <= capacity
    assert model.output(ones, chances) >= 0.97 * model.output(probe, grid)[fits].max()


def test_no_chance_is_below_the_least() -> None:
    model = LotModel(np.ones(3), np.ones(3), insert=1.0, result=1.0)
    assert best_chances(model, 0.001, "insert", least=0.1).tolist() == [0.1, 0.1, 0.1]
    assert best_chances(model, 100.0, "insert", least=0.1).tolist() == [1.0, 1.0, 1.0]

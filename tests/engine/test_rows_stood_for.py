"""Rows for which others stand: in proportion to how long they have waited."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.engine.rows_stood_for import RowsStoodFor

LIVES = np.array([3.0, 5.0])


def filled(cuts: tuple[int, ...] = ()) -> RowsStoodFor:
    draws = np.random.default_rng(1)
    times, streams = np.sort(draws.uniform(0, 12, 400)), draws.integers(0, 2, 400)
    rows, covered = draws.uniform(0, 2, 400), draws.uniform(0, 1, 400)
    stood_for = RowsStoodFor(LIVES)
    for part in np.split(np.arange(400), cuts):
        stood_for.add_waiting(times[part], streams[part], rows[part], covered[part])
        stood_for.add_probing(streams[part], rows[part], covered[part])
    return stood_for


def test_nothing_is_missing_where_all_rows_stand_for_themselves() -> None:
    stood_for = RowsStoodFor(LIVES)
    assert stood_for.factors(0.0).tolist() == [1.0, 1.0]
    ones = np.ones(50)
    stood_for.add_waiting(np.linspace(0, 9, 50), np.arange(50) % 2, ones, ones)
    assert stood_for.factors(9.0).tolist() == [1.0, 1.0]


def test_rows_count_by_how_long_they_have_waited() -> None:
    # Two rows of the first stream: one has waited for a whole life, and one, for which no row
    # stands, for a third of one.
    stood_for = RowsStoodFor(LIVES)
    stood_for.add_waiting(np.array([1.0]), np.array([0]), np.ones(1), np.ones(1))
    stood_for.add_waiting(np.array([7.0]), np.array([0]), np.ones(1), np.zeros(1))
    assert stood_for.factors(8.0)[1] == pytest.approx(4 / 3, rel=0.02)
    assert stood_for.factors(8.0)[0] == 1.0
    assert stood_for.factors(70.0)[1] == pytest.approx(2.0)


def test_no_row_is_taken_to_stand_for_more_than_four_times_as_many() -> None:
    stood_for = RowsStoodFor(LIVES)
    stood_for.add_waiting(np.zeros(10), np.zeros(10, np.int64), np.ones(10), np.full(10, 0.01))
    assert stood_for.factors(3.0)[1] == 4.0


def test_sums_are_the_same_in_any_cut_and_after_a_restart() -> None:
    whole, cut = filled(), filled((1, 7, 200, 333))
    assert np.array_equal(whole.factors(12.0), cut.factors(12.0))
    again = RowsStoodFor(LIVES)
    again.restore(whole.save())
    assert np.array_equal(whole.factors(13.5), again.factors(13.5))

"""Calibrated frequencies: values are ranked by the past and counted in the future."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.capacity.calibration import calibrate

COUNTS = st.lists(
    st.tuples(st.integers(0, 5), st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=30
).filter(lambda rows: any(own for own, _, _ in rows))


@given(COUNTS)
def test_nothing_is_lost_and_the_most_matches_come_first(
    rows: list[tuple[int, int, int]],
) -> None:
    own, past, future = (np.array(column, float) for column in zip(*rows, strict=True))
    found = calibrate(own, past, future)
    assert found.own.sum() == pytest.approx(own.sum())
    assert (found.own * found.partner).sum() == pytest.approx((own * future).sum())
    assert (np.diff(found.partner) < 0).all()


@given(COUNTS)
def test_it_expects_no_more_than_with_a_known_future(rows: list[tuple[int, int, int]]) -> None:
    own, past, future = (np.array(column, float) for column in zip(*rows, strict=True))
    found = calibrate(own, past, future)
    best = np.argsort(-future)
    ideal = np.interp(
        np.cumsum(found.own),
        np.concatenate([[0], np.cumsum(own[best])]),
        np.concatenate([[0], np.cumsum((own * future)[best])]),
    )
    assert (np.cumsum(found.own * found.partner) <= ideal + 1e-9).all()


def test_frequencies_that_last_are_kept_as_they_are() -> None:
    shares = np.array([0.1, 0.6, 0.3])
    found = calibrate(np.full(3, 1 / 3), shares, shares)
    assert found.partner.tolist() == pytest.approx([0.6, 0.3, 0.1])


def test_neighbours_in_the_wrong_order_are_merged() -> None:
    found = calibrate(np.ones(4), np.array([4.0, 3, 2, 1]), np.array([5.0, 1, 3, 0]))
    assert found.partner.tolist() == [5, 2, 0]
    assert found.own.tolist() == [1, 2, 1]


def test_values_that_do_not_occur_are_left_out() -> None:
    found = calibrate(np.array([0.0, 1.0]), np.array([9.0, 1.0]), np.array([9.0, 1.0]))
    assert found.partner.tolist() == [1.0]
    none = calibrate(np.zeros(2), np.ones(2), np.ones(2))
    assert none.own.size == 0


def test_many_values_make_few_groups() -> None:
    ranks = np.linspace(1, 0, 10_000)
    found = calibrate(np.full(10_000, 1e-4), ranks, ranks)
    assert found.own.size <= 256
    assert found.own.sum() == pytest.approx(1.0)
    assert (found.own * found.partner).sum() == pytest.approx(0.5)

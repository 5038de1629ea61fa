"""Lags between streams: histograms, scores, join orders, sub-windows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import SpecificationError
from penstock.statistics.join_orders import join_orders
from penstock.statistics.lag_histogram import LagHistogram
from penstock.statistics.lag_scores import all_lag_scores, lag_scores, ranks_of
from penstock.statistics.sub_windows import SubWindows


def _histograms(seed: int = 1) -> list[LagHistogram]:
    draws = np.random.default_rng(seed)
    lags = [LagHistogram(-10.0, 10.0, buckets=40) for _ in range(3)]
    lags[0].add(np.zeros(1))
    lags[1].add(draws.normal(4.0, 1.0, 5_000))
    lags[2].add(draws.normal(6.0, 1.5, 5_000))
    return lags


class TestHistogram:
    @given(st.lists(st.floats(-10, 10), min_size=1), st.floats(-12, 12), st.floats(-12, 12))
    def test_shares_of_ranges_add_up(self, lags: list[float], one: float, other: float) -> None:
        histogram = LagHistogram(-10.0, 10.0, buckets=8)
        histogram.add(np.array(lags))
        low, high = sorted((one, other))
        below, inside, above = (
            histogram.share(-10.0, low),
            histogram.share(low, high),
            histogram.share(high, 10.0),
        )
        assert below + inside + above == pytest.approx(1.0)
        assert histogram.total == len(lags)

    def test_whole_buckets_have_what_was_counted(self) -> None:
        histogram = LagHistogram(-2.0, 2.0, buckets=4)
        histogram.add(np.array([-1.5, 0.5, 0.7, 5.0]))
        assert histogram.shares.tolist() == pytest.approx([1 / 3, 0, 2 / 3, 0])
        assert histogram.share(0.0, 0.5) == pytest.approx(1 / 3)

    def test_what_is_not_a_range_is_refused(self) -> None:
        with pytest.raises(SpecificationError, match="latest must be above earliest"):
            LagHistogram(5.0, 5.0, buckets=2)
        with pytest.raises(SpecificationError, match="buckets must be a whole number from 1"):
            LagHistogram(-5.0, 5.0, buckets=0)


class TestScores:
    def test_equation_1(self) -> None:
        lags = _histograms()
        scores = lag_scores(lags, 0, 1, length=2.0, count=5)
        for k in range(1, 6):
            assert scores[k - 1] == pytest.approx(lags[1].share(-2.0 * k, -2.0 * (k - 1)))

    def test_equation_2(self) -> None:
        lags = _histograms()
        scores = lag_scores(lags, 2, 1, length=2.0, count=5)
        for k in range(1, 6):
            naive = sum(
                share * float(lags[2].share(2.0 * (k - 1) + middle, 2.0 * k + middle))
                for share, middle in zip(lags[1].shares, lags[1].middles, strict=True)
            )
            assert scores[k - 1] == pytest.approx(naive)

    def test_equation_2_is_the_law_of_independent_lags(self) -> None:
        """A_{3,2} is the difference of two normal lags: of mean 2 and variance 1 + 2.25."""
        scores = lag_scores(_histograms(), 2, 1, length=2.0, count=5)
        draws = np.random.default_rng(7).normal(2.0, np.sqrt(3.25), 200_000)
        expected = np.histogram(draws, np.arange(0.0, 11.0, 2.0))[0] / draws.size
        # Histograms have 5,000 lags each, and buckets of half a unit.
        assert scores == pytest.approx(expected, abs=0.02)

    def test_a_row_that_comes_first_finds_nothing(self) -> None:
        scores = all_lag_scores(_histograms(), length=2.0, counts=np.array([5, 5, 5]))
        assert scores[0].sum() < 0.01
        assert scores[1, 0].sum() > 0.99
        # A lag of 6 is where the third sub-window ends.
        assert scores[2, 0, 2:4].sum() > 0.8

    def test_shorter_windows_have_no_scores_beyond_their_last_part(self) -> None:
        scores = all_lag_scores(_histograms(), length=2.0, counts=np.array([5, 3, 5]))
        assert scores.shape == (3, 3, 5)
        assert (scores[:, 1, 3:] == 0.0).all()

    def test_ties_go_to_the_more_recent(self) -> None:
        assert ranks_of(np.zeros(4)).tolist() == [0, 1, 2, 3]


def test_join_orders_are_by_direction() -> None:
    selectivity = np.array([[0.0, 0.3, 0.1], [0.0, 0.0, 0.0], [0.2, 0.1, 0.9]])
    assert join_orders(selectivity).tolist() == [[2, 1], [0, 2], [1, 0]]


class TestSubWindows:
    @given(st.integers(1, 40), st.floats(0.01, 100.0))
    def test_a_whole_number_of_them_is_not_rounded_up(self, count: int, length: float) -> None:
        windows = SubWindows(count * length, length)
        assert windows.count == count
        assert windows.blocks == count + 1
        assert windows.ages(count)[1] == pytest.approx(count * length)

    @given(st.integers(1, 5), st.floats(0.0, 2.0))
    def test_parts_are_one_sub_window(self, number: int, elapsed: float) -> None:
        """Block k holds ages from elapsed + b (k - 2) to elapsed + b (k - 1)."""
        windows = SubWindows(10.0, 2.0)
        (first, older), (second, newer) = windows.parts(number, elapsed=elapsed)
        assert (first, second) == (number, number + 1)
        assert older + newer == pytest.approx(1.0)
        low, high = windows.ages(number)
        assert elapsed + 2.0 * (number - 1) - 2.0 * older == pytest.approx(low)
        assert elapsed + 2.0 * (number - 1) + 2.0 * newer == pytest.approx(high)

    def test_what_is_not_a_length_is_refused(self) -> None:
        with pytest.raises(SpecificationError, match="length must be a finite number above 0"):
            SubWindows(10.0, 0.0)

"""A contest: the candidate that surely finds more is followed, and not back and forth."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.statistics.contest import Contest


def followed(found: np.ndarray, fade: float = 0.9) -> list[int]:
    """Return which candidate is followed after each period."""
    contest = Contest(found.shape[1])
    names = []
    for each in found:
        contest.add(each, fade)
        contest.followed = contest.best()
        names.append(contest.followed)
    return names


@pytest.mark.parametrize("seed", range(5))
def test_equal_candidates_hardly_ever_take_turns(seed: int) -> None:
    draw = np.random.default_rng(seed)
    names = followed(draw.poisson(100, (400, 4)).astype(float))
    assert np.count_nonzero(np.diff(names[8:])) <= 4


@pytest.mark.parametrize("seed", range(5))
def test_the_better_one_is_found(seed: int) -> None:
    draw = np.random.default_rng(seed)
    common = draw.poisson(100, (60, 1)).astype(float)
    found = common * np.array([1.0, 1.1, 0.8]) + draw.normal(0, 3, (60, 3))
    assert followed(found)[10:] == [1] * 50


def test_differences_count_not_what_all_find_together() -> None:
    """Periods differ tenfold, but one candidate always has 5 % more."""
    whole = np.array([100.0, 1000.0] * 10)
    assert followed(np.stack([whole, 1.05 * whole], axis=1))[-1] == 1


def test_a_lead_in_bursts_is_followed_though_few_periods_have_it() -> None:
    """In every sixth period there are a hundred times as many results, and two fifths more of one.

    The difference is about two standard deviations of such periods, however long it lasts.
    """
    found = np.full((96, 2), 10.0)
    found[30::6] = (1000.0, 1400.0)
    names = followed(found, fade=0.958)
    assert names[29] == 0
    assert names[-1] == 1
    assert np.count_nonzero(np.diff(names)) == 1


def test_one_percent_is_not_worth_a_change() -> None:
    contest = Contest(2)
    for _ in range(9):
        contest.add(np.array([100.0, 100.0]), 1.0)
        contest.followed = contest.best()
    assert contest.is_decided
    for _ in range(50):
        contest.add(np.array([100.0, 100.9]), 0.9)
    assert contest.best() == 0


def test_a_copy_has_found_the_same() -> None:
    contest = Contest(3)
    contest.add(np.array([1.0, 2.0, 3.0]), 1.0)
    contest.copy(2, 0)
    assert contest.totals.tolist() == [3.0, 2.0, 3.0]
    contest.add(np.array([5.0, 1.0, 5.0]), 1.0)
    contest.add(np.array([5.0, 1.0, 5.0]), 1.0)
    assert contest.best() == 0


def test_saved_and_restored_it_goes_on() -> None:
    draw = np.random.default_rng(1)
    found = draw.poisson(50, (20, 3)).astype(float)
    whole, first = Contest(3), Contest(3)
    for each in found[:10]:
        whole.add(each, 0.9)
        first.add(each, 0.9)
    again = Contest(3)
    again.restore(first.save())
    for each in found[10:]:
        whole.add(each, 0.9)
        again.add(each, 0.9)
    assert again.totals.tolist() == whole.totals.tolist()
    assert again.best() == whole.best()


def test_what_was_found_while_windows_fill_is_soon_forgotten() -> None:
    """One candidate has far more in the first window, and another some more from then on."""
    filling, later = np.tile([1000.0, 5000.0], (8, 1)), np.tile([300.0, 250.0], (24, 1))
    names = followed(np.concatenate([filling, later]) + np.arange(32)[:, None] % 3)
    assert names[7] == 1
    assert names[12:] == [0] * 20

"""When work is reviewed, and when its account is only looked at."""

from __future__ import annotations

import json

import numpy as np
import pytest

from penstock.engine.pace import Pace
from penstock.statistics.work_account import WorkAccount

LIVES = np.array([100.0, 50.0])


def make(*, may_rest: bool = True, observes_all: bool = False) -> tuple[Pace, WorkAccount]:
    account = WorkAccount(share=1.0, burst=10.0)
    account.book(time=0.0, spent=0.0)
    pace = Pace(account, LIVES, may_rest=may_rest, observes_all=observes_all)
    pace.begin(0.0)
    return pace, account


def after(pace: Pace, account: WorkAccount, *, spent: float, sheds: bool = False) -> None:
    """Review after 1,000 arrivals in 10 units of time, with 5,000 rows in memory."""
    account.book(time=10.0, spent=spent)
    pace.review(1000.0, 10.0, rate=100.0, held=5000, sheds=sheds)


def test_the_first_reviews_come_soon_and_then_there_are_16_in_the_shortest_life() -> None:
    pace, account = make()
    assert pace.interval == 8
    seen = []
    for number in range(1, 8):
        account.book(time=10.0 * number, spent=10.0)
        pace.review(1000.0 * number, 10.0 * number, rate=100.0, held=5000, sheds=True)
        seen.append(pace.interval)
    assert seen == [16, 32, 64, 128, 256, 256, 256]  # a power of 2 up to 100 x 50 / 16


def test_where_little_is_done_some_rows_are_observed_and_the_next_look_is_paid_for() -> None:
    pace, account = make()
    after(pace, account, spent=0.5)
    assert pace.rests
    # 9.5 are left, and 1,000 rows have cost 0.5: even if each costs five times as much, 3,800.
    assert pace.interval == 3800
    assert pace.every == 31


def test_no_more_arrive_until_the_next_look_than_are_in_memory() -> None:
    pace, account = make()
    account.book(time=10.0, spent=0.5)
    pace.review(1000.0, 10.0, rate=100.0, held=700, sheds=False)
    assert pace.interval == 700


@pytest.mark.parametrize(
    ("spent", "may_rest", "sheds"), [(6.0, True, False), (0.5, False, False), (0.5, True, True)]
)
def test_where_much_is_done_or_rows_are_shed_all_are_observed(
    spent: float, may_rest: bool, sheds: bool
) -> None:
    pace, account = make(may_rest=may_rest)
    after(pace, account, spent=spent, sheds=sheds)
    assert not pace.rests
    assert pace.interval == 16


def test_a_look_goes_on_until_work_gets_dear() -> None:
    pace, account = make()
    after(pace, account, spent=0.5)
    account.book(time=48.0, spent=1.9)
    assert pace.look(4800.0, 48.0, held=5000)
    account.book(time=49.0, spent=0.9)
    assert not pace.look(4900.0, 49.0, held=5000)
    # The review that follows sees the same: it does not rest.
    pace.review(4900.0, 49.0, rate=100.0, held=5000, sheds=False)
    assert not pace.rests


def test_a_review_is_due_after_131072_arrivals_whatever_they_cost() -> None:
    pace, account = make()
    after(pace, account, spent=0.5)
    account.book(time=2000.0, spent=1.0)
    assert pace.look(100_000.0, 2000.0, held=10**6)
    account.book(time=4000.0, spent=1.0)
    assert not pace.look(1000.0 + 131_072, 4000.0, held=10**6)


def test_once_rows_were_shed_all_are_observed_for_good() -> None:
    pace, account = make()
    pace.shed()
    after(pace, account, spent=0.5)
    assert not pace.rests
    assert pace.interval == 3800


def test_saved_and_restored_it_goes_on() -> None:
    pace, account = make()
    after(pace, account, spent=0.5)
    other, _ = make()
    other.restore(json.loads(json.dumps(pace.save())))
    assert other.save() == pace.save()
    assert (other.interval, other.every) == (pace.interval, pace.every)

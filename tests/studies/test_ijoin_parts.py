"""The parts of `kulkarni08`'s schemes: priority, decay, penalty, maturity, fairness, readings."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest

from penstock.errors import SpecificationError
from penstock.studies.by_the_book import (
    Adaptive,
    Arrivals,
    EveryFew,
    Exact,
    Fifo,
    Greedy,
    Ijoin,
    Outcome,
    Rand,
    Redefinition,
    Size,
    Successive,
    fairness_index,
    simulate,
)
from penstock.studies.by_the_book.ijoin import residence_priority
from penstock.studies.by_the_book.outcome import Fate
from penstock.studies.importance_streams import ImportanceStreams

if TYPE_CHECKING:
    from penstock.studies.by_the_book.memory import Scheme
    from penstock.studies.by_the_book.recomputation import Recomputation
    from penstock.studies.by_the_book.simulate import WindowReading

NO_ROWS = Arrivals.of([], [], [])


def floats(*numbers: float) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return np.array(numbers, np.float64)


def priority(
    scheme: Ijoin, importance: float, matches: float, age: float, idle: float = 0.0
) -> float:
    return float(
        residence_priority(
            scheme, floats(importance), floats(matches), floats(age), floats(idle)
        ).item()
    )


# --- Residence priority


def test_priority_is_importance_times_matches_per_age() -> None:
    assert priority(Ijoin(), importance=6, matches=2, age=4) == 3


def test_age_zero_counts_as_one_unit_and_other_ages_as_they_are() -> None:
    assert priority(Ijoin(), 6, 2, age=0) == 12
    assert priority(Ijoin(), 6, 2, age=0.5) == 24


def test_a_smallest_age_bounds_the_young_ones() -> None:
    scheme = Ijoin(smallest_age=2.0)
    assert priority(scheme, 6, 2, age=0) == priority(scheme, 6, 2, age=2) == 6
    assert priority(scheme, 6, 2, age=4) == 3


def test_the_penalty_begins_at_the_threshold_and_grows_with_time() -> None:
    scheme = Ijoin(unproductivity=3.0, penalty=0.5)
    assert priority(scheme, 6, 2, age=4, idle=2.99) == 3
    assert priority(scheme, 6, 2, age=4, idle=3) == 3 - 1.5
    assert priority(scheme, 6, 2, age=4, idle=4) == 3 - 2


def test_matches_decay_from_when_they_came() -> None:
    shedder = Ijoin(decay=0.5).begin(0, 3)
    shedder.matched(np.array([1, 1, 2]), 10.0)
    shedder.matched(np.array([1]), 12.0)
    both = np.array([0, 1, 2])
    assert shedder.matches_at(both, 14.0) == pytest.approx(
        [0, 2 * math.exp(-2) + math.exp(-1), math.exp(-2)]  # eq. 7
    )


def test_without_decay_all_matches_count_alike() -> None:
    shedder = Ijoin(decay=0.0).begin(0, 1)
    shedder.matched(np.array([0, 0]), 1.0)
    shedder.matched(np.array([0]), 100.0)
    assert shedder.matches_at(np.array([0]), 1000.0).tolist() == [3]


# --- Which row goes


def lefts(scheme: Scheme, importance: list[float], partners: str = "", **times: float) -> Outcome:
    """Let rows a, b, c, ... come at 1, 2, 3, ... where only two have room.

    Partners, by value and time, come on the other stream.
    """
    values = "abcdefgh"[: len(importance)]
    own = Arrivals.of(range(1, len(values) + 1), values, importance)
    come = sorted((times[value], value) for value in partners)
    other = Arrivals.of([time for time, _ in come], [value for _, value in come], [9] * len(come))
    return simulate(own, other if come else NO_ROWS, scheme, window=100, memory=4)


def rows_that_left(outcome: Outcome) -> str:
    """Values of R's rows that had to go, in the order in which they went."""
    gone = [
        (left, value)
        for left, value, fate in zip(
            outcome.left[0], outcome.streams[0].values, outcome.fates[0], strict=True
        )
        if fate in {Fate.DROPPED, Fate.EVICTED}
    ]
    return "".join(value for _, value in sorted(gone))


def test_fifo_lets_the_oldest_go() -> None:
    assert rows_that_left(lefts(Fifo(), [5, 1, 9, 2])) == "ab"


def test_greedy_lets_the_least_important_go_and_the_newcomer_on_ties() -> None:
    assert rows_that_left(lefts(Greedy(), [5, 3, 9, 5, 1])) == "bde"
    assert rows_that_left(lefts(Greedy(ties="oldest"), [5, 3, 9, 5, 1])) == "bae"


def test_of_equally_important_ones_in_memory_greedy_lets_the_oldest_go() -> None:
    assert rows_that_left(lefts(Greedy(), [5, 5, 9])) == "a"


def test_size_lets_the_rarest_go() -> None:
    outcome = lefts(Size(), [1, 1, 1, 1], "acd", a=0.2, c=0.3, d=0.4)
    assert rows_that_left(outcome) == "ba"  # no row waits for b; a, c and d are as frequent


def test_size_forgets_rows_that_came_long_ago() -> None:
    outcome = lefts(Size(recent=1, ties="oldest"), [1, 1, 1], "ab", a=0.2, b=0.3)
    assert rows_that_left(outcome) == "a"
    assert rows_that_left(lefts(Size(), [1, 1, 1], "ab", a=0.2, b=0.3)) == "c"


def test_rand_lets_newcomers_go_only_if_they_are_asked_for() -> None:
    streams = ImportanceStreams(rates=(5, 5), duration=40, domain=5).make()
    held, every_row = (
        simulate(streams.first, streams.second, Rand(among), window=9, memory=6)
        for among in ("held", "all")
    )
    assert Fate.DROPPED not in held.fates[0]
    assert Fate.DROPPED in every_row.fates[0]


def test_ijoin_keeps_rows_that_matched_and_lets_others_go_by_age() -> None:
    outcome = lefts(Ijoin(maturity=0, unproductivity=50), [1, 1, 1, 1], "a", a=1.5)
    assert rows_that_left(outcome) == "bc"


def test_ijoin_lets_only_mature_tuples_go() -> None:
    # At 4 a is 3 old, and mature, and b is 2 old.
    importance: list[float] = [1, 1, 1, 1]
    waived = Ijoin(maturity=2, unproductivity=50)
    assert rows_that_left(lefts(waived, importance, "a", a=1.5)) == "ba"
    dropping = Ijoin(maturity=2, unproductivity=50, none_mature="drop newcomer")
    assert rows_that_left(lefts(dropping, importance, "a", a=1.5)) == "ca"


def test_ijoin_lets_unproductive_tuples_go() -> None:
    # At 8 a has priority 9 / 7, and h, g and all others none.
    scheme = Ijoin(maturity=0, decay=0, unproductivity=6, penalty=1)
    assert rows_that_left(lefts(scheme, [9] * 8, "a", a=1.5)) == "bcdefa"
    spared = Ijoin(maturity=0, decay=0, unproductivity=6, penalty=0)
    assert rows_that_left(lefts(spared, [9] * 8, "a", a=1.5)) == "bcdefg"


def test_a_row_that_never_matched_is_unproductive_since_it_came_or_never() -> None:
    # a matched once, for next to nothing; b never.
    importance: list[float] = [0.001, 1, 1]
    since = Ijoin(maturity=0, unproductivity=1, penalty=1)
    assert rows_that_left(lefts(since, importance, "a", a=2.5)) == "b"
    late = {"a": 1.5}
    assert rows_that_left(lefts(since, importance, "a", **late)) == "a"
    never = Ijoin(maturity=0, unproductivity=1, penalty=1, unmatched="never")
    assert rows_that_left(lefts(never, importance, "a", **late)) == "a"
    assert rows_that_left(lefts(never, importance)) == "a"


def test_ties_of_ijoin_go_by_age_or_by_importance() -> None:
    assert rows_that_left(lefts(Ijoin(), [2, 1, 3])) == "a"
    assert rows_that_left(lefts(Ijoin(ties="least important"), [2, 1, 3])) == "b"


# --- When priorities are recomputed


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        (Successive(), [1, 1, 1, 1, 1]),
        (EveryFew(2), [1, 0, 1, 0, 1]),
        (Adaptive(0.5), [1, 0, 1, 1, 0]),
        (Adaptive(0.5, when="below"), [1, 1, 0, 0, 1]),
    ],
)
def test_when_priorities_are_recomputed(rule: Recomputation, expected: list[int]) -> None:
    qualities = [0.0, 0.0, 4.0, 8.0, 7.0]
    due = [
        rule.due(number, quality, qualities[number - 1] if number else 0.0)
        for number, quality in enumerate(qualities)
    ]
    assert due == [bool(each) for each in expected]


def test_a_higher_epsilon_costs_less_if_the_difference_has_to_reach_it() -> None:
    streams = ImportanceStreams(rates=(4, 8), duration=60, domain=10).make()
    counts = [
        simulate(
            streams.first,
            streams.second,
            Ijoin(recomputation=rule),
            window=10,
            memory=10,
        ).recomputations
        for rule in (Successive(), Adaptive(0.2), Adaptive(0.8), EveryFew(10))
    ]
    assert counts == sorted(counts, reverse=True)
    assert counts[0] > 5 * counts[-1]


def test_new_tuples_have_their_initial_priority_until_the_next_computation() -> None:
    # Priorities are computed at 3 only: a has 9 then, b none. At 4 c still has what it came with.
    seldom = EveryFew(10)
    at = {"a": 2.5}
    scheme = Ijoin(maturity=0, decay=0, unproductivity=50, recomputation=seldom)
    assert rows_that_left(lefts(scheme, [9, 9, 20, 1], "a", **at)) == "ba"
    zero = Ijoin(maturity=0, decay=0, unproductivity=50, recomputation=seldom, initial="zero")
    assert rows_that_left(lefts(zero, [9, 9, 20, 1], "a", **at)) == "bc"


# --- Fairness


def test_fairness_is_one_if_all_have_the_same_and_1_over_n_if_one_has_all() -> None:
    assert fairness_index(np.full(7, 3.0)) == pytest.approx(1)
    assert fairness_index(floats(5, 0, 0, 0)) == 0.25
    assert math.isnan(fairness_index(floats(0, 0)))


def test_lifetimes_of_all_and_of_the_evicted() -> None:
    outcome = lefts(Greedy(), [5, 3, 9, 5, 1])  # a and c stay, b is evicted at 3, d and e dropped
    assert outcome.lifetimes("all").tolist() == [4, 1, 2, 0, 0]
    assert outcome.lifetimes("evicted").tolist() == [1]
    assert outcome.fairness() == pytest.approx(7**2 / (5 * 21))
    assert outcome.fairness("evicted") == 1


def test_a_row_that_expires_has_lived_for_the_window() -> None:
    own = Arrivals.of([1, 2, 50], "abc", [1, 1, 1])
    outcome = simulate(own, NO_ROWS, Fifo(), window=8, memory=4)
    assert outcome.lifetimes().tolist() == [8, 8, 0]
    assert outcome.fates[0].tolist() == [Fate.EXPIRED, Fate.EXPIRED, Fate.HELD]


# --- The join


@pytest.mark.parametrize(
    ("reading", "gap", "joined"),
    [
        *(("open", 7.9, 1), ("open", 8, 0)),
        *(("closed", 8, 1), ("closed", 8.1, 0)),
        *(("section 3.2", 6.9, 1), ("section 3.2", 7, 0)),
    ],
)
def test_three_readings_of_the_window(reading: WindowReading, gap: float, joined: int) -> None:
    outcome = simulate(
        Arrivals.of([1], "a", [2]),
        Arrivals.of([1 + gap], "a", [5]),
        Exact(),
        window=8,
        memory=2,
        reading=reading,
    )
    assert outcome.importance.tolist() == [2] * joined


def test_other_predicates() -> None:
    r = Arrivals.of([1, 2, 3], [1, 5, 3], [1, 1, 1])
    s = Arrivals.of([1, 2, 3], [2, 4, 0], [1, 1, 1])
    outcome = simulate(r, s, Exact(), window=9, memory=2, predicate=np.less)
    assert outcome.pairs == {(0, 0), (0, 1), (2, 1)}
    assert simulate(r, s, Size(), window=9, memory=4, predicate=np.less).pairs <= outcome.pairs


def test_importance_redefined_holds_for_tuples_in_memory_too() -> None:
    r = Arrivals.of([1, 2, 4], "abc", [9, 5, 7])
    s = Arrivals.of([3, 5], "bb", [9, 9])
    change = Redefinition(4.0, (floats(1, 8, 7), floats(9, 9)))
    outcome = simulate(r, s, Greedy(), window=9, memory=4, redefinitions=[change])
    assert outcome.importance.tolist() == [5, 8]
    assert outcome.contents(0, 4) == ["b", "c"]
    assert simulate(r, s, Greedy(), window=9, memory=4).contents(0, 4) == ["a", "c"]


@pytest.mark.parametrize("memory", [0, 3, -2])
def test_memory_must_divide_by_two(memory: int) -> None:
    with pytest.raises(SpecificationError, match="memory must be an even number"):
        simulate(NO_ROWS, NO_ROWS, Fifo(), window=1, memory=memory)


def test_what_makes_no_sense_is_refused() -> None:
    with pytest.raises(SpecificationError, match="window must be above 0"):
        simulate(NO_ROWS, NO_ROWS, Fifo(), window=1, memory=2, reading="section 3.2")
    with pytest.raises(SpecificationError, match="decay of Ijoin must be 0 or more"):
        Ijoin(decay=-1)
    with pytest.raises(SpecificationError, match="smallest_age must be above 0"):
        Ijoin(smallest_age=0)
    with pytest.raises(SpecificationError, match="recent of Size must be at least 1"):
        Size(recent=0)
    with pytest.raises(SpecificationError, match="k must be at least 1"):
        EveryFew(0)
    with pytest.raises(SpecificationError, match="epsilon must be from 0 to 1"):
        Adaptive(2)
    with pytest.raises(SpecificationError, match="times must be in order"):
        Arrivals.of([2, 1], "ab", [1, 1])
    with pytest.raises(SpecificationError, match="must be of one length"):
        Arrivals.of([1, 2], "a", [1, 1])

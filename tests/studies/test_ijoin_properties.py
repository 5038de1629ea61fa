"""What holds for all of `kulkarni08`'s schemes, whatever comes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, get_args

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.studies.by_the_book import (
    Adaptive,
    Arrivals,
    EveryFew,
    Exact,
    Fifo,
    Greedy,
    Ijoin,
    Rand,
    Size,
    simulate,
)
from penstock.studies.by_the_book.outcome import Fate
from penstock.studies.by_the_book.simulate import Order, WindowReading

if TYPE_CHECKING:
    from penstock.studies.by_the_book.memory import Scheme

SCHEMES: list[Scheme] = [
    Fifo(),
    Rand(),
    Rand(among="all"),
    Size(),
    Size(recent=3, ties="oldest"),
    Size(ties="newcomer"),
    Greedy(),
    Greedy(ties="oldest"),
    Ijoin(),
    Ijoin(maturity=0, decay=0, ties="least important"),
    Ijoin(none_mature="drop newcomer", smallest_age=1.0, unmatched="never"),
    Ijoin(recomputation=EveryFew(3)),
    Ijoin(recomputation=Adaptive(0.5), initial="zero"),
]
SIMULATED = settings(max_examples=60, deadline=None)


def arrivals() -> st.SearchStrategy[Arrivals]:
    """Streams with ties of time, of value and of importance."""
    rows = st.tuples(st.integers(0, 12), st.sampled_from("abc"), st.integers(1, 5))
    return st.lists(rows, max_size=14).map(in_time)


def in_time(rows: list[tuple[int, str, int]]) -> Arrivals:
    rows = sorted(rows, key=lambda each: each[0])
    return Arrivals.of(
        [half / 2 for half, _, _ in rows],
        [value for _, value, _ in rows],
        [importance for _, _, importance in rows],
    )


orders = st.sampled_from(get_args(Order))
readings = st.sampled_from(get_args(WindowReading))
windows = st.sampled_from([1.5, 2.0, 4.0, 100.0])
memories = st.sampled_from([2, 4, 8])


@SIMULATED
@given(arrivals(), arrivals(), st.sampled_from(SCHEMES), orders, readings, windows, memories)
def test_memory_is_never_exceeded_and_results_are_part_of_the_exact_ones(
    r: Arrivals,
    s: Arrivals,
    scheme: Scheme,
    order: Order,
    reading: WindowReading,
    window: float,
    memory: int,
) -> None:
    outcome, exact = (
        simulate(r, s, each, window=window, memory=memory, order=order, reading=reading)
        for each in (scheme, Exact())
    )
    for time in np.concatenate([r.times, s.times]).tolist():
        for stream in range(2):
            assert len(outcome.contents(stream, time)) <= memory // 2
    assert len(outcome.pairs) == outcome.size
    assert outcome.pairs <= exact.pairs
    assert exact.pairs == {
        (i, j)
        for i in range(len(r))
        for j in range(len(s))
        if r.values[i] == s.values[j]
        and joins_in_time(abs(r.times[i] - s.times[j]), window, reading)
    }


def joins_in_time(gap: float, window: float, reading: WindowReading) -> bool:
    if reading == "closed":
        return gap <= window
    return gap < (window - 1 if reading == "section 3.2" else window)


@SIMULATED
@given(arrivals(), arrivals(), st.sampled_from(SCHEMES), orders)
def test_enough_memory_is_the_exact_join(
    r: Arrivals, s: Arrivals, scheme: Scheme, order: Order
) -> None:
    outcome = simulate(r, s, scheme, window=100, memory=28, order=order)
    assert outcome.pairs == simulate(r, s, Exact(), window=100, memory=28).pairs
    assert Fate.EVICTED not in np.concatenate(outcome.fates)
    assert Fate.DROPPED not in np.concatenate(outcome.fates)


@SIMULATED
@given(arrivals().filter(len), arrivals(), st.data(), orders, windows, st.sampled_from([1, 2, 100]))
def test_a_row_that_becomes_more_important_stays_as_long_under_greedy(
    r: Arrivals, s: Arrivals, data: st.DataObject, order: Order, window: float, more: int
) -> None:
    chosen = data.draw(st.integers(0, len(r) - 1))
    greedy = data.draw(st.sampled_from([Greedy(), Greedy(ties="oldest")]))
    raised = r.importance.copy()
    raised[chosen] += more
    before, after = (
        simulate(each, s, greedy, window=window, memory=4, order=order)
        for each in (r, replace(r, importance=raised))
    )
    assert after.left[0][chosen] >= before.left[0][chosen]


@SIMULATED
@given(arrivals(), arrivals(), st.sampled_from([Fifo(), Rand(among="all"), Greedy()]), windows)
def test_probing_first_gives_all_that_shedding_first_gives(
    r: Arrivals, s: Arrivals, scheme: Scheme, window: float
) -> None:
    # These do not look at results or at the other stream: both orders hold the same rows.
    shed, probe = (
        simulate(r, s, scheme, window=window, memory=4, order=order) for order in get_args(Order)
    )
    assert (shed.fates[0] == probe.fates[0]).all()
    assert shed.pairs <= probe.pairs

"""AGE in the engine: the tables of `srivastava04` 3.2.1, and its rules for curves of any shape."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import penstock as ps
from penstock.engine.kernels.layout import NOTHING
from penstock.engine.operator import Operator
from penstock.engine.plan import bind
from penstock.statistics.age_curve import AgeCurve
from tests.engine.soundness import assert_sound
from tests.engine.support import examples

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

pytestmark = pytest.mark.nojit

# A step of the paper's time. Row s_i comes at i * _STEP, and the rows that match it between
# that step and the next one half a step later.
_STEP = 10
_SCHEMA = pa.schema([("t", pa.int64()), ("k", pa.int64())])

# Memory is divided again after so many rows: these tests end before.
_MOST_TUPLES = 250

CURVES = st.lists(st.integers(0, 3), min_size=1, max_size=7).filter(any)
# Up to a peak and down from it: no minima.
PEAKED = (
    st.tuples(
        st.lists(st.integers(0, 3), max_size=4),
        st.lists(st.integers(0, 3), min_size=1, max_size=4),
    )
    .map(lambda halves: [*sorted(halves[0]), *sorted(halves[1], reverse=True)])
    .filter(any)
)


@dataclass(frozen=True)
class Step:
    """What the paper's tables show of a point in time."""

    held: list[int]  # rows, the earliest first
    discarded: list[int]
    results: int  # between this step and the next


def play(curve: Sequence[float], *, cells: int, steps: int) -> Iterator[Step]:
    """Take s1, of which a row comes at every step, through the engine with so many cells."""
    join = ps.Join(
        streams={
            "s1": ps.Stream(time="t", window=_STEP * len(curve)),
            # So that its latest row, which takes a cell of its own, is there until the next step.
            "s2": ps.Stream(time="t", window=_STEP // 2),
        },
        on=ps.Equal("k"),
        goal=ps.MaxSubset(strategy="age", curve={"s1": list(curve)}),
        budget=ps.Budget(rows=cells + 1, monitor=0),
    )
    operator = Operator(bind(join, {"s1": _SCHEMA, "s2": _SCHEMA}))
    # A budget has at least a row for each stream. One is for s2; how memory is divided is not
    # tested here.
    operator.store.memory.streams["share"] = [cells / (cells + 1), 1 / (cells + 1)]
    before: set[int] = set()
    for now in range(1, steps + 1):
        operator.process({"s1": _table([now * _STEP], [now])})
        held = _held(operator)
        # All of s1 is matched as its curve has it, whether it is held or not.
        matching = [
            name
            for age, number in enumerate(curve)
            for name in [now - age] * int(number)
            if name > 0
        ]
        # One that matches nothing, where the curve begins with nothing.
        matching.append(-now)
        half = now * _STEP + _STEP // 2
        result = operator.process({"s2": _table([half] * len(matching), matching)})
        assert_sound(operator)
        yield Step(held, sorted((before | {now}) - set(held)), result.num_rows)
        before = set(_held(operator))  # without those that have expired


def _table(times: list[int], keys: list[int]) -> pa.Table:
    return pa.table({"t": times, "k": keys}, schema=_SCHEMA)


def _held(operator: Operator) -> list[int]:
    """Return the rows of s1 that are in memory, by their keys, in time order."""
    memory = operator.store.memory
    base, head, tail = (int(memory.streams[name][0]) for name in ("base", "head", "tail"))
    rows = [row for row in memory.queue[base + head : base + tail] if row != NOTHING]
    return [int(time) // _STEP for time in memory.rows["time"][rows]]


def test_example_3_3_with_one_cell() -> None:
    steps = list(play([1, 1, 2, 1], cells=1, steps=13))
    held = [1, 1, 1, 4, 4, 4, 7, 7, 7, 10, 10, 10, 13]
    assert [step.held for step in steps] == [[name] for name in held]
    discarded = [[], [2], [3], [1], [5], [6], [4], [8], [9], [7], [11], [12], [10]]
    assert [step.discarded for step in steps] == discarded
    assert [step.results for step in steps] == [1, 1, 2] * 4 + [1]


def test_example_3_3_staggered_over_two_cells() -> None:
    steps = list(play([1, 1, 2, 1], cells=2, steps=9))
    held = [[1], [1, 2], [1, 2], [2, 4], [4, 5], [4, 5], [5, 7], [7, 8], [7, 8]]
    assert [step.held for step in steps] == held
    discarded = [[], [], [3], [1], [2], [6], [4], [5], [9]]
    assert [step.discarded for step in steps] == discarded
    # Two cells give twice what one does, once both are full: 8 results every 3 units of time.
    assert sum(step.results for step in steps[3:]) == 2 * 8


def test_example_3_4() -> None:
    steps = list(play([3, 0, 2], cells=2, steps=9))
    held = [[1], [1, 2], [1, 3], [3, 4], [3, 5], [5, 6], [5, 7], [7, 8], [7, 9]]
    assert [step.held for step in steps] == held
    discarded = [[], [], [2], [1], [4], [3], [6], [5], [8]]
    assert [step.discarded for step in steps] == discarded
    assert [step.results for step in steps] == [3, 3, 5, 3, 5, 3, 5, 3, 5]


def steps_for(curve: Sequence[int]) -> int:
    """Return a few windows' worth of steps, as far as memory stays divided as it is."""
    return min(4 * len(curve) + 4, _MOST_TUPLES // (int(sum(curve)) + 2))


def naive(curve: Sequence[float], *, cells: int, steps: int) -> Iterator[Step]:
    """Discard the row of the lowest Priority(i), of equals the oldest: lists and loops."""
    sums = [sum(curve[:k]) for k in range(len(curve) + 1)]
    window = len(curve)

    def priority(age: int) -> float:
        rates = [(sums[j] - sums[age]) / (j - age) for j in range(age + 1, window + 1)]
        return round(max(rates, default=0.0), 6)

    held: list[int] = []
    for now in range(1, steps + 1):
        before, held = held, [*held, now]
        while len(held) > cells:
            held.remove(min(held, key=lambda name: (priority(now - name), name)))
        results = sum(int(curve[now - name]) for name in held if now - name < window)
        yield Step(held, sorted({*before, now} - set(held)), results)
        # It has lived for its whole window before the next one comes.
        held = [name for name in held if now - name < window]


@given(curve=CURVES, cells=st.integers(1, 8))
@examples(25)
def test_the_lowest_priority_leaves_whatever_the_curve(curve: list[int], cells: int) -> None:
    steps = steps_for(curve)
    assert list(play(curve, cells=cells, steps=steps)) == list(
        naive(curve, cells=cells, steps=steps)
    )


@given(curve=PEAKED, cells=st.integers(1, 8))
@examples(25)
def test_without_minima_tuples_are_kept_for_the_best_age_or_as_long_as_memory_reaches(
    curve: list[int], cells: int
) -> None:
    best = AgeCurve(curve).best_age
    # If k_opt >= M, whoever is taken in stays for k_opt; otherwise all are, and stay for M.
    stay = max(best, min(cells, len(curve)))
    steps = steps_for(curve)
    last_seen: dict[int, int] = {}
    for now, step in enumerate(play(curve, cells=cells, steps=steps), start=1):
        last_seen |= dict.fromkeys(step.held, now)
    done = {name: seen - name + 1 for name, seen in last_seen.items() if name <= steps - stay}
    if best < cells:
        assert set(done) == set(range(1, steps - stay + 1))
    # A row has priority 0 when its window has passed, and is seen once more if there is room.
    assert all(stay <= age <= (stay + 1 if cells > len(curve) else stay) for age in done.values())


def test_arriving_rows_are_dropped_until_the_oldest_reach_the_best_age() -> None:
    steps = list(play([1, 2, 3, 4, 5], cells=3, steps=11))
    assert [step.held for step in steps[2:5]] == [[1, 2, 3]] * 3
    assert [step.discarded for step in steps[3:5]] == [[4], [5]]
    assert steps[5].held == [2, 3, 6]
    assert [step.held for step in steps[7:10]] == [[6, 7, 8]] * 3


def test_beyond_the_best_age_all_rows_are_kept_as_long_as_memory_reaches() -> None:
    steps = list(play([5, 3, 2, 1, 1], cells=3, steps=9))
    assert [step.held for step in steps[3:]] == [[i - 2, i - 1, i] for i in range(4, 10)]
    assert [step.discarded for step in steps[3:]] == [[i - 3] for i in range(4, 10)]
    assert [step.results for step in steps[2:]] == [10] * 7

"""Hypothesis strategies for whole joins: streams, their order, their batches, their shards."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from hypothesis import strategies as st

import penstock as ps
from penstock.testing import cut
from tests.properties.columns import KEYS, PAYLOADS, VALUES, VECTORS, Family, bounds

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hypothesis.strategies import DrawFn, SearchStrategy

    from penstock.goals import Goal
    from penstock.predicates import Predicate

PREDICATES = ("Equal", "Within", "Band", "Compare", "Similar")
FAMILIES = {"Equal": KEYS, "Similar": VECTORS}
# Times of all examples, in ticks; few, so that there are ties.
TICKS = 12
# As late as a row can be, and more.
ANY_LATENESS = 100


@dataclass(frozen=True)
class Clock:
    """How ticks are written as times and as durations."""

    name: str
    types: tuple[pa.DataType, ...]
    time: Callable[[int], int | float]
    duration: Callable[[int], int | float | str]

    def __repr__(self) -> str:
        return self.name

    def cut(
        self, join: ps.Join, tables: dict[str, pa.Table], ticks: Sequence[int]
    ) -> list[dict[str, pa.Table]]:
        """Cut all streams at the same ticks."""
        if pa.types.is_timestamp(self.types[0]):
            start = dt.datetime(1970, 1, 1)  # noqa: DTZ001 -- the streams have no zone
            return cut(join, tables, [start + dt.timedelta(seconds=tick) for tick in ticks])
        return cut(join, tables, [float(self.time(tick)) for tick in ticks])


def _same(ticks: int) -> int:
    return ticks


def _halves(ticks: int) -> float:
    return ticks / 2


def _seconds(ticks: int) -> str:
    return f"{ticks} seconds"


_SECONDS = pa.timestamp("s"), pa.timestamp("us"), pa.timestamp("ns")
CLOCKS = (
    Clock("numbers", (pa.int64(), pa.int16(), pa.uint32()), _same, _same),
    Clock("halves", (pa.float64(), pa.float32()), _halves, _halves),
    Clock("seconds", _SECONDS, _same, _seconds),
)


@dataclass(frozen=True)
class Example:
    """A join, the whole of its streams, and the same in micro-batches."""

    join: ps.Join
    tables: dict[str, pa.Table]
    batches: dict[str, list[pa.Table]]
    shards: int

    @property
    def in_turn(self) -> list[dict[str, pa.Table]]:
        """The micro-batches, each with a table for every stream; all streams have as many."""
        return [
            dict(zip(self.batches, parts, strict=True))
            for parts in zip(*self.batches.values(), strict=True)
        ]


@st.composite
def examples(
    draw: DrawFn,
    *,
    predicates: Sequence[str] | None = None,
    streams: Sequence[int] = (2, 3),
    orderly: bool = True,
    goals: Sequence[Goal] = (),
    row_windows: bool = False,
) -> Example:
    """Draw a join and its data.

    Parameters
    ----------
    orderly
        Rows come in time order up to their stream's lateness, so that none is late; else they
        come in any order and may also be too far ahead.
    goals
        With a goal there is a budget, too small or not; without one the join is exact. Then no
        vectors, unless they are asked for: the loop would be compiled for each type of these and
        each goal, and tests/conformance has them.
    row_windows
        Some windows, one at least, are of rows, and there is one shard.
    """
    kind = draw(st.sampled_from(predicates or (PREDICATES[:4] if goals else PREDICATES)))
    goal = draw(st.sampled_from(goals)) if goals else ps.MaxSubset()
    # Only joins of two streams can be sampled.
    count = 2 if isinstance(goal, ps.Sample) else draw(st.sampled_from(streams))
    names = ("left", "right", "third")[:count]
    clock = draw(st.sampled_from(CLOCKS))
    family = draw(st.sampled_from(FAMILIES.get(kind, VALUES)))
    shards = 1 if row_windows else draw(st.integers(1, 3))
    of_rows = [row_windows and draw(st.booleans()) for _ in names]
    if row_windows and not any(of_rows):
        of_rows[draw(st.integers(0, count - 1))] = True
    latenesses = [draw(st.sampled_from((0, 0, 2, ANY_LATENESS))) for _ in names]
    specs = {
        name: ps.Stream(
            time="at",
            window=ps.Rows(draw(st.sampled_from((1, 2, 3, 5, 20))))
            if by_rows
            else clock.duration(draw(st.sampled_from((0, 1, 4, 30, 30)))),
            lateness=clock.duration(lateness),
            max_ahead=None if orderly else draw(st.sampled_from((None, clock.duration(5)))),
        )
        for name, lateness, by_rows in zip(names, latenesses, of_rows, strict=True)
    }
    join = ps.Join(
        streams=specs,
        on=draw(_predicates(kind, names, family)),
        goal=goal,
        budget=draw(_budgets(count * shards)) if goals else None,
    )
    # The brute-force join of three streams reads all triples.
    most = 12 if count == 2 else 7
    tables = {
        name: draw(_tables(clock, family, most, lateness if orderly else ANY_LATENESS))
        for name, lateness in zip(names, latenesses, strict=True)
    }
    number = draw(st.integers(1, 4))
    batches = {name: _cut(table, draw(_places(table, number))) for name, table in tables.items()}
    return Example(join, tables, batches, shards)


@st.composite
def _predicates(draw: DrawFn, kind: str, names: tuple[str, ...], family: Family) -> Predicate:
    order = draw(st.permutations(names))
    if kind == "Equal":
        same: SearchStrategy[Predicate] = st.sampled_from((ps.Equal("v"), ps.Equal("v", "w")))
        return draw(same)
    columns: dict[str, Any] = dict.fromkeys(order, "v")
    if kind == "Similar":
        metric = draw(st.sampled_from(("euclidean", "cosine")))
        distance = draw(st.sampled_from((0, 0.2, 1, 4.0, 5, 1e31)))
        return ps.Similar(distance, metric=metric, dimensions=2, **columns)
    if kind == "Within":
        return ps.Within(abs(draw(bounds(family))), **columns)
    if kind == "Band":
        low, high = sorted((draw(bounds(family)), draw(bounds(family))))
        return ps.Band(low=low, high=high, **columns)
    return ps.Compare(draw(st.sampled_from(("<", "<=", "=", "!=", ">", ">="))), **columns)


def _budgets(least: int) -> SearchStrategy[ps.Budget]:
    rows = st.integers(least, least + 6).map(lambda rows: ps.Budget(rows=rows))
    # A row of a sample costs 360 bytes beside its payload, other rows 232. The least budget is one
    # row for each stream.
    memory = st.integers(least * 360, least * 900).map(lambda size: ps.Budget(memory=size))
    return rows | memory


@st.composite
def _tables(draw: DrawFn, clock: Clock, family: Family, most: int, lateness: int) -> pa.Table:
    payload = draw(st.sampled_from(PAYLOADS))
    row = st.tuples(
        st.sampled_from((*range(TICKS), None)),
        st.integers(0, min(lateness, TICKS)),
        family.sample,
        st.sampled_from((1, 1, 1, 2, None)),
        payload.sample,
    )
    rows = draw(st.lists(row, min_size=draw(st.sampled_from((0, most // 2, most))), max_size=most))
    # Rows sorted by tick + delay are never behind by more than the longest delay.
    rows.sort(key=lambda each: (each[0] or 0) + each[1])
    times, _, values, others, payloads = zip(*rows, strict=True) if rows else [()] * 5
    return pa.table(
        {
            "at": _column(
                draw(st.sampled_from(clock.types)),
                [None if time is None else clock.time(time) for time in times],
            ),
            "v": _column(draw(st.sampled_from(family.types)), values),
            "w": pa.array(others, pa.int64()),
            "payload": _column(draw(st.sampled_from(payload.types)), payloads),
        }
    )


def _column(kind: pa.DataType, values: Sequence[Any]) -> pa.Array:
    if pa.types.is_dictionary(kind):
        return pa.array(values, kind.value_type).dictionary_encode().cast(kind)
    return pa.array(values, kind)


def _places(table: pa.Table, batches: int) -> SearchStrategy[list[int]]:
    place = st.integers(0, table.num_rows)
    return st.lists(place, min_size=batches - 1, max_size=batches - 1).map(sorted)


def _cut(table: pa.Table, places: list[int]) -> list[pa.Table]:
    bounds_of_batches = pairwise([0, *places, table.num_rows])
    return [table.slice(start, stop - start) for start, stop in bounds_of_batches]

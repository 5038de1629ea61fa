"""What it costs to run three joins as a workload, beside one join of all their rows.

In process, on one core: reading, joining, choosing what to keep, and dividing the budget.
What it costs on Spark, also as three queries, is measured by `benchmarks.workload_on_spark`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

import penstock as ps
from benchmarks.data import LEFT, RIGHT, keyed
from benchmarks.report import Target
from penstock.bench.timing import Say, Spread, ratios, seconds, take_turns
from penstock.report.tables import Table

if TYPE_CHECKING:
    from collections.abc import Mapping

    from benchmarks.data import Tables

    Batches = Mapping[str, list[pa.Table]]

JOINS = ("first", "second", "third")
WORKLOAD, ONE, APART = "workload of 3 joins", "one join, 3 times as large", "3 joins, one by one"
_MOST_OF_ONE = 1.1


@dataclass(frozen=True)
class Sizes:
    """What is run: of each of three joins the rows of a stream and its window, and the budget."""

    rows: int
    window_rows: int
    keys: int
    budget_rows: int
    batches: int
    rounds: int


# A join learns and decides a fixed number of times in a window, so short windows cost more.
FULL = (
    Sizes(rows=100_000, window_rows=20_000, keys=8_000, budget_rows=20_000, batches=10, rounds=5),
    Sizes(
        rows=600_000, window_rows=200_000, keys=80_000, budget_rows=200_000, batches=10, rounds=5
    ),
)
QUICK = (Sizes(rows=2_000, window_rows=400, keys=150, budget_rows=400, batches=4, rounds=1),)


@dataclass(frozen=True)
class Way:
    """One way to run the joins.

    Attributes
    ----------
    million_per_second
        Arrivals of all joins per second of processor time.
    of_one
        Its processor time as a multiple of that of the one large join.
    results
        Of all joins.
    """

    name: str
    million_per_second: Spread
    of_one: Spread
    results: int


@dataclass(frozen=True)
class Compared:
    """The ways to run three joins of one size."""

    sizes: Sizes
    ways: tuple[Way, ...]

    @property
    def of_one(self) -> Spread:
        """Processor time of the workload as a multiple of that of the one large join."""
        (work,) = (way for way in self.ways if way.name == WORKLOAD)
        return work.of_one


@dataclass(frozen=True)
class Shared:
    """Figures of all sizes."""

    compared: tuple[Compared, ...]

    def tables(self) -> tuple[Table, ...]:
        """Return the figures as tables."""
        return tuple(
            Table.titled(
                f"Three joins over {each.sizes.rows:,} rows of each stream, windows and budgets of "
                f"{each.sizes.window_rows:,} rows, {each.sizes.batches} micro-batches, in process",
                ("way", "million arrivals/s and core", "times the large join's time", "results"),
                tuple(
                    (way.name, way.million_per_second.text(), way.of_one.text(), f"{way.results:,}")
                    for way in each.ways
                ),
            )
            for each in self.compared
        )

    def targets(self) -> tuple[Target, ...]:
        """Compare a workload with one large join."""
        return tuple(
            Target(
                f"a workload of 3 joins with windows of {each.sizes.window_rows:,} rows takes at "
                f"most {_MOST_OF_ONE} times the processor time of one join with three times the "
                f"rows in, and as many in memory",
                f"{each.of_one.text()} times",
                reached=each.of_one.median <= _MOST_OF_ONE,
            )
            for each in self.compared
        )


def join_of(sizes: Sizes, prefix: str = "") -> ps.Join:
    """Return a join of two streams on their keys, without a budget."""
    stream = ps.Stream(time="time", window=sizes.window_rows - 1)
    return ps.Join(streams={prefix + LEFT: stream, prefix + RIGHT: stream}, on=ps.Equal("key"))


def workload_of(sizes: Sizes) -> ps.Workload:
    """Return the three joins in one budget."""
    joins = {name: join_of(sizes, f"{name}_") for name in JOINS}
    return ps.Workload(joins, budget=ps.Budget(rows=len(JOINS) * sizes.budget_rows))


def streams(sizes: Sizes) -> tuple[dict[str, Tables], Tables]:
    """Return the two streams of each join, and all their rows as two streams.

    In these no key is of two joins, so that there are as many results.
    """
    own = {name: keyed(sizes.rows, sizes.keys, seed=seed) for seed, name in enumerate(JOINS)}
    together = {}
    for side in (LEFT, RIGHT):
        apart = [
            table[side].set_column(1, "key", pa.array(table[side]["key"].to_numpy() * 3 + place))
            for place, table in enumerate(own.values())
        ]
        whole = pa.concat_tables(apart).combine_chunks()
        together[side] = whole.take(np.argsort(whole["time"].to_numpy(), kind="stable"))
    return own, together


def in_batches(tables: Mapping[str, pa.Table], count: int) -> Batches:
    """Cut streams into micro-batches."""
    return {
        name: [
            table.slice(at, table.num_rows // count)
            for at in range(0, table.num_rows, table.num_rows // count)
        ]
        for name, table in tables.items()
    }


def run(*, quick: bool, say: Say) -> Shared:
    """Measure."""
    return Shared(tuple(_compare(sizes, say) for sizes in (QUICK if quick else FULL)))


def _compare(sizes: Sizes, say: Say) -> Compared:
    own, together = streams(sizes)
    prefixed = {f"{name}_{side}": own[name][side] for name in JOINS for side in (LEFT, RIGHT)}
    alone = {name: in_batches(own[name], sizes.batches) for name in JOINS}
    large = join_of(sizes)
    contestants = {
        WORKLOAD: partial(_workload, workload_of(sizes), in_batches(prefixed, sizes.batches)),
        ONE: partial(
            _joins, large, sizes.budget_rows * len(JOINS), [in_batches(together, sizes.batches)]
        ),
        APART: partial(_joins, large, sizes.budget_rows, list(alone.values())),
    }
    turns = take_turns(contestants, int, sizes.rounds, say)
    arrivals = 2 * len(JOINS) * sizes.rows
    ways = tuple(
        Way(
            name,
            Spread.of([arrivals / 1e6 / taken for taken in seconds(own_turns)]),
            ratios(seconds(own_turns), seconds(turns[ONE])),
            own_turns[0].kept,
        )
        for name, own_turns in turns.items()
    )
    return Compared(sizes, ways)


def _workload(work: ps.Workload, batches: Batches) -> int:
    return sum(each.num_rows for each in work.replay(batches).results.values())


def _joins(join: ps.Join, rows: int, several: list[Batches]) -> int:
    """Run a join over several pairs of streams, one after the other.

    All results are kept until the end, as those of a workload are.
    """
    own = ps.Join(streams=join.streams, on=join.on, budget=ps.Budget(rows=rows))
    results = [own.replay(batches).result for batches in several]
    return sum(each.num_rows for each in results)

"""Two streams joined on a key, Arrow in and Arrow out: exact, and with a tenth of the memory."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from benchmarks.data import LEFT, count_pairs, equality, keyed, with_text
from benchmarks.report import Target
from benchmarks.steps import Step, steps_of
from penstock.bench.timing import Say, Spread, ratios, seconds, take_turns
from penstock.report.tables import Table

if TYPE_CHECKING:
    from benchmarks.data import Tables
    from penstock.engine.replay import Replay

_MILLION = 1e6


@dataclass(frozen=True)
class Sizes:
    """What is run.

    With as many rows in a window as two and a half times the keys, an arrival finds two and a
    half rows of its key, and as many newer rows find it: five results for each left row.
    """

    rows: int
    window_rows: int
    keys: int
    rounds: int


FULL = Sizes(rows=1_000_000, window_rows=50_000, keys=20_000, rounds=7)
QUICK = Sizes(rows=4_000, window_rows=500, keys=200, rounds=1)


@dataclass(frozen=True)
class Contestant:
    """One way to run the join.

    Attributes
    ----------
    million_per_second
        Arrivals per second of processor time.
    of_exact
        The same as a multiple of the exact join's.
    """

    name: str
    million_per_second: Spread
    of_exact: Spread
    results_per_left_row: float
    results: int


@dataclass(frozen=True)
class Equality:
    """Figures of the equality join, with columns of numbers and with columns of text."""

    sizes: Sizes
    numbers: tuple[Contestant, ...]
    text: tuple[Contestant, ...]
    steps: tuple[Step, ...]

    def tables(self) -> tuple[Table, ...]:
        """Return the figures as tables."""
        return (
            _table("Columns of numbers", self.numbers),
            _table("Text for key and payload (for information)", self.text),
            Table.titled(
                "Where the exact join of numbers spends its time",
                ("step", "nanoseconds per arrival", "share"),
                tuple(
                    (step.name, f"{step.nanoseconds:.0f}", f"{step.share:.0%}")
                    for step in self.steps
                ),
            ),
        )

    def targets(self) -> tuple[Target, ...]:
        """Compare speeds: a million arrivals per second, and shedding costs nothing."""
        exact, *shedding = self.numbers
        return (
            Target(
                "exact join, at least 1 million arrivals per second and core",
                f"{exact.million_per_second.median:.2f} million",
                exact.million_per_second.median >= 1,
            ),
            *(
                Target(
                    f"{contestant.name}, no slower than the exact join",
                    f"{contestant.of_exact.median:.2f} times as fast",
                    contestant.of_exact.median >= 1,
                )
                for contestant in shedding
            ),
        )


def run(*, quick: bool, say: Say) -> Equality:
    """Measure."""
    sizes = QUICK if quick else FULL
    tables = keyed(sizes.rows, sizes.keys, seed=1)
    expected = count_pairs(tables, sizes.window_rows)
    say("columns of numbers")
    numbers = _measure(tables, expected, sizes, say)
    steps = steps_of(partial(equality(sizes.window_rows).replay, tables), 2 * sizes.rows)
    say("columns of text")
    text = _measure(with_text(tables, seed=1), expected, sizes, say)
    return Equality(sizes, numbers, text, steps)


def _measure(tables: Tables, expected: int, sizes: Sizes, say: Say) -> tuple[Contestant, ...]:
    tenth = 2 * sizes.window_rows // 10
    joins = {
        "exact": equality(sizes.window_rows),
        "fifo, 10 % of the rows": equality(sizes.window_rows, budget_rows=tenth, strategy="fifo"),
        "random, 10 % of the rows": equality(
            sizes.window_rows, budget_rows=tenth, strategy="random"
        ),
    }
    turns = take_turns(
        {name: partial(join.replay, tables) for name, join in joins.items()},
        _results,
        sizes.rounds,
        say,
    )
    exact = turns["exact"]
    assert {turn.kept for turn in exact} == {expected}, "the exact join must give every result"
    arrivals = sum(table.num_rows for table in tables.values())
    return tuple(
        Contestant(
            name,
            Spread.of([arrivals / _MILLION / time for time in seconds(own)]),
            ratios(seconds(exact), seconds(own)),
            own[0].kept / tables[LEFT].num_rows,
            own[0].kept,
        )
        for name, own in turns.items()
    )


def _results(replay: Replay) -> int:
    assert replay.result.num_rows == replay.metrics.emitted
    return replay.metrics.emitted


def _table(title: str, contestants: tuple[Contestant, ...]) -> Table:
    return Table.titled(
        title,
        ("join", "million arrivals/s and core", "times exact", "results per left row"),
        tuple(
            (
                contestant.name,
                contestant.million_per_second.text(),
                contestant.of_exact.text(),
                f"{contestant.results_per_left_row:.2f}",
            )
            for contestant in contestants
        ),
    )

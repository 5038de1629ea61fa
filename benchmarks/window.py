"""What a longer window costs, with as many results for each arrival as a short one."""

from __future__ import annotations

import gc
from dataclasses import dataclass
from functools import partial

from benchmarks.data import count_pairs, equality, keyed
from benchmarks.report import Target
from penstock.bench.timing import Say, Spread, ratios, seconds, take_turns, timed
from penstock.engine.operator import Operator
from penstock.engine.plan import bind
from penstock.report.tables import Table

_WANTED = 2  # times the cost with the shortest window, at most
_ROWS_PER_KEY = 2.5  # in a window of any length: the matches of each arrival
_SEED = 1


@dataclass(frozen=True)
class Sizes:
    """What is run.

    The steady part is rounds of `batch_rows` rows of each stream, when the windows are full; the
    replay has `replay_rows` rows more than fill a window.
    """

    windows: tuple[int, ...]
    batch_rows: int
    rounds: int
    replay_rows: int
    replay_rounds: int


FULL = Sizes((10_000, 30_000, 100_000, 300_000, 1_000_000), 100_000, 9, 500_000, 3)
QUICK = Sizes((50, 500), 1_000, 2, 1_000, 1)


@dataclass(frozen=True)
class Length:
    """One length of the windows.

    Attributes
    ----------
    window_rows
        Rows of each stream in its window.
    results_per_arrival
        In the steady part.
    steady
        Nanoseconds of processor time per arrival once the windows are full.
    times_shortest
        The same as a multiple of the shortest window's.
    replay
        Nanoseconds per arrival of a whole replay, which begins with empty windows.
    """

    window_rows: int
    results_per_arrival: float
    steady: Spread
    times_shortest: Spread
    replay: Spread


@dataclass(frozen=True)
class Window:
    """Figures of the equality join by the length of its windows."""

    sizes: Sizes
    lengths: tuple[Length, ...]

    def tables(self) -> tuple[Table, ...]:
        """Return the figures as tables."""
        return (
            Table.titled(
                f"Nanoseconds per arrival; steady in batches of {self.sizes.batch_rows:,} rows "
                f"of each stream",
                (
                    "rows per window",
                    "steady",
                    "times the shortest",
                    "whole replay",
                    "results per arrival",
                ),
                tuple(
                    (
                        f"{length.window_rows:,}",
                        length.steady.text(0),
                        length.times_shortest.text(),
                        length.replay.text(0),
                        f"{length.results_per_arrival:.2f}",
                    )
                    for length in self.lengths
                ),
            ),
        )

    def targets(self) -> tuple[Target, ...]:
        """Compare costs: a window a hundred times as long costs at most twice as much."""
        worst = max(length.times_shortest.median for length in self.lengths)
        first, last = self.lengths[0].window_rows, self.lengths[-1].window_rows
        return (
            Target(
                f"from {first:,} to {last:,} rows per window, a cost within a factor {_WANTED}",
                f"{worst:.2f}",
                worst <= _WANTED,
            ),
        )


class _Steady:
    """A join whose windows are full, to be fed batch after batch."""

    def __init__(self, window_rows: int, batch_rows: int) -> None:
        self._keys = _keys(window_rows)
        self._batch_rows = batch_rows
        first = keyed(window_rows, self._keys, seed=_SEED)
        schemas = {name: table.schema for name, table in first.items()}
        self._operator = Operator(bind(equality(window_rows), schemas))
        self._operator.process(first)
        self._next = window_rows

    def feed(self) -> tuple[float, int]:
        """Join one more batch; return its time and the number of its results."""
        batch = keyed(self._batch_rows, self._keys, seed=_SEED, start=self._next)
        self._next += self._batch_rows
        gc.collect()
        turn = timed(partial(self._operator.process, batch), len)
        return turn.seconds, turn.kept


def run(*, quick: bool, say: Say) -> Window:
    """Measure."""
    sizes = QUICK if quick else FULL
    steady = {}
    for rows in sizes.windows:
        say(f"filling windows of {rows:,} rows")
        steady[rows] = _Steady(rows, sizes.batch_rows)
    times: dict[int, list[float]] = {rows: [] for rows in sizes.windows}
    results = dict.fromkeys(sizes.windows, 0)
    for number in range(sizes.rounds + 1):  # the first warms up
        say(f"round {number} of {sizes.rounds}" if number else "warm-up")
        for rows in sizes.windows:
            time, count = steady[rows].feed()
            if number:
                times[rows].append(time)
                results[rows] += count
    steady.clear()
    arrivals = 2 * sizes.batch_rows
    return Window(
        sizes,
        tuple(
            Length(
                rows,
                results[rows] / (arrivals * sizes.rounds),
                Spread.of([time / arrivals * 1e9 for time in times[rows]]),
                ratios(times[rows], times[sizes.windows[0]]),
                _replay(rows, sizes, say),
            )
            for rows in sizes.windows
        ),
    )


def _replay(window_rows: int, sizes: Sizes, say: Say) -> Spread:
    rows = window_rows + sizes.replay_rows
    say(f"replay, windows of {window_rows:,} rows")
    tables = keyed(rows, _keys(window_rows), seed=_SEED)
    replay = partial(equality(window_rows).replay, tables)
    turns = take_turns(
        {"replay": replay}, lambda r: r.result.num_rows, sizes.replay_rounds, lambda _: None
    )["replay"]
    assert {turn.kept for turn in turns} == {count_pairs(tables, window_rows)}
    return Spread.of([time / (2 * rows) * 1e9 for time in seconds(turns)])


def _keys(window_rows: int) -> int:
    return round(window_rows / _ROWS_PER_KEY)

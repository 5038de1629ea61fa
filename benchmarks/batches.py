"""What it costs to be incremental: micro-batches, with the state saved after each."""

from __future__ import annotations

import gc
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from benchmarks.data import equality, keyed
from penstock.bench.timing import Say, Spread, ratios, timed
from penstock.engine.operator import Operator
from penstock.engine.plan import bind
from penstock.engine.state import save
from penstock.report.tables import Table

if TYPE_CHECKING:
    from benchmarks.data import Tables
    from benchmarks.report import Target
    from penstock.engine.state import Changes


@dataclass(frozen=True)
class Sizes:
    """What is run: rows of each stream, `round_rows` of them in each round."""

    window_rows: int
    keys: int
    batches: tuple[int, ...]
    round_rows: int
    rounds: int


FULL = Sizes(50_000, 20_000, (1_000, 10_000, 100_000), 100_000, 7)
QUICK = Sizes(200, 80, (50, 250), 500, 2)


@dataclass(frozen=True)
class Batches:
    """One size of micro-batches.

    Attributes
    ----------
    batch_rows
        Rows of each stream in a micro-batch.
    million_per_second
        Arrivals per second of processor time, joining and saving.
    of_largest
        The same as a multiple of the largest micro-batches'.
    save_share
        Part of the time that went into `save`.
    kilobytes_per_batch, bytes_per_arrival
        Bytes that `save` asked to have written.
    most_kilobytes
        In any one micro-batch.
    state_kilobytes
        Bytes of the whole state at the end.
    """

    batch_rows: int
    million_per_second: Spread
    of_largest: Spread
    save_share: Spread
    kilobytes_per_batch: float
    bytes_per_arrival: float
    most_kilobytes: float
    state_kilobytes: float


@dataclass(frozen=True)
class Incremental:
    """Figures of the equality join in micro-batches."""

    sizes: Sizes
    batches: tuple[Batches, ...]
    results: int

    def tables(self) -> tuple[Table, ...]:
        """Return the figures as tables."""
        return (
            Table.titled(
                f"Windows of {self.sizes.window_rows:,} rows, state saved after each micro-batch",
                (
                    "rows of each stream per batch",
                    "million arrivals/s and core",
                    "times the largest",
                    "share of saving",
                    "kB written per batch",
                    "at most",
                    "bytes written per arrival",
                    "kB of state",
                ),
                tuple(
                    (
                        f"{batches.batch_rows:,}",
                        batches.million_per_second.text(),
                        batches.of_largest.text(),
                        f"{batches.save_share.median:.0%}",
                        f"{batches.kilobytes_per_batch:,.0f}",
                        f"{batches.most_kilobytes:,.0f}",
                        f"{batches.bytes_per_arrival:.0f}",
                        f"{batches.state_kilobytes:,.0f}",
                    )
                    for batches in self.batches
                ),
            ),
        )

    def targets(self) -> tuple[Target, ...]:
        """Return no targets: the figures are for information."""
        return ()


class Stored:
    """A copy of the state in memory, in place of a state store."""

    def __init__(self) -> None:
        self.chunks: dict[str, bytes] = {}
        self.written: list[int] = []  # bytes, by micro-batch

    def apply(self, changes: Changes) -> None:
        """Bring the copy up to date."""
        self.chunks.update(changes.written)
        for name in changes.removed:
            del self.chunks[name]
        self.written.append(sum(len(chunk) for chunk in changes.written.values()))

    @property
    def size(self) -> int:
        """Bytes of the whole state."""
        return sum(len(chunk) for chunk in self.chunks.values())


class _Contestant:
    """A join with full windows, to be fed rounds of micro-batches of one size."""

    def __init__(self, sizes: Sizes, batch_rows: int) -> None:
        self._sizes = sizes
        self._batch_rows = batch_rows
        first = keyed(sizes.window_rows, sizes.keys, seed=1)
        schemas = {name: table.schema for name, table in first.items()}
        self._operator = Operator(bind(equality(sizes.window_rows), schemas))
        self.results = len(self._operator.process(first))
        self.stored = Stored()
        self.stored.apply(save(self._operator))
        self.stored.written.clear()

    def feed(self, tables: Tables) -> tuple[float, float]:
        """Join one round; return the time of joining and that of saving."""
        gc.collect()
        joining = saving = 0.0
        for at in range(0, self._sizes.round_rows, self._batch_rows):
            batch = {name: table.slice(at, self._batch_rows) for name, table in tables.items()}
            joined = timed(partial(self._operator.process, batch), len)
            saved = timed(partial(save, self._operator), self.stored.apply)
            self.results += joined.kept
            joining += joined.seconds
            saving += saved.seconds
        return joining, saving


def run(*, quick: bool, say: Say) -> Incremental:
    """Measure."""
    sizes = QUICK if quick else FULL
    contestants = {rows: _Contestant(sizes, rows) for rows in sizes.batches}
    joining: dict[int, list[float]] = {rows: [] for rows in sizes.batches}
    saving: dict[int, list[float]] = {rows: [] for rows in sizes.batches}
    start = sizes.window_rows
    for number in range(sizes.rounds + 1):  # the first warms up
        say(f"round {number} of {sizes.rounds}" if number else "warm-up")
        tables = keyed(sizes.round_rows, sizes.keys, seed=1, start=start)
        start += sizes.round_rows
        for rows, contestant in contestants.items():
            times = contestant.feed(tables)
            if number:
                joining[rows].append(times[0])
                saving[rows].append(times[1])
    results = {contestant.results for contestant in contestants.values()}
    assert len(results) == 1, "the batches must not change the answer"
    arrivals = 2 * sizes.round_rows
    whole = {
        rows: [a + b for a, b in zip(joining[rows], saving[rows], strict=True)]
        for rows in sizes.batches
    }
    batches = []
    for rows, contestant in contestants.items():
        written = contestant.stored.written
        batches.append(
            Batches(
                rows,
                Spread.of([arrivals / 1e6 / time for time in whole[rows]]),
                ratios(whole[sizes.batches[-1]], whole[rows]),
                ratios(saving[rows], whole[rows]),
                sum(written) / len(written) / 1e3,
                sum(written) / (len(written) * 2 * rows),
                max(written) / 1e3,
                contestant.stored.size / 1e3,
            )
        )
    return Incremental(sizes, tuple(batches), results.pop())

"""Which strategy finds most in a share of the memory, and what `strategy=None` finds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

import penstock as ps
from benchmarks.report import Target
from examples.flights.data import departures
from penstock.report.tables import Table
from penstock.testing import key_streams

if TYPE_CHECKING:
    from collections.abc import Iterator

    from penstock.bench.timing import Say
    from penstock.testing import KeyPattern

_SUBSET = ("fifo", "random", "until-expiry", "age", "prob", "expected")
_IMPORTANCE = ("fifo", "random", "greedy", "prob", "ijoin")
_SHARES = (0.05, 0.1, 0.2, 0.5)
# From so many rows held by the exact join on, and from so many rows of the budget on.
_LARGE, _WANTED = 200, 0.97
_SMALL, _WANTED_OF_SMALL = 20, 0.9
# Results count after so many of the longest windows: before, windows fill and strategies learn.
_WARM_UP = 2.0


@dataclass(frozen=True)
class Case:
    """Streams with a window each, and what is to be lost least of.

    Attributes
    ----------
    name
        In the table.
    held
        Rows that the exact join holds.
    keys, top, zipf, mixed, rates, pattern
        As in `penstock.testing.key_streams`.
    spell
        In windows.
    ratio
        Of the second stream's window to the first one's.
    windows
        How long the streams run, in the longest window.
    importance
        Whether results count by importance.
    flights
        A column of real streams: departures from two airports of New York, with windows of as many
        hours as they have rows on average. None if streams are made.
    seeds
        Streams are made with each of these; what was found is the mean. Flights are given.
    """

    name: str
    held: int
    keys: int = 51
    top: float = 0.25
    zipf: float = 1.0
    mixed: float = 0.3
    rates: tuple[float, float] = (2.0, 1.0)
    pattern: KeyPattern = "steady"
    spell: float = 1.0
    ratio: float = 1.0
    windows: float = 12.0
    importance: bool = False
    flights: str | None = None
    seeds: tuple[int, ...] = (1, 2, 3)
    shares: tuple[float, ...] = _SHARES

    @property
    def lengths(self) -> tuple[float, float]:
        """The windows, for which the exact join holds as many rows as it is to."""
        first = self.held / (self.rates[0] + self.rates[1] * self.ratio)
        return first, first * self.ratio

    def samples(self) -> Iterator[dict[str, pa.Table]]:
        """Return the streams, of each seed."""
        longest = max(self.lengths)
        if self.flights is not None:
            yield _flights(self.flights, days=int(self.windows * longest / 24) + 1)
            return
        for seed in self.seeds:
            yield self._made(seed)

    def _made(self, seed: int) -> dict[str, pa.Table]:
        longest = max(self.lengths)
        made = key_streams(
            pattern=self.pattern,
            keys=self.keys,
            top=self.top,
            zipf=self.zipf,
            mixed=self.mixed,
            rates=self.rates,
            duration=self.windows * longest,
            spell=self.spell * longest,
            seed=seed,
        )
        return {"a": made.s1, "b": made.s2}


def _flights(column: str, days: int) -> dict[str, pa.Table]:
    """Return departures from Newark and from Kennedy by a column; times in hours."""
    flights = departures(days)
    seconds = flights["departed_at"].cast(pa.timestamp("s", tz="UTC")).cast("int64").to_numpy()
    made = flights.select(["origin"]).append_column("time", [(seconds - seconds[0]) / 3600.0])
    made = made.append_column("key", flights[column])
    origins = flights["origin"].to_numpy(zero_copy_only=False)
    return {name: made.filter(origins == origin) for name, origin in (("a", "EWR"), ("b", "JFK"))}


@dataclass(frozen=True)
class Point:
    """What was found in one case with one budget, of the exact join's results or importance.

    Attributes
    ----------
    found
        By strategy, after the warm-up; the mean of the seeds.
    chosen
        The same of `strategy=None`.
    """

    case: str
    held: int
    rows: int
    found: dict[str, float]
    chosen: float

    @property
    def of_best(self) -> float:
        """What `strategy=None` found, as a share of the best."""
        return self.chosen / max(self.found.values())


@dataclass(frozen=True)
class MemoryChoice:
    """Figures of all cases."""

    points: tuple[Point, ...]

    def tables(self) -> tuple[Table, ...]:
        """Return the figures as a table."""
        names = list(dict.fromkeys(name for point in self.points for name in point.found))
        rows = [
            (
                point.case,
                f"{point.rows:,} of {point.held:,}",
                *(f"{point.found[name]:.3f}" if name in point.found else "" for name in names),
                f"{point.chosen:.3f}",
                f"{point.of_best:.3f}",
            )
            for point in self.points
        ]
        return (
            Table.titled(
                "Share of the exact join's results, or of their importance, with so many rows",
                ("streams", "rows", *names, "None", "of the best"),
                tuple(rows),
            ),
        )

    def targets(self) -> tuple[Target, ...]:
        """Compare what `strategy=None` finds with the best."""
        large = [each for each in self.points if each.held >= _LARGE]
        small = [each for each in self.points if each.rows >= _SMALL]
        return (
            _target("strategy=None, at least 0.97 of the best strategy", large, _WANTED),
            _target("... and with 20 rows and more, at least 0.9", small, _WANTED_OF_SMALL),
        )


def _target(words: str, points: list[Point], wanted: float) -> Target:
    least = min(points, key=lambda point: point.of_best)
    said = f"{least.of_best:.3f} ({least.case}, {least.rows:,} rows)"
    return Target(words, said, least.of_best >= wanted)


def cases(*, quick: bool) -> tuple[Case, ...]:
    """Return the cases."""
    if quick:
        return (Case("51 keys", 300, windows=6.0, shares=(0.2,), seeds=(1,)),)
    return (
        Case("51 keys", 2_300, windows=8.0),
        Case("51 keys, few rows", 227, windows=20.0),
        Case("120 keys", 617, keys=120, zipf=0.8, mixed=0.5),
        Case("120 keys, few rows", 163, keys=120, zipf=0.8, mixed=0.5, windows=25.0),
        Case("4,500 keys", 3_650, keys=4_500, top=0.05, windows=6.0),
        Case("unequal streams", 2_300, rates=(5.0, 1.0), ratio=4.0, mixed=1.0, windows=8.0),
        Case("bursts", 1_000, keys=80, pattern="bursts", spell=0.5),
        Case("short bursts", 400, keys=300, pattern="bursts", spell=0.1, windows=20.0),
        Case("one key dominates", 1_000, pattern="dominant", spell=1.5),
        Case("flights by destination", 600, rates=(13.0, 12.0), flights="dest", windows=20.0),
        Case("flights by carrier", 500, rates=(13.0, 12.0), flights="carrier", windows=20.0),
        Case("flights by plane", 1_800, rates=(13.0, 12.0), flights="tailnum"),
        Case("51 keys, importance", 2_300, windows=8.0, importance=True),
        Case("120 keys, importance", 617, keys=120, zipf=0.8, mixed=0.5, importance=True),
    )


def run(*, quick: bool, say: Say) -> MemoryChoice:
    """Measure."""
    points: list[Point] = []
    for case in cases(quick=quick):
        points += _points(case)
        say(f"{case.name}: {points[-1].of_best:.3f} of the best")
    return MemoryChoice(tuple(points))


def _points(case: Case) -> list[Point]:
    samples = list(case.samples())
    names: tuple[str | None, ...] = (*(_IMPORTANCE if case.importance else _SUBSET), None)
    whole = [_found(case, _join(case).replay(tables).result) for tables in samples]
    points = []
    for share in case.shares:
        rows = round(share * case.held)
        found = {
            name: float(
                np.mean(
                    [
                        _found(case, _join(case, name, rows).replay(tables).result) / every
                        for tables, every in zip(samples, whole, strict=True)
                    ]
                )
            )
            for name in names
        }
        chosen = found.pop(None)
        single = {name: number for name, number in found.items() if name is not None}
        points.append(Point(case.name, case.held, rows, single, chosen))
    return points


def _join(case: Case, strategy: str | None = None, rows: int | None = None) -> ps.Join:
    goal = (
        ps.MaxImportance(of="value", strategy=strategy)
        if case.importance
        else ps.MaxSubset(strategy=strategy)
    )
    return ps.Join(
        streams={
            name: ps.Stream(time="time", window=length)
            for name, length in zip("ab", case.lengths, strict=True)
        },
        on=ps.Equal("key"),
        goal=goal,
        budget=None if rows is None else ps.Budget(rows=rows),
    )


def _found(case: Case, result: pa.Table) -> float:
    """Return how many results there are after the warm-up, or how much they matter."""
    late = result["time"].to_numpy() >= _WARM_UP * max(case.lengths)
    if not case.importance:
        return float(np.count_nonzero(late))
    return float(result["importance"].to_numpy()[late].sum())

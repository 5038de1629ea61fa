"""A fifth of the work of a join of vectors: parts of windows, or rows dropped at random."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

import penstock as ps
from benchmarks.report import Target
from benchmarks.similar import Sizes
from penstock.bench.timing import Say, Spread, ratios, seconds, take_turns
from penstock.report.tables import Table

if TYPE_CHECKING:
    from penstock.engine.replay import Replay

_NAMES = ("a", "b", "c")
_DIMENSIONS = 64
# Of the comparisons of the exact join.
_SHARE = 0.2
_WANTED = 3.0
# Rows of a thing that is reported by all streams: b after this part of a window, a after that.
_LAGS = {"c": 0.0, "b": 0.25, "a": 0.7}
_JITTER = 0.03
# Vectors of length 1 in random directions are at a distance of 1.41; those of one thing are near.
_NOISE, _DISTANCE = 0.03, 0.6


FULL = Sizes(rows=60_000, window_rows=10_000, rounds=5)
QUICK = Sizes(rows=1_200, window_rows=200, rounds=1)


@dataclass(frozen=True)
class Way:
    """One way to do with less work.

    Attributes
    ----------
    recall
        Share of the exact join's results.
    compared
        Share of its comparisons.
    rate
        Results in a second of processor time.
    """

    recall: float
    compared: float
    rate: Spread


@dataclass(frozen=True)
class Harvesting:
    """Figures of the ways, and the ratio of results in the same seconds."""

    sizes: Sizes
    ways: dict[str, Way]
    ratio: Spread

    def tables(self) -> tuple[Table, ...]:
        """Return the figures as tables."""
        rows = [
            (name, f"{way.recall:.0%}", f"{way.compared:.0%}", way.rate.text(0))
            for name, way in self.ways.items()
        ]
        rows.append(("grub / random-drop", "", "", self.ratio.text()))
        return (
            Table.titled(
                f"Windows of {self.sizes.window_rows:,} vectors of {_DIMENSIONS} dimensions, three "
                f"streams, {_SHARE:.0%} of the comparisons",
                ("join", "results found", "comparisons made", "results a second"),
                tuple(rows),
            ),
        )

    def targets(self) -> tuple[Target, ...]:
        """Compare results in the same seconds, not in the same comparisons."""
        return (
            Target(
                "grub, at least 3 times the results of random-drop in the same seconds",
                f"{self.ratio.median:.2f}",
                self.ratio.median >= _WANTED,
            ),
        )


def run(*, quick: bool, say: Say) -> Harvesting:
    """Measure. Set OPENBLAS_NUM_THREADS=1 for one core."""
    sizes = QUICK if quick else FULL
    tables = _tables(sizes)
    exact = _join(sizes).replay(tables).metrics
    costs = ps.Costs(compare=sizes.rows / (_SHARE * max(exact.compared, 1)))
    budget = ps.Budget(cpu=1.0, costs=costs, burst=sizes.window_rows / 100)
    contestants: dict[str, Any] = {
        name: partial(_join(sizes, name, budget).replay, tables) for name in ("grub", "random-drop")
    }
    turns = take_turns(contestants, _counts, sizes.rounds, say)
    rates = {
        name: [turn.kept[0] / time for turn, time in zip(own, seconds(own), strict=True)]
        for name, own in turns.items()
    }
    ways = {
        name: Way(
            own[0].kept[0] / max(exact.emitted, 1),
            own[0].kept[1] / max(exact.compared, 1),
            Spread.of(rates[name]),
        )
        for name, own in turns.items()
    }
    return Harvesting(sizes, ways, ratios(rates["grub"], rates["random-drop"]))


def _tables(sizes: Sizes) -> dict[str, pa.Table]:
    """Make streams that report the same things, each after a time of its own."""
    rng = np.random.default_rng(1)
    things = rng.normal(size=(sizes.rows, _DIMENSIONS))
    things /= np.linalg.norm(things, axis=1)[:, None]
    tables = {}
    for name in _NAMES:
        late = _LAGS[name] + np.abs(rng.normal(0.0, _JITTER, sizes.rows))
        times = np.arange(sizes.rows) + sizes.window_rows * late
        order = np.argsort(times)
        own = (things + rng.normal(0.0, _NOISE, things.shape)).astype(np.float32)[order]
        column = pa.FixedSizeListArray.from_arrays(pa.array(own.ravel()), _DIMENSIONS)
        tables[name] = pa.table({"time": times[order], "v": column})
    return tables


def _join(sizes: Sizes, strategy: str | None = None, budget: ps.Budget | None = None) -> ps.Join:
    columns: dict[str, Any] = dict.fromkeys(_NAMES, "v")
    return ps.Join(
        streams={name: ps.Stream(time="time", window=float(sizes.window_rows)) for name in _NAMES},
        on=ps.Similar(_DISTANCE, **columns),
        goal=ps.MaxSubset(strategy=strategy),
        budget=budget,
    )


def _counts(replay: Replay) -> tuple[int, int]:
    """Return the results, and the comparisons that were made."""
    return replay.metrics.emitted, replay.metrics.compared

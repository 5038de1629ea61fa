"""What strategies for a share of the processor find, and what their formulas say (`ayad05`)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa

import penstock as ps
from benchmarks.report import Target
from penstock.engine.operator import Operator
from penstock.engine.plan import bind
from penstock.report.tables import Table
from penstock.statistics.work_output import (
    Steps,
    WorkModel,
    by_partner,
    coin_flip,
    insert_no_probe,
    max_subset,
    probe_no_insert,
)
from penstock.testing import zipf_weights

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.bench.timing import Say

Floats = npt.NDArray[np.float64]

FORMULAS: dict[str, Callable[[WorkModel, float], Steps]] = {
    "insert-no-probe": insert_no_probe,
    "coin-flip": coin_flip,
    "probe-no-insert": probe_no_insert,
    "max-subset": max_subset,
    "by-partner": by_partner,
}
_VALUES = 100
_RATES = {"l": 40.0, "r": 60.0}
_WINDOWS = {"l": 3.0, "r": 5.0}
# Results count after two windows; a burst of one window: formulas are for work on average.
_AFTER, _BURST = 10.0, 5.0
_WANTED = 0.03
# Below this share of the exact join's results a formula says that next to nothing is found.
_NEXT_TO_NOTHING = 0.02
# Rows that the operator gets at a time.
_BATCH = 20_000


@dataclass(frozen=True)
class Streams:
    """Two streams of Zipf 1 over 100 values, at so many times 40 and 60 rows per second.

    An insertion takes 1 ms and a result 0.2 ms, divided by the scale and by its square: the work
    is the same at every scale. What is not used is kept for `burst` seconds.
    """

    correlation: str
    scale: float
    seconds: float
    seed: int
    burst: float = _BURST

    @cached_property
    def tables(self) -> dict[str, pa.Table]:
        """The rows, by stream."""
        draw = np.random.default_rng([self.seed, 7])
        zipf = zipf_weights(_VALUES, 1.0)
        other = {"direct": zipf, "inverse": zipf[::-1], "none": draw.permutation(zipf)}
        tables = {}
        for name, weights in zip(_RATES, (zipf, other[self.correlation]), strict=True):
            rows = round(_RATES[name] * self.scale * self.seconds)
            times = np.sort(draw.uniform(0.0, self.seconds, rows))
            tables[name] = pa.table({"time": times, "key": draw.choice(_VALUES, rows, p=weights)})
        return tables

    @property
    def costs(self) -> ps.Costs:
        """What steps cost."""
        return ps.Costs(insert=0.001 / self.scale, result=0.0002 / self.scale**2)

    @cached_property
    def model(self) -> WorkModel:
        """The formulas, for the frequencies that the streams have."""
        counts = [
            np.bincount(table["key"].to_numpy(), minlength=_VALUES) / self.seconds
            for table in self.tables.values()
        ]
        return WorkModel(
            np.stack(counts),
            (_WINDOWS["l"], _WINDOWS["r"]),
            insert=self.costs.insert,
            result=self.costs.result,
        )

    @cached_property
    def results(self) -> int:
        """Results of the exact join after two windows, counted without a join."""
        total = 0
        for name, other in (("l", "r"), ("r", "l")):
            table, waiting = self.tables[name], self.tables[other]
            times, keys = table["time"].to_numpy(), table["key"].to_numpy()
            is_counted = times > _AFTER
            # Keys are far apart in this order, so that one search finds the rows of a window.
            far = 4.0 * (self.seconds + max(_WINDOWS.values()))
            order = np.sort(waiting["key"].to_numpy() * far + waiting["time"].to_numpy())
            place = keys[is_counted] * far + times[is_counted]
            ends = np.searchsorted(order, place), np.searchsorted(order, place - _WINDOWS[other])
            total += int((ends[0] - ends[1]).sum())
        return total

    def found(self, strategy: str, share: float) -> float:
        """Return the share of the results after two windows that a strategy finds."""
        budget = ps.Budget(cpu=share * self.model.full_work, costs=self.costs, burst=self.burst)
        join = ps.Join(
            streams={name: ps.Stream(time="time", window=each) for name, each in _WINDOWS.items()},
            on=ps.Equal("key"),
            goal=ps.MaxSubset(strategy=strategy),
            budget=budget,
        )
        operator = Operator(bind(join, {name: each.schema for name, each in self.tables.items()}))
        parts = max(1, sum(each.num_rows for each in self.tables.values()) // _BATCH)
        edges = np.linspace(0.0, self.seconds, parts + 1)
        places = {
            name: np.searchsorted(each["time"].to_numpy(), edges)
            for name, each in self.tables.items()
        }
        total = 0
        for part in range(parts):
            batch = {
                name: each.slice(places[name][part], places[name][part + 1] - places[name][part])
                for name, each in self.tables.items()
            }
            for piece in operator.pieces(batch, last=part == parts - 1):
                total += int(np.count_nonzero(piece["time"].to_numpy() > _AFTER))
        return total / self.results

    def by_formula(self, strategy: str, share: float) -> float:
        """Return the share of the results that a strategy finds by its formula."""
        steps = FORMULAS[strategy](self.model, share * self.model.full_work)
        return float(self.model.output(steps)) / float(self.model.full_output)


@dataclass(frozen=True)
class Point:
    """What one strategy found with one share of the work, over all pairs of streams."""

    correlation: str
    scale: float
    share: float
    strategy: str
    by_formula: float
    found: float

    @property
    def ratio(self) -> float | None:
        """What was found, by what the formula says; None if that is next to nothing."""
        return self.found / self.by_formula if self.by_formula > _NEXT_TO_NOTHING else None


@dataclass(frozen=True)
class Formulas:
    """Figures of the whole grid."""

    points: tuple[Point, ...]

    def tables(self) -> tuple[Table, ...]:
        """Return for each strategy what is found by formula, what was found, and the ratio."""
        cells = {
            (each.scale, each.correlation, each.share, each.strategy): each for each in self.points
        }
        names = list(dict.fromkeys(each.strategy for each in self.points))
        lines = list(
            dict.fromkeys((each.scale, each.correlation, each.share) for each in self.points)
        )
        rows = [
            (
                f"{scale:g}",
                correlation,
                f"{share:.0%}",
                *(_cell(cells.get((scale, correlation, share, name))) for name in names),
            )
            for scale, correlation, share in lines
        ]
        return (
            Table.titled(
                "Share of the exact join's results: by formula, found, and found / formula",
                ("times the rates", "correlation", "work", *names),
                tuple(rows),
            ),
        )

    def targets(self) -> tuple[Target, ...]:
        """Compare what was found with the formulas."""
        ratios = [(each.ratio, each) for each in self.points if each.ratio is not None]
        ratio, least = min(ratios, key=lambda pair: pair[0])
        return (
            Target(
                "found, at least 0.97 of the formula",
                f"{ratio:.3f} ({least.strategy}, {least.correlation}, {least.share:.0%}, "
                f"{least.scale:g} times the rates)",
                ratio >= 1.0 - _WANTED,
            ),
        )


def _cell(point: Point | None) -> str:
    if point is None:
        return ""
    found = f"{point.by_formula:.3f} {point.found:.3f}"
    return found if point.ratio is None else f"{found} {point.ratio:.3f}"


def run(*, quick: bool, say: Say) -> Formulas:
    """Measure at the paper's rates and at ten times these."""
    if quick:
        short = Streams("direct", 1.0, 20.0, 1)
        return Formulas(tuple(_points((short,), (0.4,), tuple(FORMULAS), say)))
    points: list[Point] = []
    for scale, seconds, seeds in ((1.0, 400.0, (1, 2)), (10.0, 60.0, (1,))):
        for correlation in ("direct", "none", "inverse"):
            pairs = tuple(Streams(correlation, scale, seconds, seed) for seed in seeds)
            points += _points(pairs, (0.2, 0.4, 0.6, 0.8), tuple(FORMULAS), say)
    return Formulas(tuple(points))


def run_fast(*, quick: bool, say: Say) -> Formulas:
    """Measure at a thousand times the rates, where results are not too many to be made."""
    scale, seconds = (20.0, 12.0) if quick else (1_000.0, 12.0)
    points: list[Point] = []
    for correlation in ("none", "inverse"):
        # Half of a burst is saved up first: of one window it would be missing in these few seconds.
        pairs = (Streams(correlation, scale, seconds, 1, burst=1.0),)
        points += _points(pairs, (0.2,), tuple(FORMULAS), say)
    return Formulas(tuple(points))


def _points(
    pairs: tuple[Streams, ...], shares: tuple[float, ...], names: tuple[str, ...], say: Say
) -> list[Point]:
    points = []
    for share in shares:
        for name in names:
            found = [each.found(name, share) for each in pairs]
            expected = [each.by_formula(name, share) for each in pairs]
            first = pairs[0]
            point = Point(
                first.correlation,
                first.scale,
                share,
                name,
                float(np.mean(expected)),
                float(np.mean(found)),
            )
            points.append(point)
            say(f"{first.scale:g} {first.correlation} {share:.0%} {name}: {_cell(point)}")
    return points

"""Section 4 of Ayad et al.: how wrong aggregates over a sampled join are, against CPU."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from penstock.report.panels_plot import Line, Panel, save_panels_plot
from penstock.report.tables import Table
from penstock.studies.study import Study
from penstock.studies.work_samples import ENGINE, SAMPLERS, WorkSample, draw, results_of
from penstock.studies.work_scenario import (
    CORRELATIONS,
    WINDOWS,
    WorkScenario,
    panel_title,
    streams_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from penstock.statistics.work_uniform import Arrivals

__all__ = ["STUDY", "SamplePoint", "SampleRow"]

Floats = npt.NDArray[np.float64]

_SHARES = tuple(percent / 100 for percent in range(20, 100, 10))
_FEW = (0.2, 0.4, 0.6, 0.8)
_SEEDS = 8
_REPLAYED = 2
# Aggregates are over so many seconds.
_LENGTH = max(WINDOWS)

_SHOWN: Mapping[str, str] = {
    "found": "results in the sample",
    "average": "error of the average",
    "by_value": "the same, of a column that depends on the value",
    "count": "error of the count",
    "work": "work of what was allowed",
}
_DRAWN: Mapping[str, tuple[str, float]] = {
    "average": ("error of the average (%)", 0.3),
    "by_value": ("the same, if it depends on the value", 0.4),
    "count": ("error of the count (%)", 0.5),
}


@dataclass(frozen=True)
class SamplePoint:
    """One sampler on one pair of streams.

    Attributes
    ----------
    scenario
        What is joined.
    contender
        A name of `SAMPLERS`.
    shares
        Work that is allowed, as shares of the exact join's: one sample for each.
    """

    scenario: WorkScenario
    contender: str
    shares: tuple[float, ...]


@dataclass(frozen=True, eq=False)
class SampleRow:
    """What was found at a point; arrays by share of the work.

    Attributes
    ----------
    streams, contender, shares
        The point, the scenario by its name.
    found
        Results in the sample, as a share of all.
    average, by_value, count
        The sum of |estimate - truth| over the sum of |truth|, of all stretches of 5 s: of the
        average of a column of the left stream that has nothing to do with the join (its deviation
        is its mean), of one that grows with the rank of the value (from 0.5 to 1.5), and of the
        number of results. Where nothing was found, the estimate is 0.
    work
        That was done, as a share of what was allowed.
    """

    streams: str
    contender: str
    shares: tuple[float, ...]
    found: Floats
    average: Floats
    by_value: Floats
    count: Floats
    work: Floats


def _run(point: SamplePoint) -> SampleRow:
    scenario = point.scenario
    results = results_of(scenario)
    # Windows begin empty, and fill in the first stretches; the last may be incomplete.
    stretches = int(scenario.duration / _LENGTH)
    counted = np.arange(2, stretches)
    at = np.minimum((results.times / _LENGTH).astype(np.int64), stretches)
    columns = {
        "average": 1 + streams_of(scenario).tables["left"]["value"].to_numpy()[results.left],
        "by_value": 0.5 + results.keys[results.left] / (scenario.values - 1),
    }

    def by_stretch(values: Floats, chosen: npt.NDArray[np.int64]) -> Floats:
        sums = np.bincount(at[chosen], values, minlength=stretches + 1)
        return np.asarray(sums[counted], np.float64)

    def estimates(sample: WorkSample) -> dict[str, Floats]:
        weights = sample.weights
        counts = by_stretch(weights, sample.chosen)
        averages = {
            name: by_stretch(weights * column[sample.chosen], sample.chosen)
            / np.where(counts > 0.0, counts, 1.0)
            for name, column in columns.items()
        }
        return {**averages, "count": counts}

    truth = estimates(WorkSample(np.arange(at.size), weight=1.0, work=0.0))
    found: dict[str, list[float]] = {name: [] for name in _SHOWN}
    for share in point.shares:
        sample = draw(point.contender, scenario, share)
        found["found"].append(sample.chosen.size / at.size)
        for name, estimate in estimates(sample).items():
            apart = np.abs(estimate - truth[name]).sum()
            found[name].append(float(apart / np.abs(truth[name]).sum()))
        allowed = share * streams_of(scenario).model.full_work * scenario.duration
        found["work"].append(sample.work / allowed)
    arrays = {name: np.array(each) for name, each in found.items()}
    return SampleRow(scenario.name, point.contender, point.shares, **arrays)


def _grid(
    seeds: int, shares: Sequence[float], duration: float, arrivals: Arrivals = "poisson"
) -> tuple[SamplePoint, ...]:
    return tuple(
        SamplePoint(
            WorkScenario(correlation, duration=duration, arrivals=arrivals, seed=seed),
            name,
            tuple(shares),
        )
        for correlation in CORRELATIONS
        for seed in range(seeds)
        for name in SAMPLERS
        if name != ENGINE
    )


def _replayed(seeds: int, shares: Sequence[float], duration: float) -> tuple[SamplePoint, ...]:
    """Return the points of the engine's own sample, of which each takes a replay."""
    return tuple(
        SamplePoint(WorkScenario(name, duration=duration, seed=seed), ENGINE, tuple(shares))
        for name in CORRELATIONS
        for seed in range(seeds)
    )


def _means(rows: Iterable[SampleRow], what: str) -> dict[tuple[str, str], Floats]:
    """Return the mean of a figure over the seeds, by streams and sampler; arrays by share."""
    found: dict[tuple[str, str], list[Floats]] = {}
    for row in rows:
        found.setdefault((row.streams, row.contender), []).append(getattr(row, what))
    return {key: np.mean(each, axis=0) for key, each in found.items()}


def _shares(rows: Iterable[SampleRow]) -> dict[tuple[str, str], tuple[float, ...]]:
    """Return the shares of the work at which there are figures, by streams and sampler."""
    return {(row.streams, row.contender): row.shares for row in rows}


def _table(rows: Sequence[SampleRow]) -> Table:
    shares = _shares(rows)
    found = {what: _means(rows, what) for what in _SHOWN}

    def cell(what: str, streams: str, name: str, share: float) -> str:
        if share not in shares.get((streams, name), ()):
            return ""
        return f"{100 * found[what][streams, name][shares[streams, name].index(share)]:.1f}"

    lines = [
        (
            streams,
            f"{words}, %",
            f"{100 * share:g}",
            *(cell(what, streams, name, share) for name in SAMPLERS),
        )
        for streams in dict.fromkeys(row.streams for row in rows)
        for what, words in _SHOWN.items()
        for share in rows[0].shares
        if share in _FEW
    ]
    headings = ("streams", "what", "CPU\n%", *(look.heading for look in SAMPLERS.values()))
    note = (
        "Error: the sum of |estimate - truth| over the sum of |truth|, of all stretches of 5 s. "
        "UNIFORM as printed goes by the expected number of matches, rounded by chance; "
        "where it is given, by the true one. Equation 23 counts all probes, equation 25 results "
        "only. Sample() is replayed on two of the pairs of streams."
    )
    return Table(headings, lines, [note])


def _draw(rows: Sequence[SampleRow], path: Path) -> None:
    found = {what: _means(rows, what) for what in _DRAWN}
    shares = _shares(rows)
    panels = [
        Panel(
            panel_title(correlation),
            [
                Line(look.pen, np.array(shares[correlation, name]), found[what][correlation, name])
                for name, look in SAMPLERS.items()
            ],
            y_title=words,
            y_top=top,
        )
        for what, (words, top) in _DRAWN.items()
        for correlation in CORRELATIONS
    ]
    save_panels_plot(
        path,
        panels=panels,
        title="How wrong are aggregates over a join if work is shed?",
        subtitle="Aggregates over 5 s; 100 values by Zipf's law, 40 and 60 rows per second",
        x_title="work allowed (%)",
        y_title="",
        x_percent=True,
    )


STUDY = Study(
    id="ayad05-uniform",
    title="error of aggregates over a sampled join against CPU",
    reference="Ayad, Naughton, Wright and Srivastava 2005, section 4",
    grid=(
        *_grid(_SEEDS, _SHARES, duration=200.0),
        *_replayed(_REPLAYED, _FEW, duration=200.0),
        *_grid(_SEEDS, _SHARES, duration=200.0, arrivals="regular"),
    ),
    quick_grid=(
        *_grid(1, (0.2, 0.6), duration=60.0),
        *_replayed(1, (0.6,), duration=60.0),
    ),
    run=_run,
    table=_table,
    draw=_draw,
)

"""Our own study: how often the truth lies in the 95 % intervals of estimates from a sample."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from penstock.report.panels_plot import Line, Panel, save_panels_plot
from penstock.report.plot_style import Pen
from penstock.report.tables import Table
from penstock.statistics.cluster_sample import average_of, total_of
from penstock.studies.frequency_scenario import FrequencyScenario, streams_of
from penstock.studies.samplers import OURS, SampledResults, sample
from penstock.studies.study import Study

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from penstock.statistics.cluster_sample import SampleEstimate
    from penstock.testing.frequency_model import Correlation

__all__ = ["STUDY", "CoveragePoint", "CoverageRow", "covered"]

Floats = npt.NDArray[np.float64]
Counts = npt.NDArray[np.int64]

_MEMORY = 0.2
_MEAN, _DEVIATION = 100.0, 100.0
_SEEDS = 8
_CORRELATIONS: tuple[Correlation, ...] = ("IC", "UC", "DC")
_SKEWS = (0.5, 1.0, 2.0)
_NAMES = {"IC": "Inversely correlated", "UC": "Uncorrelated", "DC": "Directly correlated"}
_X_LIMITS = (0.35, 2.15)
# Intervals, at least, of which a share is shown.
_FEWEST = 10

FIGURES = ("count", "sum of S1", "sum of S2", "average of S1", "average of S2")
"""What is estimated; S1 or S2 is the stream that has the attribute."""


@dataclass(frozen=True)
class CoveragePoint:
    """One way to sample, a name of `SAMPLERS`, on one pair of streams."""

    scenario: FrequencyScenario
    contender: str
    memory: float = _MEMORY


@dataclass(frozen=True, eq=False)
class CoverageRow:
    """What was found at a point, for each of `FIGURES`.

    Attributes
    ----------
    scenario, contender, seed
        The point.
    windows
        Those in which there was something to estimate.
    said
        Windows for which an interval was given.
    right
        Those of them in which the truth was in it.
    mean
        The mean of the estimates in all windows over the mean of the truths.
    """

    scenario: str
    contender: str
    seed: int
    windows: int
    said: Counts
    right: Counts
    mean: Floats


def _run(point: CoveragePoint) -> CoverageRow:
    scenario = point.scenario
    streams = streams_of(scenario)
    # Windows that do not overlap are independent of each other.
    edges = np.arange(scenario.measured_from, scenario.duration + 1, scenario.window)
    truths = _truths(SampledResults.exact(streams), edges)
    sampled = sample(point.contender, streams, point.memory, scenario.seed)
    places = np.searchsorted(sampled.times, edges, side="right")
    there = np.flatnonzero(truths[:, 0])
    said, right = (np.zeros(len(FIGURES), np.int64) for _ in range(2))
    values = np.zeros(len(FIGURES))
    for window in there:
        estimates = _estimates(sampled, slice(places[window], places[window + 1]))
        said += [each.low is not None for each in estimates]
        right += [covered(*each) for each in zip(estimates, truths[window], strict=True)]
        values += [np.nan_to_num(each.value) for each in estimates]
    return CoverageRow(
        scenario.name,
        point.contender,
        scenario.seed,
        there.size,
        said,
        right,
        values / truths[there].sum(axis=0),
    )


def _truths(exact: SampledResults, edges: Floats) -> Floats:
    """Return the true figures of each window."""
    places = np.searchsorted(exact.times, edges, side="right")
    counts = np.diff(places).astype(np.float64)
    sums = [
        np.diff(np.concatenate([[0.0], np.cumsum(_attribute(exact, of))])[places])
        for of in ("s1", "s2")
    ]
    averages = [each / np.maximum(counts, 1.0) for each in sums]
    return np.column_stack([counts, *sums, *averages])


def _estimates(sampled: SampledResults, rows: slice) -> list[SampleEstimate]:
    """Return the estimated figures of a window, as `penstock.estimate` has them."""
    weights, clusters = sampled.weights[rows], sampled.clusters[rows]
    values = [_attribute(sampled, of)[rows] for of in ("s1", "s2")]
    return [
        total_of(np.ones(weights.size), weights, clusters),
        *(total_of(each, weights, clusters) for each in values),
        *(average_of(each, weights, clusters) for each in values),
    ]


def _attribute(results: SampledResults, of: str) -> Floats:
    return _MEAN + _DEVIATION * results.values[of]


def covered(estimate: SampleEstimate, truth: float) -> bool:
    """Return whether there is an interval and the truth is in it, within the rounding of sums.

    Examples
    --------
    >>> from penstock.statistics.cluster_sample import SampleEstimate
    >>> covered(SampleEstimate(3.0, 2.0, 4.0, clusters=30), 4.0)
    True
    >>> covered(SampleEstimate(3.0, None, None, clusters=3), 3.0)
    False
    """
    if estimate.low is None or estimate.high is None:
        return False
    noise = 1e-9 * abs(truth)
    return estimate.low - noise <= truth <= estimate.high + noise


@dataclass(frozen=True, eq=False)
class _Coverage:
    """What was found over all seeds, for each of `FIGURES`: shares, NaN where of too few."""

    windows: int
    said: Floats
    right: Floats
    mean: Floats


def _over_seeds(rows: Iterable[CoverageRow]) -> dict[tuple[str, str], _Coverage]:
    found: dict[tuple[str, str], list[CoverageRow]] = {}
    for row in rows:
        found.setdefault((row.scenario, row.contender), []).append(row)
    together = {}
    for key, own in found.items():
        windows = sum(row.windows for row in own)
        said = np.sum([row.said for row in own], axis=0)
        right = np.sum([row.right for row in own], axis=0)
        share = np.where(said >= _FEWEST, right / np.maximum(said, 1), np.nan)
        mean = np.average([row.mean for row in own], axis=0, weights=[row.windows for row in own])
        together[key] = _Coverage(windows, said / windows, share, mean)
    return together


def _table(rows: Sequence[CoverageRow]) -> Table:
    found = _over_seeds(rows)
    headings = (
        "streams",
        "sample",
        "count\nof true %",
        *(f"{figure}\n{what} %" for figure in FIGURES for what in ("given", "right")),
    )
    lines = [
        (
            scenario,
            OURS[contender].words,
            _percent(each.mean[0]),
            *(
                _percent(share)
                for at in range(len(FIGURES))
                for share in (each.said[at], each.right[at])
            ),
        )
        for (scenario, contender), each in found.items()
    ]
    most = max(each.windows for each in found.values())
    note = (
        f"Over {most} windows each. Given: windows for which there is an interval, the others have "
        f"too few clusters. Right: those of them that have the truth in it, if they are "
        f"{_FEWEST} or more; 95 is promised, and chance alone gives {95 - _chance(most):.0f} to "
        f"{min(95 + _chance(most), 100):.0f}. Memory is {_MEMORY:.0%} of a full window."
    )
    return Table(headings, lines, [note])


def _percent(share: float) -> str:
    return "" if np.isnan(share) else f"{100 * share:.0f}"


def _chance(windows: int) -> float:
    """Return twice the deviation, in percent, of a share of 95 % of this many windows."""
    return float(200 * np.sqrt(0.95 * 0.05 / windows))


def _draw(rows: Sequence[CoverageRow], path: Path) -> None:
    found = _over_seeds(rows)
    scenarios = [row.scenario.partition(", Z = ") for row in rows]
    correlations = dict.fromkeys(each[0] for each in scenarios)
    skews = sorted({float(each[2]) for each in scenarios})
    promised = Line(
        Pen("promised: 95 %", "#777777", (0, (4, 3)), width=1.2),
        np.array(_X_LIMITS),
        np.array([0.95, 0.95]),
    )
    panels = []
    for axis, figure, is_right in (
        ("count: right intervals", "count", True),
        ("average of S1: right intervals", "average of S1", True),
        ("average of S1: intervals given", "average of S1", False),
    ):
        at = FIGURES.index(figure)
        for correlation in correlations:
            lines = [promised] if is_right else []
            for name, sampler in OURS.items():
                own = [found.get((f"{correlation}, Z = {skew:g}", name)) for skew in skews]
                shares = [
                    np.nan if each is None else (each.right if is_right else each.said)[at]
                    for each in own
                ]
                lines.append(Line(replace(sampler.pen, dot="o"), np.array(skews), np.array(shares)))
            panels.append(Panel(_NAMES[correlation], lines, y_title=axis))
    save_panels_plot(
        path,
        panels=panels,
        title="Can the intervals be trusted?",
        subtitle=f"95 % intervals over windows of a sampled join; memory {_MEMORY:.0%}",
        x_title="skew of the keys, Z",
        y_title="",
        y_top=1.0,
        x_limits=_X_LIMITS,
    )


def _scenarios(
    correlation: Correlation, zipf: float, seeds: int, windows: float
) -> list[FrequencyScenario]:
    """Make windows of 2,000 rows: the paper's, of 400, mostly have too few clusters."""
    return [
        FrequencyScenario(correlation, zipf, rate_1=5.0, rate_2=1.0, windows=windows, seed=seed)
        for seed in range(seeds)
    ]


STUDY = Study(
    id="coverage",
    title="share of windows whose true value lies in the 95 % interval of its estimate",
    reference="our own",
    grid=tuple(
        CoveragePoint(scenario, contender)
        for correlation in _CORRELATIONS
        for zipf in _SKEWS
        for scenario in _scenarios(correlation, zipf, _SEEDS, windows=22)
        for contender in OURS
    ),
    quick_grid=tuple(
        CoveragePoint(scenario, contender)
        for scenario in _scenarios("UC", 1.0, seeds=1, windows=12)
        for contender in OURS
    ),
    run=_run,
    table=_table,
    draw=_draw,
)

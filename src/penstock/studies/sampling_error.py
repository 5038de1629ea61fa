"""Errors of averages over a sampled join, against memory and against the attribute's variation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from penstock.report.panels_plot import Line, Panel, save_panels_plot
from penstock.report.tables import Table
from penstock.studies.frequency_scenario import FrequencyScenario, streams_of
from penstock.studies.samplers import OURS, PRINTED, SAMPLERS, SampledResults, sample
from penstock.studies.study import Study

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

__all__ = [
    "ErrorPoint",
    "ErrorRow",
    "Errors",
    "errors_of",
    "grid",
    "headings_of",
    "lines",
    "run",
    "seeds_note",
    "study_of_memory",
]

Floats = npt.NDArray[np.float64]

# W_aggr, and the distance between the windows: the paper's "each time step".
_LENGTH = 500.0
_STEP = 1.0


@dataclass(frozen=True)
class ErrorPoint:
    """One sampler on one pair of streams.

    Attributes
    ----------
    scenario
        What is joined.
    contender
        The sampler: a name of `SAMPLERS`.
    of
        The stream whose attribute is averaged.
    memories
        Rows allowed, as shares of a full window's: one sample for each.
    variations
        Coefficients of variation of the attribute, its deviation over its mean. A sample does
        not depend on them, so that one serves all.
    """

    scenario: FrequencyScenario
    contender: str
    of: str
    memories: tuple[float, ...]
    variations: tuple[float, ...] = (1.0,)


@dataclass(frozen=True, eq=False)
class ErrorRow:
    """What was found at a point.

    Attributes
    ----------
    contender, of, seed, memories, variations
        The point.
    absolute, truth, relative
        Of all windows: the mean of |estimate - truth|, of |truth|, and of the ratio of the two;
        by memory and variation. The attribute's mean is 1. Where nothing was sampled the estimate
        is 0, so that the error counts as 100 %.
    empty
        Share of the windows where that is so, by memory.
    counted
        Estimated number of results, by memory.
    count
        The true one.
    held
        Rows held on average, as a share of those allowed, by memory; NaN where not measured.
    """

    contender: str
    of: str
    seed: int
    memories: tuple[float, ...]
    variations: tuple[float, ...]
    absolute: Floats
    truth: Floats
    relative: Floats
    empty: Floats
    counted: Floats
    count: float
    held: Floats


def run(point: ErrorPoint) -> ErrorRow:
    """Measure the errors at a point."""
    scenario = point.scenario
    streams = streams_of(scenario)
    since = scenario.measured_from
    ends = np.arange(since + _LENGTH, scenario.duration + _STEP / 2, _STEP)
    exact = SampledResults.exact(streams)
    true_score = exact.averages(point.of, ends, _LENGTH)
    # Windows without any result have no average to be wrong about.
    ends, true_score = ends[~np.isnan(true_score)], true_score[~np.isnan(true_score)]
    variations = np.array(point.variations)
    truth = np.abs(1 + np.outer(variations, true_score))
    shape = (len(point.memories), len(variations))
    absolute, relative = np.zeros(shape), np.zeros(shape)
    empty, counted, held = (np.zeros(len(point.memories)) for _ in range(3))
    for at, memory in enumerate(point.memories):
        sampled = sample(point.contender, streams, memory, scenario.seed)
        score = sampled.averages(point.of, ends, _LENGTH)
        nothing = np.isnan(score)
        errors = np.where(nothing, truth, np.abs(np.outer(variations, score - true_score)))
        absolute[at] = errors.mean(axis=1)
        relative[at] = (errors / truth).mean(axis=1)
        empty[at] = nothing.mean()
        counted[at] = sampled.count(since)
        allowed = SAMPLERS[point.contender].rows(memory, scenario.full_rows)
        held[at] = sampled.held / allowed
    return ErrorRow(
        point.contender,
        point.of,
        scenario.seed,
        point.memories,
        point.variations,
        absolute,
        np.broadcast_to(truth.mean(axis=1), shape).copy(),
        relative,
        empty,
        counted,
        exact.count(since),
        held,
    )


def grid(
    scenarios: Sequence[FrequencyScenario],
    fewer: int,
    of: str,
    memories: Sequence[float],
    variations: Sequence[float] = (1.0,),
) -> tuple[ErrorPoint, ...]:
    """Return a point for each scenario and sampler; Penstock's for the first `fewer` ones only.

    The printed samplers take milliseconds, a join that is run takes a second.
    """
    return tuple(
        ErrorPoint(scenario, name, of, tuple(memories), tuple(variations))
        for samplers, share in ((OURS, scenarios[:fewer]), (PRINTED, scenarios))
        for scenario in share
        for name in samplers
    )


@dataclass(frozen=True, eq=False)
class Errors:
    """What was found for one sampler, over all seeds; arrays by memory and variation.

    Attributes
    ----------
    ratio, deviation
        The sum of the errors over the sum of the truths, and the standard error of that.
    relative
        The mean of the relative errors, as in the paper.
    empty, count, held
        By memory: windows without a sample, the estimated number of results over the true one,
        and rows held over those allowed.
    seeds
        How many there were.
    """

    ratio: Floats
    deviation: Floats
    relative: Floats
    empty: Floats
    count: Floats
    held: Floats
    seeds: int


def errors_of(rows: Iterable[ErrorRow]) -> dict[str, Errors]:
    """Combine the seeds of each sampler, in the order of `SAMPLERS`."""
    found: dict[str, list[ErrorRow]] = {}
    for row in rows:
        found.setdefault(row.contender, []).append(row)
    return {name: _over_seeds(found[name]) for name in SAMPLERS if name in found}


def _over_seeds(rows: Sequence[ErrorRow]) -> Errors:
    absolute, truth, relative, empty, counted, held = (
        np.array([getattr(row, name) for row in rows])
        for name in ("absolute", "truth", "relative", "empty", "counted", "held")
    )
    ratio = absolute.sum(axis=0) / truth.sum(axis=0)
    # Of a ratio of sums over independent seeds, linearised.
    apart = (absolute - ratio * truth) / truth.mean(axis=0)
    seeds = len(rows)
    deviation = np.sqrt((apart**2).sum(axis=0) / max(seeds - 1, 1) / seeds)
    count = counted.sum(axis=0) / sum(row.count for row in rows)
    return Errors(
        ratio,
        deviation,
        relative.mean(axis=0),
        empty.mean(axis=0),
        count,
        held.mean(axis=0),
        seeds,
    )


def headings_of(names: Iterable[str]) -> list[str]:
    """Return the headings of tables, which say if a sampler is the paper's or ours."""
    return [
        f"{'printed' if name in PRINTED else 'Penstock'}\n{SAMPLERS[name].heading}"
        for name in names
    ]


def seeds_note(errors: dict[str, Errors], variation: int = 0) -> str:
    """Return a sentence on the number of streams and on standard errors, at a variation."""
    said = []
    for kind, samplers in (("Printed", PRINTED), ("Penstock", OURS)):
        own = [each for name, each in errors.items() if name in samplers]
        worst = max(float(each.deviation[:, variation].max()) for each in own)
        said.append(
            f"{kind}: over {own[0].seeds} pairs of streams, standard errors of up to "
            f"{100 * worst:.1f} points."
        )
    return " ".join(said)


def lines(
    errors: dict[str, Errors],
    names: Iterable[str],
    x: Sequence[float],
    y: Callable[[Errors], Floats],
) -> list[Line]:
    """Return a line for each sampler that was measured."""
    return [
        Line(SAMPLERS[name].pen, np.array(x, np.float64), np.asarray(y(errors[name]), np.float64))
        for name in names
        if name in errors
    ]


# A run has about two clusters of the largest kind, so one run tells little.
_SEEDS = 40
# Of Penstock's own joins, which are run.
_FEWER = 8

_ALL = tuple(percent / 100 for percent in range(10, 101, 10))

# Amounts of memory for which the figures beside the error are shown.
_FEW = (0.1, 0.2, 0.5, 1.0)

_SHOWN: dict[str, Callable[[Errors], npt.NDArray[np.float64]]] = {
    "error": lambda errors: errors.ratio[:, 0],
    "mean of relative errors": lambda errors: errors.relative[:, 0],
    "estimated count of true": lambda errors: errors.count,
    "windows without a sample": lambda errors: errors.empty,
    "rows held of those allowed": lambda errors: errors.held,
}


def _table(rows: Sequence[ErrorRow]) -> Table:
    errors = errors_of(rows)
    memories = rows[0].memories
    cells = [
        (
            f"{what}, %",
            f"{100 * memory:g}",
            *(_cell(figure(found)[at]) for found in errors.values()),
        )
        for what, figure in _SHOWN.items()
        for at, memory in enumerate(memories)
        if what == "error" or memory in _FEW
    ]
    first = (
        f"Error: the sum of |estimate - truth| over the sum of |truth|, of all windows. "
        f"{seeds_note(errors)}"
    )
    second = (
        "100 % of memory is what a full window really holds: 0.8 r1 W1 rows, as the paper's "
        "arrivals bring 0.8 of the rate. UNIFORM is allowed 32/34 of that."
    )
    headings = ("what", "memory\n%", *headings_of(errors))
    return Table(headings, cells, [first, second])


def _cell(share: float) -> str:
    return "" if np.isnan(share) else f"{100 * share:.1f}"


def _draw(rows: Sequence[ErrorRow], path: Path) -> None:
    errors = errors_of(rows)
    memories = rows[0].memories
    rows_of_panels = (
        ("error", "error of the average (% of it)", 0.6),
        ("estimated count of true", "estimated count (% of the true one)", 1.2),
    )
    panels = [
        Panel(title, lines(errors, samplers, memories, _SHOWN[what]), y_top=top, y_title=axis)
        for what, axis, top in rows_of_panels
        for title, samplers in (("As printed", PRINTED), ("Penstock", OURS))
    ]
    save_panels_plot(
        path,
        panels=panels,
        title="How wrong is an average over a sampled join?",
        subtitle=f"Inversely correlated keys, Z = 2; average of an attribute of "
        f"{rows[0].of.upper()}, mu = sigma = 100",
        x_title="memory (% of a full window)",
        y_title="",
        columns=2,
        x_percent=True,
    )


def study_of_memory(
    *, name: str, title: str, reference: str, of: str
) -> Study[ErrorPoint, ErrorRow]:
    """Make the study of an attribute of one of the streams."""
    return Study(
        id=name,
        title=title,
        reference=reference,
        grid=grid([FrequencyScenario("IC", seed=seed) for seed in range(_SEEDS)], _FEWER, of, _ALL),
        quick_grid=grid(
            [FrequencyScenario("IC", windows=8, seed=seed) for seed in range(3)], 1, of, [0.1, 0.5]
        ),
        run=run,
        table=_table,
        draw=_draw,
    )

"""Section 6.2.4 of Srivastava and Widom: the fraction of the results that memory can sample."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from penstock.report.panels_plot import Line, Panel, save_panels_plot
from penstock.report.plot_style import BLACK, Pen
from penstock.report.tables import Table
from penstock.studies.frequency_scenario import FrequencyScenario, streams_of
from penstock.studies.samplers import OURS, PRINTED, SAMPLERS, sample
from penstock.studies.study import Study

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import numpy.typing as npt

    from penstock.testing.frequency_model import Correlation

__all__ = ["STUDY", "FractionPoint", "FractionRow"]

_MEMORIES = (0.05, 0.1, 0.2, 0.4, 0.7, 1.0)
_NAMES = {"IC": "inversely correlated", "UC": "uncorrelated", "DC": "directly correlated"}


@dataclass(frozen=True)
class FractionPoint:
    """One sampler on one pair of streams, with several amounts of memory."""

    scenario: FrequencyScenario
    contender: str
    memories: tuple[float, ...]


@dataclass(frozen=True)
class FractionRow:
    """What was found at a point: by memory the share of the results that is in the sample."""

    correlation: str
    contender: str
    seed: int
    memories: tuple[float, ...]
    fractions: tuple[float, ...]


def _run(point: FractionPoint) -> FractionRow:
    scenario = point.scenario
    streams = streams_of(scenario)
    since = scenario.measured_from
    whole = np.count_nonzero(streams.pairs.times >= since)
    fractions = []
    for memory in point.memories:
        taken = sample(point.contender, streams, memory, scenario.seed)
        fractions.append(float(np.count_nonzero(taken.times >= since) / whole))
    return FractionRow(
        scenario.correlation, point.contender, scenario.seed, point.memories, tuple(fractions)
    )


def _means(rows: Sequence[FractionRow]) -> dict[tuple[str, str], npt.NDArray[np.float64]]:
    found: dict[tuple[str, str], list[tuple[float, ...]]] = {}
    for row in rows:
        found.setdefault((row.correlation, row.contender), []).append(row.fractions)
    return {key: np.mean(own, axis=0) for key, own in found.items()}


def _words(name: str) -> str:
    return f"{'printed' if name in PRINTED else 'Penstock'}\n{SAMPLERS[name].heading}"


def _table(rows: Sequence[FractionRow]) -> Table:
    found = _means(rows)
    samplers = [name for name in SAMPLERS if any(row.contender == name for row in rows)]
    memories = rows[0].memories
    lines = [
        (
            _NAMES[correlation],
            f"{100 * memory:g}",
            *(f"{100 * found[correlation, name][at]:.1f}" for name in samplers),
        )
        for correlation in dict.fromkeys(row.correlation for row in rows)
        for at, memory in enumerate(memories)
    ]
    headings = ("keys", "memory\n%", *(_words(name) for name in samplers))
    note = "The share of all results that is in the sample, in percent."
    return Table(headings, lines, [note])


def _draw(rows: Sequence[FractionRow], path: Path) -> None:
    found = _means(rows)
    panels = []
    for correlation in dict.fromkeys(row.correlation for row in rows):
        lines = [
            Line(SAMPLERS[name].pen, np.array(rows[0].memories), found[correlation, name])
            for name in SAMPLERS
            if (correlation, name) in found and name in PRINTED
        ]
        same = np.array(rows[0].memories)
        lines.insert(0, Line(Pen("as much as memory", BLACK, (0, (1, 2))), same, same))
        panels.append(Panel(_NAMES[correlation], lines))
    save_panels_plot(
        path,
        panels=panels,
        title="How much of the result can be sampled?",
        subtitle="50 keys, Z = 2; the samplers as printed",
        x_title="memory (% of a full window)",
        y_title="sampled (% of all results)",
        x_percent=True,
    )


def _grid(
    correlations: Sequence[Correlation], seeds: int, memories: Sequence[float], windows: int
) -> tuple[FractionPoint, ...]:
    return tuple(
        FractionPoint(
            FrequencyScenario(correlation, windows=windows, seed=seed), name, tuple(memories)
        )
        for correlation in correlations
        for seed in range(seeds)
        for name in (*PRINTED, *(OURS if not seed else ()))
    )


STUDY = Study(
    id="srivastava04-fraction",
    title="the share of the results that can be sampled against memory",
    reference="Srivastava and Widom 2004, section 6.2.4, Figure 8",
    grid=_grid(("IC", "UC"), 3, _MEMORIES, windows=8),
    quick_grid=_grid(("IC",), 1, (0.1, 0.5), windows=6),
    run=_run,
    table=_table,
    draw=_draw,
)

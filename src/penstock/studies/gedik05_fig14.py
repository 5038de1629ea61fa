"""Figure 14 of Gedik et al.: output against the time between adaptation steps."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from penstock.report.panels_plot import Line, Panel, save_panels_plot
from penstock.report.plot_style import BLUE, GREEN, VERMILION, Pen
from penstock.report.tables import Table
from penstock.studies.grub_points import (
    APART,
    DEVIATIONS,
    GrubPoint,
    GrubRow,
    mean_rows,
    measure_grub,
)
from penstock.studies.study import Study

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

__all__ = ["STUDY"]

_INTERVALS = (0.5, 1.0, 2.0, 3.0, 5.0, 8.0)
_FACTORS = (1.0, 1.5, 0.5)  # 100, 150 and 50 rows per second
_EVERY = 8.0
_COLOURS = {3: BLUE, 4: GREEN, 5: VERMILION}
_FREE, _TIMED = "grub-greedy", "grub-effort"


def _changes(duration: float) -> tuple[tuple[float, float], ...]:
    return tuple(
        (number * _EVERY, _FACTORS[number % len(_FACTORS)])
        for number in range(1, int(np.ceil(duration / _EVERY)))
    )


def _key(point: GrubPoint) -> tuple[int, float]:
    return len(point.lags), point.interval


def _table(rows: Sequence[GrubRow]) -> Table:
    found = mean_rows(rows, _key)
    streams = sorted({len(row.point.lags) for row in rows})
    lines = [
        (
            f"{interval:g}",
            *(f"{found[(m, interval), name][0]:,.0f}" for m in streams for name in (_FREE, _TIMED)),
            *(f"{found[(m, interval), _TIMED][2]:.0f}" for m in streams),
        )
        for interval in dict.fromkeys(row.point.interval for row in rows)
    ]
    headings = (
        "Delta\ns",
        *(f"m = {m}\n{what}" for m in streams for what in ("results/s", "with effort")),
        *(f"m = {m}\ndropped/s" for m in streams),
    )
    notes = [
        "With effort: to set harvest fractions takes the comparisons that Figure 5 would take.",
        "Dropped: rows that full buffers refuse, with effort.",
    ]
    return Table(headings, lines, notes, names=0)


def _draw(rows: Sequence[GrubRow], path: Path) -> None:
    found = mean_rows(rows, _key)
    intervals = sorted({row.point.interval for row in rows})
    lines = []
    for m in sorted({len(row.point.lags) for row in rows}):
        for name, style, words in (
            (_FREE, "solid", f"m = {m}"),
            (_TIMED, (0, (2, 1)), f"m = {m}, with effort"),
        ):
            y = np.array([found[(m, interval), name][0] for interval in intervals]) / 1000.0
            lines.append(Line(Pen(words, _COLOURS[m], style), np.array(intervals), y))
    save_panels_plot(
        path,
        panels=[Panel("", lines)],
        title="How often should what is probed be chosen again?",
        subtitle="rates of 100, 150 and 50 rows/s for 8 s each, streams with lags; simulated",
        x_title="time between adaptation steps (s)",
        y_title="results per second (thousands)",
        columns=1,
        y_percent=False,
    )


def _grid(
    intervals: Sequence[float], streams: Sequence[int], seeds: int, duration: float
) -> tuple[GrubPoint, ...]:
    return tuple(
        GrubPoint(
            contender,
            100.0,
            APART[:m],
            DEVIATIONS[:m],
            interval=interval,
            changes=_changes(duration),
            duration=duration,
            counts_from=24.0,
            seed=seed,
        )
        for m in streams
        for interval in intervals
        for contender in (_FREE, _TIMED)
        for seed in range(seeds)
    )


STUDY = Study(
    id="gedik05-fig14",
    title="output of GrubJoin against the time between adaptation steps",
    reference="Gedik, Wu, Yu and Liu 2005, figure 14",
    grid=_grid(_INTERVALS, (3, 4, 5), 2, 72.0),
    quick_grid=_grid((1.0, 8.0), (3,), 1, 32.0),
    run=measure_grub,
    table=_table,
    draw=_draw,
)

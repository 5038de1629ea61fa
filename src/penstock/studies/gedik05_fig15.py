"""Figure 15 of Gedik et al.: rows that full buffers refuse, against their size."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from penstock.report.panels_plot import Line, Panel, save_panels_plot
from penstock.report.plot_style import BLUE, GREEN, VERMILION, Pen
from penstock.report.tables import Table
from penstock.studies.grub_points import GrubPoint, GrubRow, mean_rows, measure_grub
from penstock.studies.study import Study

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

__all__ = ["STUDY"]

_SECONDS = (0.05, 0.25, 0.5, 1.0, 1.5, 2.0)
_RATES = (100.0, 150.0, 200.0)
_COLOURS = (BLUE, GREEN, VERMILION)
_CONTENDER = "grub-greedy"


def _key(point: GrubPoint) -> tuple[float, float]:
    return point.rate, point.buffer / point.rate


def _table(rows: Sequence[GrubRow]) -> Table:
    found = mean_rows(rows, _key)
    lines = []
    smallest: dict[float, float] = {}
    for rate, seconds in dict.fromkeys(_key(row.point) for row in rows):
        output, _, dropped = found[(rate, seconds), _CONTENDER]
        share = dropped / (3.0 * rate)
        first = smallest.setdefault(rate, share)
        less = f"{100 * (1 - share / first):.0f}" if first > 0.0 else "0"
        lines.append((f"{rate:g}", f"{seconds:.2f}", f"{100 * share:.1f}", less, f"{output:,.0f}"))
    headings = ("rows/s", "buffer\ns", "dropped\n%", "less than with\nthe smallest %", "results/s")
    return Table(headings, lines, ["Three streams with lags; GrubJoin as printed."], names=0)


def _draw(rows: Sequence[GrubRow], path: Path) -> None:
    found = mean_rows(rows, _key)
    lines = []
    for rate, colour in zip(sorted({row.point.rate for row in rows}), _COLOURS, strict=False):
        seconds = sorted({_key(row.point)[1] for row in rows if row.point.rate == rate})
        y = np.array([found[(rate, each), _CONTENDER][2] / (0.03 * rate) for each in seconds])
        lines.append(Line(Pen(f"{rate:g} rows/s", colour, "solid", "o"), np.array(seconds), y))
    save_panels_plot(
        path,
        panels=[Panel("", lines)],
        title="Do larger buffers prevent that rows are dropped?",
        subtitle="GrubJoin as printed, 3 streams with lags, adaptation every 5 s; simulated",
        x_title="size of the buffers (seconds of their stream)",
        y_title="rows dropped (%)",
        columns=1,
        y_percent=False,
    )


def _grid(
    rates: Sequence[float], seconds: Sequence[float], seeds: int, duration: float = 60.0
) -> tuple[GrubPoint, ...]:
    return tuple(
        GrubPoint(_CONTENDER, rate, buffer=round(rate * each), duration=duration, seed=seed)
        for rate in rates
        for each in seconds
        for seed in range(seeds)
    )


STUDY = Study(
    id="gedik05-fig15",
    title="rows that full input buffers drop against their size",
    reference="Gedik, Wu, Yu and Liu 2005, figure 15",
    grid=_grid(_RATES, _SECONDS, 3),
    quick_grid=_grid((120.0,), (0.05, 1.0), 1, duration=30.0),
    run=measure_grub,
    table=_table,
    draw=_draw,
)

"""Figure 10 of Gedik et al.: greedy forward, in reverse, and double-sided."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from penstock.report.panels_plot import Line, Panel, save_panels_plot
from penstock.report.plot_style import BLACK, BLUE, VERMILION, Pen
from penstock.report.tables import Table
from penstock.studies.harvest_timing import TimePoint, TimeRow, measure_time
from penstock.studies.study import Study

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

__all__ = ["STUDY"]

_COUNT = 20
_THROTTLES = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
_PENS = {
    "double-sided": Pen("double-sided", BLACK, (0, (1, 1)), width=5.0),
    "forward": Pen("greedy", VERMILION),
    "reverse": Pen("greedy reverse", BLUE),
}


def _table(rows: Sequence[TimeRow]) -> Table:
    found = {(row.throttle, row.contender): row for row in rows}
    lines = [
        (
            f"{throttle:g}",
            *(f"{found[throttle, way].tried:.0f}" for way in _PENS),
            *(f"{found[throttle, way].milliseconds:.3f}" for way in _PENS),
        )
        for throttle in dict.fromkeys(row.throttle for row in rows)
    ]
    headings = [f"{way}\n{what}" for what in ("settings tried", "ms") for way in _PENS]
    notes = [f"3 streams, {_COUNT} sub-windows of each window."]
    return Table(("z", *headings), lines, notes, names=0)


def _draw(rows: Sequence[TimeRow], path: Path) -> None:
    lines = []
    for way, pen in _PENS.items():
        own = [row for row in rows if row.contender == way]
        x = np.array([row.throttle for row in own])
        lines.append(Line(pen, x, np.array([row.tried for row in own])))
    save_panels_plot(
        path,
        panels=[Panel("", lines)],
        title="From which side is it shorter to choose what to probe?",
        subtitle="3 streams, 20 sub-windows of each window, random rates, selectivities and scores",
        x_title="throttle fraction z (%)",
        y_title="settings tried",
        columns=1,
        x_percent=True,
        y_percent=False,
    )


def _grid(throttles: Sequence[float], problems: int, repeats: int) -> tuple[TimePoint, ...]:
    return tuple(
        TimePoint(way, 3, _COUNT, throttle, problems, repeats)
        for way in _PENS
        for throttle in throttles
    )


STUDY = Study(
    id="gedik05-fig10",
    title="settings that greedy choices try, forward, in reverse and double-sided",
    reference="Gedik, Wu, Yu and Liu 2005, figure 10",
    grid=_grid(_THROTTLES, 20, 5),
    quick_grid=_grid((0.1, 1.0), 2, 1),
    run=measure_time,
    table=_table,
    draw=_draw,
)

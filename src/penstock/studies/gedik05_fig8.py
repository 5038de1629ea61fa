"""Figure 8 of Gedik et al.: time to set harvest fractions against the number of sub-windows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from penstock.report.panels_plot import Line, Panel, save_panels_plot
from penstock.report.plot_style import BLACK, BLUE, GREEN, VERMILION, Pen
from penstock.report.tables import Table
from penstock.studies.harvest_timing import TimePoint, TimeRow, measure_time
from penstock.studies.study import Study

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

__all__ = ["STUDY"]

_THROTTLE = 0.25
_COUNTS = (5, 10, 15, 20)
_COLOURS = {3: BLUE, 4: GREEN, 5: VERMILION}


def _pen(contender: str, streams: int) -> Pen:
    if contender == "optimum":
        return Pen("optimum, m = 3", BLACK, (0, (4, 3)))
    style = "solid" if contender == "best_harvest" else (0, (2, 1))
    name = "best_harvest" if contender == "best_harvest" else "greedy"
    return Pen(f"{name}, m = {streams}", _COLOURS[streams], style, "o")


def _table(rows: Sequence[TimeRow]) -> Table:
    lines = [
        (
            row.contender if row.contender != "forward" else "greedy",
            str(row.streams),
            str(row.count),
            f"{row.milliseconds:.3f}",
            "" if np.isnan(row.tried) else f"{row.tried:.0f}",
            f"{float(row.count) ** (row.streams * (row.streams - 1)):.1e}",
        )
        for row in rows
    ]
    notes = [f"z = {_THROTTLE}. All settings: what a search without pruning would evaluate."]
    headings = ("way", "m", "n", "ms", "settings\ntried", "all settings")
    return Table(headings, lines, notes, names=1)


def _draw(rows: Sequence[TimeRow], path: Path) -> None:
    lines = [
        Line(
            _pen(contender, streams),
            np.array([float(row.count) for row in own]),
            np.array([row.milliseconds for row in own]),
        )
        for contender, streams in dict.fromkeys((row.contender, row.streams) for row in rows)
        for own in [[row for row in rows if (row.contender, row.streams) == (contender, streams)]]
    ]
    save_panels_plot(
        path,
        panels=[Panel("", lines, y_marks=(0.01, 0.1, 1.0, 10.0, 100.0))],
        title="How long does it take to choose what to probe?",
        subtitle="random rates, selectivities and scores, z = 0.25, one core",
        x_title="sub-windows of each window",
        y_title="milliseconds",
        columns=1,
        y_percent=False,
    )


def _grid(counts: Sequence[int], problems: int, repeats: int) -> tuple[TimePoint, ...]:
    sizes = [("optimum", 3), *((way, m) for way in ("forward", "best_harvest") for m in (3, 4, 5))]
    return tuple(
        TimePoint(way, m, n, _THROTTLE, problems, repeats) for way, m in sizes for n in counts
    )


STUDY = Study(
    id="gedik05-fig8",
    title="time to set harvest fractions against the number of sub-windows and of streams",
    reference="Gedik, Wu, Yu and Liu 2005, figure 8",
    grid=_grid(_COUNTS, 20, 5),
    quick_grid=_grid((5, 10), 2, 1),
    run=measure_time,
    table=_table,
    draw=_draw,
)

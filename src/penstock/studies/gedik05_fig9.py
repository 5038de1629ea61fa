"""Figure 9 of Gedik et al.: time to set harvest fractions against z, for 3 to 5 streams."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from penstock.report.panels_plot import Line, Panel, save_panels_plot
from penstock.report.plot_style import BLUE, GREEN, VERMILION, Pen
from penstock.report.tables import Table
from penstock.studies.harvest_timing import TimePoint, TimeRow, measure_time
from penstock.studies.study import Study

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

__all__ = ["STUDY"]

_COUNT = 20
_THROTTLES = (0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0)
_COLOURS = {3: BLUE, 4: GREEN, 5: VERMILION}


def _table(rows: Sequence[TimeRow]) -> Table:
    found = {(row.throttle, row.streams, row.contender): row for row in rows}
    sizes = sorted({row.streams for row in rows})
    lines = [
        (
            f"{throttle:g}",
            *(
                cell
                for m in sizes
                for cell in (
                    f"{found[throttle, m, 'forward'].tried:.0f}",
                    f"{found[throttle, m, 'forward'].milliseconds:.3f}",
                    f"{found[throttle, m, 'best_harvest'].milliseconds:.3f}",
                )
            ),
        )
        for throttle in dict.fromkeys(row.throttle for row in rows)
    ]
    headings = [
        f"m = {m}\n{what}"
        for m in sizes
        for what in ("settings tried", "greedy ms", "best_harvest ms")
    ]
    return Table(("z", *headings), lines, [f"{_COUNT} sub-windows of each window."], names=0)


def _draw(rows: Sequence[TimeRow], path: Path) -> None:
    panels = []
    for contender, title in (("forward", "greedy"), ("best_harvest", "best_harvest")):
        lines = []
        for m in sorted({row.streams for row in rows}):
            own = [row for row in rows if (row.contender, row.streams) == (contender, m)]
            x = np.array([row.throttle for row in own])
            y = np.array([row.milliseconds for row in own])
            lines.append(Line(Pen(f"m = {m}", _COLOURS[m], "solid", "o"), x, y))
        panels.append(Panel(title, lines, y_marks=(0.01, 0.1, 1.0)))
    save_panels_plot(
        path,
        panels=panels,
        title="Does it take longer to choose if more may be probed?",
        subtitle="random rates, selectivities and scores, 20 sub-windows of each window, one core",
        x_title="throttle fraction z (%)",
        y_title="milliseconds",
        columns=2,
        x_percent=True,
        y_percent=False,
    )


def _grid(throttles: Sequence[float], problems: int, repeats: int) -> tuple[TimePoint, ...]:
    return tuple(
        TimePoint(way, m, _COUNT, throttle, problems, repeats)
        for way in ("forward", "best_harvest")
        for m in (3, 4, 5)
        for throttle in throttles
    )


STUDY = Study(
    id="gedik05-fig9",
    title="time to set harvest fractions against the throttle fraction and the number of streams",
    reference="Gedik, Wu, Yu and Liu 2005, figure 9",
    grid=_grid(_THROTTLES, 20, 5),
    quick_grid=_grid((0.1, 1.0), 2, 1),
    run=measure_time,
    table=_table,
    draw=_draw,
)

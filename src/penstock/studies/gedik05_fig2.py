"""Figure 2 of Gedik et al.: the throttle fraction follows the rates of the streams."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.report.panels_plot import Line, Panel, save_panels_plot
from penstock.report.plot_style import BLACK, BLUE, Pen
from penstock.report.tables import Table
from penstock.studies.grub_points import GrubPoint, GrubRow, measure_grub
from penstock.studies.study import Study

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

__all__ = ["STUDY"]

# The paper does not print its rates: bursts of 24 s.
_CHANGES = ((24.0, 2.0), (48.0, 1.0), (72.0, 2.5), (96.0, 0.7))
_DURATION = 120.0


def _table(rows: Sequence[GrubRow]) -> Table:
    lines = [
        (f"{time:g}", f"{rate:.0f}", f"{fraction:.3f}")
        for row in rows
        for time, rate, fraction in zip(row.times, row.rates, row.fractions, strict=True)
    ]
    return Table(("time\ns", "rows/s\nof all streams", "z"), lines, names=0)


def _draw(rows: Sequence[GrubRow], path: Path) -> None:
    (row,) = rows
    most = float(row.rates.max())
    lines = [
        Line(Pen("rows per second,\nof the most", BLUE, "solid"), row.times, row.rates / most),
        Line(Pen("throttle fraction z", BLACK, "solid", "o"), row.times, row.fractions),
    ]
    save_panels_plot(
        path,
        panels=[Panel("", lines)],
        title="Does the throttle fraction follow the rates?",
        subtitle=f"3 streams, {most:.0f} rows/s at most, steps every 4 s, boost 1.2; simulated",
        x_title="time (s)",
        y_title="share (%)",
        columns=1,
    )


def _grid(duration: float) -> tuple[GrubPoint, ...]:
    return (
        GrubPoint(
            "grub-greedy", 100.0, interval=4.0, changes=_CHANGES, duration=duration, buffer=100
        ),
    )


STUDY = Study(
    id="gedik05-fig2",
    title="the throttle fraction of GrubJoin while the rates of the streams change",
    reference="Gedik, Wu, Yu and Liu 2005, figure 2",
    grid=_grid(_DURATION),
    quick_grid=_grid(40.0),
    run=measure_grub,
    table=_table,
    draw=_draw,
)

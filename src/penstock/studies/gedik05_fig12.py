"""Figure 12 of Gedik et al.: output against how much the time of a row says of its value."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from penstock.report.panels_plot import Line, Panel, save_panels_plot
from penstock.report.tables import Table
from penstock.studies.grub_points import PENS, GrubPoint, GrubRow, gain, mean_rows, measure_grub
from penstock.studies.study import Study

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

__all__ = ["STUDY"]

_DEVIATIONS = (10.0, 25.0, 50.0, 75.0, 100.0, 150.0)
# Many times the domain: values do not depend on time at all.
_NO_TIME = 10_000.0
_UNRELATED = (_NO_TIME,) * 3


def _name(point: GrubPoint) -> str:
    if point.deviations == _UNRELATED:
        return "none of time"
    if point.deviations[2] == _NO_TIME:
        return "third none"
    return f"{point.deviations[2]:g}"


def _table(rows: Sequence[GrubRow]) -> Table:
    found = mean_rows(rows, _name)
    lines = []
    for name in dict.fromkeys(_name(row.point) for row in rows):
        peer = found[name, "random-drop"][0]
        outputs = [f"{found[name, contender][0]:,.1f}" for contender in PENS]
        works = [f"{100 * found[name, contender][1]:.0f}" for contender in PENS]
        gains = [gain(found[name, each][0], peer) for each in ("grub-greedy", "grub")]
        lines.append((name, *outputs, *gains, *works))
    names = [pen.label.replace("\n", " ") for pen in PENS.values()]
    headings = (
        "kappa of the third",
        *(f"{name}\nresults/s" for name in names),
        "gain\nas printed",
        "gain\nbest_harvest",
        *(f"{name}\nwork %" for name in names),
    )
    notes = [
        "Third none: values of the third stream do not depend on time. None of time: of no stream.",
    ]
    return Table(headings, lines, notes, names=1)


def _draw(rows: Sequence[GrubRow], path: Path) -> None:
    timed = [row for row in rows if row.point.deviations[2] != _NO_TIME]
    found = mean_rows(timed, lambda point: point.deviations[2])
    places = sorted({row.point.deviations[2] for row in timed})
    lines = [
        Line(
            pen,
            np.array(places),
            np.array([found[place, contender][0] for place in places]) / 1000.0,
        )
        for contender, pen in PENS.items()
    ]
    save_panels_plot(
        path,
        panels=[Panel("", lines)],
        title="What if the third stream follows time less and less?",
        subtitle="epsilon join of 3 streams of 200 rows/s with lags, windows of 20 s; simulated",
        x_title="deviation kappa of the third stream (20 is one second)",
        y_title="results per second (thousands)",
        columns=1,
        y_percent=False,
    )


def _grid(
    deviations: Sequence[tuple[float, ...]], seeds: int, rate: float, duration: float = 60.0
) -> tuple[GrubPoint, ...]:
    return tuple(
        GrubPoint(contender, rate, deviations=each, duration=duration, seed=seed)
        for each in deviations
        for contender in PENS
        for seed in range(seeds)
    )


STUDY = Study(
    id="gedik05-fig12",
    title="output of GrubJoin and RandomDrop against the deviation of the third stream",
    reference="Gedik, Wu, Yu and Liu 2005, figure 12",
    grid=_grid([*((2.0, 2.0, each) for each in (*_DEVIATIONS, _NO_TIME)), _UNRELATED], 3, 200.0),
    quick_grid=_grid([(2.0, 2.0, 25.0), (2.0, 2.0, 75.0), _UNRELATED], 1, 120.0, duration=30.0),
    run=measure_grub,
    table=_table,
    draw=_draw,
)

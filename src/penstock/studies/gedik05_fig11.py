"""Figure 11 of Gedik et al.: output against the rates of the streams, with and without lags."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from penstock.report.panels_plot import Line, Panel, save_panels_plot
from penstock.report.tables import Table
from penstock.studies.grub_points import (
    ALIGNED,
    APART,
    PENS,
    GrubPoint,
    GrubRow,
    gain,
    mean_rows,
    measure_grub,
)
from penstock.studies.study import Study

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

__all__ = ["STUDY"]

_RATES = (50.0, 75.0, 100.0, 125.0, 150.0, 175.0, 200.0, 250.0)
_LAGS = {"aligned": ALIGNED[:3], "not aligned": APART[:3]}
_SMALL = 10  # rows, as in the paper


def _key(point: GrubPoint) -> tuple[str, int, float]:
    name = next(name for name, lags in _LAGS.items() if lags == point.lags)
    return name, point.buffer, point.rate


def _table(rows: Sequence[GrubRow]) -> Table:
    found = mean_rows(rows, _key)
    lines = []
    for key in dict.fromkeys(_key(row.point) for row in rows):
        name, buffer, rate = key
        peer = found[key, "random-drop"][0]
        outputs = [f"{found[key, contender][0]:,.0f}" for contender in PENS]
        works = [f"{100 * found[key, contender][1]:.0f}" for contender in PENS]
        gains = [gain(found[key, each][0], peer) for each in ("grub-greedy", "grub")]
        lines.append((name, str(buffer), f"{rate:g}", *outputs, *gains, *works))
    names = [pen.label.replace("\n", " ") for pen in PENS.values()]
    headings = (
        "streams",
        "buffer\nrows",
        "rows/s",
        *(f"{name}\nresults/s" for name in names),
        "gain\nas printed",
        "gain\nbest_harvest",
        *(f"{name}\nwork %" for name in names),
    )
    notes = ["Gains are over RandomDrop with a box for each stream. Work: of what the machine can."]
    return Table(headings, lines, notes, names=1)


def _draw(rows: Sequence[GrubRow], path: Path) -> None:
    found = mean_rows([row for row in rows if row.point.buffer == _SMALL], _key)
    panels = []
    for name in _LAGS:
        rates = sorted({row.point.rate for row in rows if row.point.buffer == _SMALL})
        lines = [
            Line(
                pen,
                np.array(rates),
                np.array([found[(name, _SMALL, rate), contender][0] for rate in rates]) / 1000.0,
            )
            for contender, pen in PENS.items()
        ]
        panels.append(Panel(name, lines, y_top=1.05 * _highest(rows) / 1000.0))
    save_panels_plot(
        path,
        panels=panels,
        title="How many results are left if streams are too fast?",
        subtitle="epsilon join of 3 streams, windows of 20 s, buffers of 10 rows; simulated",
        x_title="rows per second of each stream",
        y_title="results per second (thousands)",
        columns=2,
        y_percent=False,
    )


def _highest(rows: Sequence[GrubRow]) -> float:
    return max(row.output for row in rows)


def _grid(
    rates: Sequence[float], seeds: int, buffer: int = _SMALL, duration: float = 60.0
) -> tuple[GrubPoint, ...]:
    return tuple(
        GrubPoint(contender, rate, lags, buffer=buffer, duration=duration, seed=seed)
        for lags in _LAGS.values()
        for rate in rates
        for contender in PENS
        for seed in range(seeds)
    )


STUDY = Study(
    id="gedik05-fig11",
    title="output of GrubJoin and RandomDrop against the rates of the streams",
    reference="Gedik, Wu, Yu and Liu 2005, figure 11",
    grid=(*_grid(_RATES, 3), *_grid((200.0,), 3, buffer=200)),
    quick_grid=_grid((50.0, 120.0), 1, duration=30.0),
    run=measure_grub,
    table=_table,
    draw=_draw,
)

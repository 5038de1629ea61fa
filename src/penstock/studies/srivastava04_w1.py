"""Section 6.1.1 of Srivastava and Widom: what a window that was set too long costs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from penstock.report.panels_plot import Line, Panel, save_panels_plot
from penstock.report.tables import Table
from penstock.studies.contenders import CONTENDERS, THEORY
from penstock.studies.recall_memory import MemoryPoint, measure
from penstock.studies.study import Study
from penstock.studies.two_sites import TwoSites
from penstock.studies.workload import workload

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

__all__ = ["STUDY", "WindowPoint", "WindowRow"]

_CONTENDERS = ("until-expiry", "recent", "age-given", "age", "choice", THEORY)
_MS = 60_000  # in a minute


@dataclass(frozen=True)
class WindowPoint:
    """One contender with a number of rows and a window.

    Attributes
    ----------
    minutes
        W1.
    contender
        A name of `CONTENDERS`.
    rows
        That may be held.
    trace
        Minutes of the trace.
    """

    minutes: float
    contender: str
    rows: int
    trace: float


@dataclass(frozen=True)
class WindowRow:
    """What was found at a point: the share of the exact results."""

    minutes: float
    contender: str
    rows: int
    recall: float


def _run(point: WindowPoint) -> WindowRow:
    scenario = TwoSites(minutes=point.trace, window_ms=round(point.minutes * _MS))
    share = point.rows / workload(scenario).full_rows
    found = measure(MemoryPoint(scenario, point.contender, share))
    return WindowRow(point.minutes, point.contender, found.rows, found.recall)


def _table(rows: Sequence[WindowRow]) -> Table:
    names = [name for name in CONTENDERS if any(row.contender == name for row in rows)]
    found = {(row.rows, row.minutes, row.contender): row.recall for row in rows}
    lines = [
        (
            f"{held:,}",
            f"{minutes:g}",
            *(f"{100 * found[held, minutes, name]:.1f}" for name in names),
        )
        for held, minutes in dict.fromkeys((row.rows, row.minutes) for row in rows)
    ]
    headings = ("rows", "W1\nminutes", *(f"{CONTENDERS[n].heading}\nrecall %" for n in names))
    note = (
        "Nearly all results come at ages of 60 to 80 seconds, so all of these windows give the "
        "same results if memory is not limited."
    )
    return Table(headings, lines, [note])


def _draw(rows: Sequence[WindowRow], path: Path) -> None:
    panels = []
    for held in dict.fromkeys(row.rows for row in rows):
        lines = []
        for name in CONTENDERS:
            own = [row for row in rows if (row.rows, row.contender) == (held, name)]
            if own:
                x, y = (np.array([getattr(row, of) for row in own]) for of in ("minutes", "recall"))
                lines.append(Line(CONTENDERS[name].pen, x, y))
        panels.append(Panel(f"{held:,} rows", lines))
    save_panels_plot(
        path,
        panels=panels,
        title="What does a window cost that was set too long?",
        subtitle="Two sites, 50 rows per second each, joined a minute apart",
        x_title="W1, minutes",
        y_title="recall (% of the exact results)",
    )


def _grid(minutes: Iterable[float], rows: Iterable[int], trace: float) -> tuple[WindowPoint, ...]:
    rows = tuple(rows)
    return tuple(
        WindowPoint(each, name, held, trace)
        for each in minutes
        for held in rows
        for name in _CONTENDERS
    )


STUDY = Study(
    id="srivastava04-w1",
    title="recall against the window, which is longer than need be",
    reference="Srivastava and Widom 2004, section 6.1.1, Figure 6",
    grid=_grid((1.5, 2.0, 3.0), (2_400,), trace=10.0),
    quick_grid=_grid((1.5, 2.0), (1_200,), trace=5.0),
    run=_run,
    table=_table,
    draw=_draw,
)

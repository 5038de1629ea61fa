"""Our own study: how recall falls when the streams change, and comes back as that is learnt."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from penstock.report.panels_plot import Line, Panel, save_panels_plot
from penstock.studies.contenders import CONTENDERS, join_of
from penstock.studies.drifting import DriftingCurve, DriftingKeys
from penstock.studies.study import Study, Table
from penstock.studies.workload import exact_times, result_times, workload

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from penstock.studies.workload import Scenario

__all__ = ["STUDY", "DriftPoint", "DriftRow"]

Floats = npt.NDArray[np.float64]

_MEMORY = 0.1
_BINS_PER_WINDOW = 5
# Recall has come back where it is so near to what it ends at.
_NEAR = 0.95
# Windows at the end over which that is taken.
_LAST = 3


@dataclass(frozen=True)
class DriftPoint:
    """One contender on streams that change."""

    scenario: Scenario
    windows: float
    contender: str
    memory: float = _MEMORY


@dataclass(frozen=True, eq=False)
class DriftRow:
    """What was found at a point.

    Attributes
    ----------
    scenario, contender, memory
        The point, the scenario by its name.
    change
        When the streams change, in windows since they began.
    edges
        Where the bins of time begin and end, in windows.
    recall
        In each bin; NaN where the exact join has no results.
    """

    scenario: str
    contender: str
    memory: float
    change: float
    edges: Floats
    recall: Floats

    def between(self, start: float, end: float) -> Floats:
        """Give the recall of the bins between two times, in windows."""
        inside = (self.edges[:-1] >= start - 1e-9) & (self.edges[1:] <= end + 1e-9)
        return self.recall[inside]

    def back_after(self) -> float:
        """Give after how many windows recall has come back to what it ends at; NaN if never."""
        end = float(np.nanmean(self.between(self.edges[-1] - _LAST, self.edges[-1])))
        since = self.between(self.change, self.edges[-1])
        low = np.flatnonzero(~(since >= _NEAR * end))
        back = 0 if not low.size else int(low[-1]) + 1
        width = float(self.edges[1] - self.edges[0])
        return back * width if back < since.size else float("nan")


def _run(point: DriftPoint) -> DriftRow:
    made = workload(point.scenario)
    rows = round(point.memory * made.full_rows)
    edges = np.linspace(0, point.windows, round(_BINS_PER_WINDOW * point.windows) + 1)
    exact, _ = np.histogram(exact_times(point.scenario) / made.window, edges)
    times = result_times(made, join_of(point.contender, made, rows, seed=0))
    found, _ = np.histogram(times / made.window, edges)
    recall = np.full(exact.size, np.nan)
    np.divide(found, exact, out=recall, where=exact > 0)
    return DriftRow(
        point.scenario.name, point.contender, point.memory, point.windows / 2, edges, recall
    )


def _table(rows: Sequence[DriftRow]) -> Table:
    headings = (
        "streams",
        "contender",
        "recall %\nbefore",
        "at worst\nafter",
        "at the\nend",
        "back after\nwindows",
    )
    lines = [
        (
            row.scenario,
            CONTENDERS[row.contender].heading,
            _percent(np.nanmean(row.between(min(2.0, row.change - 1), row.change))),
            _percent(np.nanmin(row.between(row.change, row.edges[-1]))),
            _percent(np.nanmean(row.between(row.edges[-1] - _LAST, row.edges[-1]))),
            f"{row.back_after():.1f}",
        )
        for row in rows
    ]
    note = (
        f"Memory is {rows[0].memory:.0%} of a full window. Before: from the third window to the "
        f"change. At the end: in the last {_LAST} windows; back is within {1 - _NEAR:.0%} of that "
        f"for good."
    )
    return Table(headings, lines, [note])


def _percent(recall: np.floating[Any]) -> str:
    return f"{100 * recall:.1f}"


def _draw(rows: Sequence[DriftRow], path: Path) -> None:
    shown = []
    for scenario in dict.fromkeys(row.scenario for row in rows):
        found = {row.contender: row for row in rows if row.scenario == scenario}
        lines = [
            Line(
                CONTENDERS[name].pen,
                (found[name].edges[:-1] + found[name].edges[1:]) / 2,
                found[name].recall,
            )
            for name in CONTENDERS
            if name in found
        ]
        change = next(iter(found.values())).change
        shown.append(Panel(scenario, lines, (change, "here they change")))
    save_panels_plot(
        path,
        panels=shown,
        title="Does recall come back when the streams change?",
        subtitle=f"Memory for {rows[0].memory:.0%} of a full window; recall of every fifth of one",
        x_title="time since the streams began (windows)",
        y_title="recall (% of the exact results)",
        columns=2,
        x_limits=(0.0, float(rows[0].edges[-1])),
    )


def _grid(curve: DriftingCurve, keys: DriftingKeys) -> tuple[DriftPoint, ...]:
    return tuple(
        DriftPoint(scenario, scenario.windows, contender)
        for scenario, contenders in (
            (curve, ("recent", "prob", "age-first", "age", "choice")),
            (keys, ("recent", "prob", "age", "choice")),
        )
        for contender in contenders
    )


STUDY = Study(
    id="drift",
    title="recall over time when the age curve, or the hot keys, change half-way",
    reference="our own",
    grid=_grid(DriftingCurve(), DriftingKeys()),
    quick_grid=_grid(
        DriftingCurve(rate_1=2.0, rate_2=10.0, windows=8),
        DriftingKeys(rate_1=2.0, windows=8),
    ),
    run=_run,
    table=_table,
    draw=_draw,
)

"""What section 6.2.5 of Srivastava and Widom leaves out: more than two joins in one budget."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.report.panels_plot import save_panels_plot
from penstock.studies.shared_budget import Kind, SharedPoint, SharedRow, measure
from penstock.studies.shared_budget_figure import panels, tabulate
from penstock.studies.study import Study

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from penstock.report.tables import Table

__all__ = ["STUDY"]

_MEMORY = 0.5
_EXPONENT = 2.0
_ADDED = (0, 1, 2)
_RATE = 2.0


def _point(hard: int, easy: int, panel: str, windows: float) -> SharedPoint:
    kinds = tuple(
        Kind(name, _EXPONENT, rate=_RATE, windows=windows, seed=seed)
        for name, count, first in (("INC", hard, 0), ("DEC", easy, 100))
        for seed in range(first, first + count)
    )
    return SharedPoint(panel, float(hard + easy), kinds, _MEMORY)


def _points(added: Sequence[int], windows: float) -> tuple[SharedPoint, ...]:
    easy = [_point(1, 1 + more, "easy joins are added", windows) for more in added]
    hard = [_point(1 + more, 1, "hard joins are added", windows) for more in added]
    return (*easy, *hard)


def _table(rows: Sequence[SharedRow]) -> Table:
    gains = [
        f"{row.x:g} joins ({row.panel}): {100 * (row.formula / row.proportional - 1):.0f} % by "
        f"formula, {100 * (row.learned / row.measured_proportional - 1):.0f} % learned"
        for row in rows
    ]
    note = "What ALLOC gains over proportional memory: " + "; ".join(gains) + "."
    return tabulate(rows, "number", "the first", [note])


def _draw(rows: Sequence[SharedRow], path: Path) -> None:
    save_panels_plot(
        path,
        panels=panels(rows),
        title="What does the division of memory gain with more joins?",
        subtitle=f"Exponent {_EXPONENT:g}: INC is hard, DEC easy; memory {_MEMORY:.0%}",
        x_title="number of joins",
        y_title="least recall (% of the exact results)",
        columns=2,
    )


STUDY = Study(
    id="srivastava04-more-joins",
    title="least recall when more easy, or more hard, joins share one budget",
    reference="Srivastava and Widom 2004, section 6.2.5, last paragraph",
    grid=_points(_ADDED, 9.0),
    quick_grid=_points((1,), 5.0)[:1],
    run=measure,
    table=_table,
    draw=_draw,
)

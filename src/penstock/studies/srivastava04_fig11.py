"""Figure 11 of Srivastava and Widom: the least recall of two joins in one budget, by age curve."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.report.panels_plot import save_panels_plot
from penstock.studies.shared_budget import (
    Kind,
    SharedPoint,
    SharedRow,
    measure,
    panels,
    share_panel,
    tabulate,
)
from penstock.studies.study import Study

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from penstock.report.tables import Table

__all__ = ["STUDY"]

_MEMORY = 0.5
_EXPONENTS = (0.0, 1.0, 2.0, 3.0, 4.0, 5.0)
# A window of 1,000 rows: in the paper's, of 400, an age curve is known less well.
_RATE = 2.5


def _point(exponent: float, windows: float, seed: int) -> SharedPoint:
    kinds = tuple(
        Kind(name, exponent, rate=_RATE, windows=windows, seed=2 * seed + place)
        for place, name in enumerate(("INC", "DEC"))
    )
    return SharedPoint("INC and DEC", exponent, kinds, _MEMORY)


def _table(rows: Sequence[SharedRow]) -> Table:
    note = f"Memory is {_MEMORY:.0%} of the 0.8 r W rows that each of the two joins needs."
    return tabulate(rows, "p", "INC", [note])


def _draw(rows: Sequence[SharedRow], path: Path) -> None:
    save_panels_plot(
        path,
        panels=[*panels(rows), share_panel(rows, "what the first join, INC, gets")],
        title="What does it gain to divide memory by what joins make of it?",
        subtitle=f"One join with late matches, one with early ones; memory {_MEMORY:.0%}",
        x_title="p, exponent of the age curves",
        y_title="least recall (%), and share of memory (%)",
        columns=2,
    )


STUDY = Study(
    id="srivastava04-fig11",
    title="least recall of two joins in one budget against the exponent of their age curves",
    reference="Srivastava and Widom 2004, section 6.2.5, Figure 11",
    grid=tuple(_point(exponent, 9.0, 0) for exponent in _EXPONENTS),
    quick_grid=(_point(2.0, 6.0, 0),),
    run=measure,
    table=_table,
    draw=_draw,
)

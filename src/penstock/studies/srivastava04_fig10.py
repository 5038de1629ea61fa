"""Figure 10 of Srivastava and Widom: the least recall of two joins in one budget, by skew."""

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

_MEMORY = 0.2
_SKEWS = (0.0, 0.5, 1.0, 1.5, 2.0, 2.5)
_SEEDS = (0,)
# The paper's, and one at which more is seen of rare keys.
_RATES = (1.0, 10.0)


def _point(skew: float, windows: float, seed: int, rate: float = 1.0) -> SharedPoint:
    kinds = tuple(
        Kind(name, skew, rate=rate, windows=windows, seed=2 * seed + place)
        for place, name in enumerate(("DC", "IC"))
    )
    return SharedPoint(_panel(rate), skew, kinds, _MEMORY)


def _panel(rate: float) -> str:
    return f"DC and IC, r = {rate:.0f}"


def _table(rows: Sequence[SharedRow]) -> Table:
    note = f"Memory is {_MEMORY:.0%} of the 2 x 0.8 r W rows that each of the two joins needs."
    return tabulate(rows, "Z", "DC", [note])


def _draw(rows: Sequence[SharedRow], path: Path) -> None:
    shares = []
    for title in dict.fromkeys(row.panel for row in rows):
        own = [row for row in rows if row.panel == title]
        shares.append(share_panel(own, f"what DC, the first, gets: {title.partition(', ')[2]}"))
    save_panels_plot(
        path,
        panels=[*panels(rows), *shares],
        title="What does it gain to divide memory by what joins make of it?",
        subtitle=f"Directly and inversely correlated keys (DC, IC); memory {_MEMORY:.0%}",
        x_title="Z, skew of the keys",
        y_title="least recall (%), and share of memory (%)",
        columns=2,
    )


STUDY = Study(
    id="srivastava04-fig10",
    title="least recall of two joins in one budget against the skew of their keys",
    reference="Srivastava and Widom 2004, section 6.2.5, Figure 10",
    grid=tuple(
        _point(skew, 10.0, seed, rate) for rate in _RATES for skew in _SKEWS for seed in _SEEDS
    ),
    quick_grid=(_point(1.5, 6.0, 0),),
    run=measure,
    table=_table,
    draw=_draw,
)

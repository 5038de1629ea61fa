"""Joins that share a budget: tables, panels, and the figures of two joins."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from penstock.report.panels_plot import Line, Panel, save_panels_plot
from penstock.report.plot_style import BLACK, BLUE, GREEN, GREY, ORANGE, VERMILION, Pen
from penstock.report.tables import Table
from penstock.studies.shared_budget import SharedRow

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

__all__ = ["TwoJoins", "panels", "share_panel", "tabulate"]

# What is measured at a point, in the order of `SharedRow`.
_MEASURED = (
    "formula",
    "proportional",
    "measured",
    "measured_proportional",
    "learned",
    "share",
    "learned_share",
)

_BY_FORMULA, _PROPORTIONAL = Pen("ALLOC, formula", BLACK), Pen("proportional, formula", GREY)
_INFORMED = Pen("ALLOC, measured", BLUE, "none", dot="o")
_IN_PROPORTION = Pen("proportional, measured", VERMILION, "none", dot="s")
_LEARNED = Pen("Workload, learned", GREEN, (0, (3, 2)), dot="D")


@dataclass(frozen=True)
class TwoJoins:
    """A figure of two joins in one budget, against one parameter of both.

    Attributes
    ----------
    memory
        The budget, as a share of the rows of full windows.
    full_rows
        How many these are, in words.
    parameter, symbol
        What is varied, in words and as the paper writes it.
    first
        What the first join is.
    subtitle
        What both are, for the picture.
    """

    memory: float
    full_rows: str
    parameter: str
    symbol: str
    first: str
    subtitle: str

    def table(self, rows: Sequence[SharedRow]) -> Table:
        """Return a line for each point."""
        note = (
            f"Memory is {self.memory:.0%} of the {self.full_rows} rows that each of the two joins "
            f"needs."
        )
        return tabulate(rows, self.symbol, self.first, [note])

    def draw(self, rows: Sequence[SharedRow], path: Path) -> None:
        """Draw least recalls, and what the first join gets, for each kind of points."""
        shares = []
        for panel in dict.fromkeys(row.panel for row in rows):
            own = [row for row in rows if row.panel == panel]
            _, comma, setting = panel.partition(", ")
            shares.append(
                share_panel(own, f"what the first join, {self.first}, gets{comma}{setting}")
            )
        save_panels_plot(
            path,
            panels=[*panels(rows), *shares],
            title="What does it gain to divide memory by what joins make of it?",
            subtitle=f"{self.subtitle}; memory {self.memory:.0%}",
            x_title=f"{self.symbol}, {self.parameter}",
            y_title="least recall (%), and share of memory (%)",
            columns=2,
        )


def tabulate(rows: Sequence[SharedRow], x: str, first: str, notes: Sequence[str] = ()) -> Table:
    """Make a table: a line for each point; `first` says what the first join is."""
    means = _means(rows)
    lines = [
        (
            row.panel,
            f"{row.x:g}",
            *(
                f"{100 * each:.1f}"
                for each in (
                    row.formula,
                    row.measured,
                    row.learned,
                    row.proportional,
                    row.measured_proportional,
                )
            ),
            f"{100 * row.share:.0f}",
            f"{100 * row.learned_share:.0f}",
        )
        for row in means
    ]
    off = max(abs(row.measured - row.formula) for row in means)
    off_too = max(abs(row.measured_proportional - row.proportional) for row in means)
    note = (
        f"Least recall in %. Measured is within {100 * off:.1f} points of the formula with ALLOC, "
        f"and within {100 * off_too:.1f} with proportional memory."
    )
    headings = (
        "joins",
        x,
        "ALLOC\nformula",
        "ALLOC\nmeasured",
        "Workload\nlearned",
        "proportional\nformula",
        "proportional\nmeasured",
        f"to {first}\n% by ALLOC",
        f"to {first}\n% learned",
    )
    return Table(headings, lines, [note, *notes])


def _means(rows: Sequence[SharedRow]) -> list[SharedRow]:
    """Return the means of points that differ in their seeds only."""
    groups: dict[tuple[str, float], list[SharedRow]] = {}
    for row in rows:
        groups.setdefault((row.panel, row.x), []).append(row)
    return [
        SharedRow(
            *group,
            same[0].joins,
            *(float(np.mean([getattr(row, name) for row in same])) for name in _MEASURED),
        )
        for group, same in groups.items()
    ]


def panels(rows: Sequence[SharedRow]) -> list[Panel]:
    """Return a panel of least recalls for each kind of points."""
    means = _means(rows)
    found = []
    for title in dict.fromkeys(row.panel for row in means):
        own = [row for row in means if row.panel == title]
        x = np.array([row.x for row in own])
        lines = [
            Line(pen, x, np.array([getattr(row, name) for row in own]))
            for pen, name in (
                (_PROPORTIONAL, "proportional"),
                (_BY_FORMULA, "formula"),
                (_LEARNED, "learned"),
                (_IN_PROPORTION, "measured_proportional"),
                (_INFORMED, "measured"),
            )
        ]
        found.append(Panel(title, lines))
    return found


def share_panel(rows: Sequence[SharedRow], title: str) -> Panel:
    """Return a panel of what the first join gets of all memory."""
    means = _means(rows)
    x = np.array([row.x for row in means])
    lines = [
        Line(pen, x, np.array([getattr(row, name) for row in means]))
        for pen, name in (
            (Pen("share of the first, formula", ORANGE), "share"),
            (Pen("share of the first, learned", ORANGE, (0, (3, 2)), dot="D"), "learned_share"),
        )
    ]
    return Panel(title, lines)

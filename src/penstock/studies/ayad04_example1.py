"""Example 1 of Ayad and Naughton: what three plans of the same query need."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from penstock.planning.choose import fits
from penstock.planning.estimate import Estimator
from penstock.planning.examples import EXAMPLE_1_PLANS, example_1
from penstock.planning.tree import Pair
from penstock.planning.waiting import waiting_of
from penstock.report.panels_plot import Line, Panel, save_panels_plot
from penstock.report.plot_style import LINE_STYLES, Pen
from penstock.report.tables import Table
from penstock.studies.study import Study
from penstock.wording import about

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

__all__ = ["PENS", "STUDY", "ExampleRow"]

# Milliseconds for each row: those of the example, and more for the picture.
_GIVEN = (0.5, 4.0, 5.0)
_MORE = tuple(float(each) for each in np.arange(0.1, 5.01, 0.1).round(1) if each not in _GIVEN)

# Milliseconds of response time that the picture goes up to.
_MOST_DRAWN = 50.0

PENS = {
    name: Pen(f"({name}) {text}", colour, style)
    for (name, text), (colour, style) in zip(
        (("a", "(A ⋈ B) ⋈ C"), ("b", "(B ⋈ C) ⋈ A"), ("c", "(A ⋈ C) ⋈ B")),
        LINE_STYLES,
        strict=False,
    )
}
"""How the three plans are drawn."""


@dataclass(frozen=True)
class ExamplePoint:
    """A plan, and what a join costs for each row, in milliseconds."""

    plan: str
    milliseconds: float


@dataclass(frozen=True)
class ExampleRow:
    """What the plan needs."""

    plan: str
    milliseconds: float
    rows_per_second: float
    memory: float
    used: float
    response: float


def _measure(point: ExamplePoint) -> ExampleRow:
    model = example_1(point.milliseconds / 1000)
    plan = Estimator(model).estimate(EXAMPLE_1_PLANS[point.plan])
    return ExampleRow(
        point.plan,
        point.milliseconds,
        sum(node.arrivals for node in plan.nodes if isinstance(node.tree, Pair)),
        plan.memory,
        plan.cost,
        waiting_of(plan).response,
    )


def _table(rows: Sequence[ExampleRow]) -> Table:
    lines = [
        (
            PENS[row.plan].label,
            f"{row.milliseconds:g}",
            f"{row.rows_per_second:g}",
            f"{row.memory:g}",
            f"{100 * row.used:.1f}",
            "yes" if fits(row.used, 1.0) else "no",
            f"{1000 * row.response:.2f}" if row.used < 1 - 1e-9 else "",
        )
        for milliseconds in _GIVEN
        for row in rows
        if row.milliseconds == milliseconds
    ]
    headings = (
        "plan",
        "ms for each row",
        "rows per second at joins",
        "rows kept",
        "processor %",
        "feasible",
        "response in ms",
    )
    note = (
        f"All plans give {about(Estimator(example_1(0.001)).estimate(EXAMPLE_1_PLANS['a']).rate)} "
        "results per second as long as they are feasible. Response times are by the queue model; a "
        "plan that needs all of the time has none."
    )
    return Table(headings, lines, [note], names=1)


def _draw(rows: Sequence[ExampleRow], path: Path) -> None:
    def lines(name: str, factor: float) -> list[Line]:
        found = []
        for plan in reversed(PENS):
            own = sorted((r for r in rows if r.plan == plan), key=lambda r: r.milliseconds)
            values = np.array([factor * getattr(row, name) for row in own])
            values[[row.used >= 1 for row in own]] = np.nan
            values[values > _MOST_DRAWN] = np.nan
            found.append(Line(PENS[plan], np.array([row.milliseconds for row in own]), values))
        return found

    save_panels_plot(
        path,
        panels=[
            Panel("Use of the processor", lines("used", 1.0), y_title="share of its time"),
            Panel(
                "Response time of a result, by the queue model",
                lines("response", 1000.0),
                y_title="milliseconds",
                y_percent=False,
                y_top=_MOST_DRAWN,
            ),
        ],
        title="How long does each plan of Example 1 keep up?",
        subtitle="three streams of 10, 20 and 70 rows per second, windows of 10 rows",
        x_title="what a join costs for each row (ms)",
        y_title="share of its time",
        columns=1,
        x_limits=(0.0, 4.2),
    )


STUDY = Study(
    id="ayad04-example1",
    title="rates, memory and use of three plans of one query, and how long results take",
    reference="Ayad and Naughton 2004, Example 1",
    grid=tuple(ExamplePoint(plan, each) for each in (*_GIVEN, *_MORE) for plan in PENS),
    quick_grid=tuple(ExamplePoint(plan, each) for each in _GIVEN for plan in PENS),
    run=_measure,
    table=_table,
    draw=_draw,
)

"""Figure 7 of Ayad and Naughton: what is left of a query with drop boxes, plan by plan."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from penstock.planning.drop_boxes import keep_within
from penstock.planning.estimate import Estimator
from penstock.planning.examples import EXAMPLE_1_PLANS, example_1
from penstock.report.panels_plot import Line, Panel, save_panels_plot
from penstock.report.tables import Table
from penstock.studies.ayad04_example1 import PENS
from penstock.studies.study import Study

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

__all__ = ["STUDY", "BoxRow", "crossing"]

# Seconds for each row. Windows of one second have as many rows as a second brings: 10, 20 and 70.
_BY_ROWS = (0.0005, *np.linspace(0.001, 0.14, 140).round(6).tolist())
_BY_TIME = tuple(np.geomspace(0.0002, 0.02, 60).round(7).tolist())
_SHOWN = (0.004, 0.01, 2 / 95, 0.03, 0.05, 0.07, 0.1, 0.12)
_SHOWN_TIME = (0.001, 0.002, 0.003, 0.005, 0.01, 0.02)
_KINDS = {"rows": "Windows of 10 rows", "time": "Windows of 1 second"}


@dataclass(frozen=True)
class BoxPoint:
    """A plan, the kind of its windows, and what a join costs for each row, in seconds."""

    windows: str
    plan: str
    seconds: float


@dataclass(frozen=True)
class BoxRow:
    """Results per second with the best drop boxes, and what they keep."""

    windows: str
    plan: str
    seconds: float
    rate: float
    kept: dict[str, float]


def _measure(point: BoxPoint) -> BoxRow:
    model = example_1(point.seconds, duration=1.0 if point.windows == "time" else None)
    plan = Estimator(model).estimate(EXAMPLE_1_PLANS[point.plan])
    boxes = keep_within(plan, model, 1.0)
    return BoxRow(point.windows, point.plan, point.seconds, boxes.rate, dict(boxes.kept))


def crossing(one: str, other: str, low: float, high: float) -> float:
    """Return the cost of a row from which two plans with windows by rows give the same.

    The first gives more at `low`, and no more at `high`.

    >>> round(1 / crossing("a", "c", 0.03, 0.09), 3), round(95 * crossing("b", "c", 0.01, 0.04), 3)
    (20.0, 2.0)
    """

    def leads(seconds: float) -> bool:
        rates = [_measure(BoxPoint("rows", plan, seconds)).rate for plan in (one, other)]
        return rates[0] > rates[1] * (1 + 1e-12)

    return _last(leads, low, high)


def _last(holds: Callable[[float], bool], low: float, high: float) -> float:
    """Return where something ends that holds at `low` and not at `high`."""
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return high


def _table(rows: Sequence[BoxRow]) -> Table:
    found = {(row.windows, row.plan, row.seconds): row for row in rows}
    costs = dict.fromkeys((row.windows, row.seconds) for row in rows)
    lines = [
        (
            _KINDS[windows],
            f"{1000 * seconds:.4g}",
            *(f"{found[windows, plan, seconds].rate:.1f}" for plan in PENS),
            ", ".join(
                f"{name} {100 * share:.3g}"
                for name, share in found[windows, "a", seconds].kept.items()
            ),
        )
        for windows, seconds in costs
        if seconds in (_SHOWN if windows == "rows" else _SHOWN_TIME)
    ]
    note = (
        f"Windows by rows: (a) gives all results until 1/{1 / _feasible_until():.0f} s; "
        f"(a) is as (c) from 1/{1 / crossing('a', 'c', 0.03, 0.09):.0f} s; "
        f"(b) is below (c) from 2/{2 / crossing('b', 'c', 0.01, 0.04):.0f} s; "
        f"all are equal from 1/{1 / crossing('c', 'b', 0.06, 0.14):.0f} s."
    )
    headings = ("windows", "ms for each row", *(f"({plan})" for plan in PENS), "kept by (a) %")
    return Table(headings, lines, [note])


def _feasible_until() -> float:
    def is_feasible(seconds: float) -> bool:
        return Estimator(example_1(seconds)).estimate(EXAMPLE_1_PLANS["a"]).cost <= 1

    return _last(is_feasible, 0.001, 0.01)


def _draw(rows: Sequence[BoxRow], path: Path) -> None:
    panels = []
    for windows, title in _KINDS.items():
        lines = []
        for plan in reversed(PENS):
            own = sorted(
                (row for row in rows if (row.windows, row.plan) == (windows, plan)),
                key=lambda row: row.seconds,
            )
            x = np.array([1000 * row.seconds for row in own])
            full = 1000.0 if windows == "rows" else example_1_rate()
            lines.append(Line(PENS[plan], x, np.array([row.rate / full for row in own])))
        panels.append(Panel(title, lines))
    save_panels_plot(
        path,
        panels=panels,
        title="How much is left with drop boxes, plan by plan?",
        subtitle="Example 1: three streams of 10, 20 and 70 rows per second",
        x_title="what a join costs for each row (ms)",
        y_title="results (% of those of a feasible plan)",
        columns=1,
    )


def example_1_rate() -> float:
    """Return the results per second of Example 1 with windows of one second.

    >>> example_1_rate()
    4200.0
    """
    return Estimator(example_1(0.001, duration=1.0)).estimate(EXAMPLE_1_PLANS["a"]).rate


def _points(windows: str, costs: Sequence[float]) -> tuple[BoxPoint, ...]:
    return tuple(BoxPoint(windows, plan, cost) for cost in costs for plan in PENS)


STUDY = Study(
    id="ayad04-fig7",
    title="results against what a row costs, for three plans with the best drop boxes",
    reference="Ayad and Naughton 2004, Figure 7",
    grid=(
        *_points("rows", sorted({*_BY_ROWS, *_SHOWN})),
        *_points("time", sorted({*_BY_TIME, *_SHOWN_TIME})),
    ),
    quick_grid=(*_points("rows", _SHOWN), *_points("time", _SHOWN_TIME)),
    run=_measure,
    table=_table,
    draw=_draw,
)

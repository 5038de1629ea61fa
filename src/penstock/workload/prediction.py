"""What a workload's budget is expected to give: the allotment and the recall of each join."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from penstock.capacity import Statistics, predict
from penstock.capacity.strategy_models import MODELS
from penstock.errors import SpecificationError, must
from penstock.goals import Sample
from penstock.report.panels_plot import Line, Panel, save_panels_plot
from penstock.report.plot_style import LINE_STYLES, Pen
from penstock.report.tables import Table
from penstock.statistics.allotment import QualityCurve, allot_least, allot_total
from penstock.wording import percent

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from penstock.engine.joint_plan import JointSpecification
    from penstock.spec import Specification

__all__ = ["WorkloadPrediction", "predict_workload"]

_POINTS = 101


@dataclass(frozen=True, eq=False)
class WorkloadPrediction:
    """The allotment of a budget among joins, and the recall that each is expected to have.

    Attributes
    ----------
    unit
        Of amounts: "rows" or "bytes".
    budget
        What is divided.
    allotment
        Of each join, by its name.
    recall
        That each is expected to reach with it.
    curves
        What each join makes of an amount, a `penstock.statistics.allotment.QualityCurve`.
    """

    unit: str
    budget: int
    allotment: Mapping[str, int]
    recall: Mapping[str, float]
    curves: Mapping[str, QualityCurve]

    def table(self) -> Table:
        """Return it as a table: a line for each join."""
        rows = [
            (
                name,
                f"{round(self.curves[name].full):,}",
                f"{self.allotment[name]:,}",
                percent(self.allotment[name] / self.budget),
                percent(self.recall[name]),
            )
            for name in self.allotment
        ]
        headings = (
            "join",
            f"{self.unit} for all",
            f"allotted {self.unit}",
            "of the budget",
            "recall",
        )
        return Table(headings, rows)

    def __str__(self) -> str:
        """Return the table as text."""
        return self.table().as_text()

    def draw(self, path: Path) -> None:
        """Draw what each join makes of an amount, with its allotment as a dot, and save it.

        Parameters
        ----------
        path
            A file whose suffix says the kind of picture: ``.png``, ``.svg`` or ``.pdf``.
        """
        lines = []
        for place, (name, curve) in enumerate(self.curves.items()):
            colour, style = LINE_STYLES[place % len(LINE_STYLES)]
            lines.append(Line(Pen(name, colour, style), curve.amounts, curve.quality))
            dot = Pen(f"{name}, allotted", colour, "none", dot="o")
            at = np.array([float(self.allotment[name])])
            lines.append(Line(dot, at, np.array([self.recall[name]])))
        save_panels_plot(
            path,
            panels=[Panel("", lines)],
            title="How is the budget divided, and what does each join make of it?",
            subtitle=f"{self.budget:,} {self.unit} for {len(self.curves)} joins",
            x_title=f"{self.unit} of a join",
            y_title="recall (% of the exact results)",
            columns=1,
        )


def predict_workload(
    spec: JointSpecification, statistics: Mapping[str, Statistics]
) -> WorkloadPrediction:
    """Predict the allotment and the recall of each join; see `Workload.predict`."""
    missing = [name for name in spec.joins if name not in statistics]
    if missing or len(statistics) > len(spec.joins):
        hint = "measure them with Workload.measure"
        requirement = f"given for each join ({', '.join(spec.joins)})"
        raise SpecificationError(must("statistics", requirement, list(statistics), hint))
    if not spec.budget.limits_memory:
        hint = "give rows or memory; for time of the processor, use Join.predict for each join"
        requirement = "in rows or in memory, to be divided ahead of time"
        raise SpecificationError(must("budget of Workload", requirement, spec.budget, hint))
    curves = {name: _curve(name, join, statistics[name]) for name, join in spec.joins.items()}
    allot = allot_least if spec.objective == "least" else allot_total
    whole = spec.budget.rows or spec.budget.memory_bytes or 0
    least = sum(curve.least for curve in curves.values())
    if whole < least:
        hint = "raise it, or run fewer joins"
        requirement = f"at least {least:.0f}: one row for each stream of each join"
        raise SpecificationError(must("budget of Workload", requirement, whole, hint))
    found = allot(whole, list(curves.values()), [spec.weights[name] for name in curves])
    return WorkloadPrediction(
        "rows" if spec.budget.rows is not None else "bytes",
        whole,
        dict(zip(curves, found.amounts, strict=True)),
        dict(zip(curves, found.quality, strict=True)),
        curves,
    )


def _curve(name: str, join: Specification, statistics: Statistics) -> QualityCurve:
    """Return the recall of a join for amounts, by the formula of its strategy or of the best."""
    if isinstance(join.goal, Sample):
        hint = "replay a part of the streams to see what is allotted"
        requirement = "MaxSubset() or MaxImportance(...) for a prediction"
        raise SpecificationError(must(f'goal of join "{name}"', requirement, join.goal, hint))
    drawn = predict(join, statistics).curve(_POINTS)
    strategy = join.goal.strategy
    models = [strategy] if isinstance(strategy, str) and strategy in MODELS else list(MODELS)
    recall = np.max([drawn.recall[model] for model in models], axis=0)
    size = 1.0 if join.budget is None or join.budget.rows is not None else statistics.row_bytes
    streams = len(join.names)
    more = drawn.rows > streams
    first = np.interp(streams, drawn.rows, recall)
    return QualityCurve(np.append(streams, drawn.rows[more]) * size, np.append(first, recall[more]))

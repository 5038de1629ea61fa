"""What a workload's budget is expected to give: the allotment and the recall of each join."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from penstock.engine.shared_resources import PARTS_OF_A_CORE, SharedProcessor
from penstock.errors import SpecificationError, must
from penstock.report.panels_plot import Line, Panel, save_panels_plot
from penstock.report.plot_style import LINE_STYLES, Pen
from penstock.report.tables import Table
from penstock.statistics.allotment import allot_least, allot_total
from penstock.wording import percent
from penstock.workload.predicted_curves import (
    ERROR,
    RECALL,
    RECALL_OF_RESULTS,
    curves_of,
    measure_of,
)

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from penstock.budget import Budget
    from penstock.capacity import Statistics
    from penstock.engine.joint_plan import JointSpecification
    from penstock.statistics.allotment import QualityCurve

__all__ = ["WorkloadPrediction", "predict_workload"]

_TITLES = {
    RECALL: "recall (% of the exact results)",
    RECALL_OF_RESULTS: "recall of results (% of the exact ones)",
    ERROR: "expected error of a window's count (%)",
}
# A quality that is not 0, to be divided by.
_LEAST = 1e-9


@dataclass(frozen=True, eq=False)
class WorkloadPrediction:
    """The allotment of a budget among joins, and what is expected of each.

    Attributes
    ----------
    unit
        Of amounts: "rows" or "bytes".
    budget
        What is divided.
    allotment
        Of each join, by its name.
    recall
        That each is expected to reach with it; empty for samples.
    curves
        What each join makes of an amount, a `penstock.statistics.allotment.QualityCurve`.
    error
        Expected relative error of a count of one window's results; empty but for samples.
    measure
        What is predicted: "recall", "recall of results" where importance is the goal of a join, or
        "expected error".
    objective
        Of the workload.
    """

    unit: str
    budget: int
    allotment: Mapping[str, int]
    recall: Mapping[str, float]
    curves: Mapping[str, QualityCurve]
    error: Mapping[str, float] = field(default_factory=dict)
    measure: str = RECALL
    objective: str = "least"

    def table(self) -> Table:
        """Return it as a table: a line for each join."""
        rows = [
            (
                name,
                f"{round(self.curves[name].full):,}",
                f"{self.allotment[name]:,}",
                percent(self.allotment[name] / self.budget),
                percent((self.recall or self.error)[name]),
            )
            for name in self.allotment
        ]
        headings = (
            "join",
            f"{self.unit} for all",
            f"allotted {self.unit}",
            "of the budget",
            self.measure,
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
            quality = curve.quality
            if self.error:
                each = [_error(max(level, _LEAST), self.objective) for level in quality]
                quality = np.array(each)
            lines.append(Line(Pen(name, colour, style), curve.amounts, quality))
            dot = Pen(f"{name}, allotted", colour, "none", dot="o")
            at = np.array([float(self.allotment[name])])
            lines.append(Line(dot, at, np.array([(self.recall or self.error)[name]])))
        save_panels_plot(
            path,
            panels=[Panel("", lines)],
            title="How is the budget divided, and what does each join make of it?",
            subtitle=f"{self.budget:,} {self.unit} for {len(self.curves)} joins",
            x_title=f"{self.unit} of a join",
            y_title=_TITLES[self.measure],
            columns=1,
        )


def predict_workload(
    spec: JointSpecification, statistics: Mapping[str, Statistics], shards: int = 1
) -> WorkloadPrediction:
    """Predict the allotment and what is expected of each join; see `Workload.predict`."""
    missing = [name for name in spec.joins if name not in statistics]
    if missing or len(statistics) > len(spec.joins):
        hint = "measure them with Workload.measure"
        requirement = f"given for each join ({', '.join(spec.joins)})"
        raise SpecificationError(must("statistics", requirement, list(statistics), hint))
    curves = curves_of(spec, statistics, shards)
    allot = allot_least if spec.objective == "least" else allot_total
    unit, whole = _whole(spec.budget)
    least = sum(curve.least for curve in curves.values())
    if whole < least:
        hint = "raise it, or run fewer joins"
        requirement = f"at least {least:.0f}: one row for each stream of each join"
        raise SpecificationError(must("budget of Workload", requirement, whole, hint))
    found = allot(whole, list(curves.values()), [spec.weights[name] for name in curves])
    measure = measure_of(spec)
    if measure == ERROR:
        errors = [_error(each, spec.objective) for each in found.quality]
        recall, error = {}, dict(zip(curves, errors, strict=True))
    else:
        recall, error = dict(zip(curves, found.quality, strict=True)), {}
    allotment = dict(zip(curves, found.amounts, strict=True))
    return WorkloadPrediction(
        unit, whole, allotment, recall, curves, error, measure, spec.objective
    )


def _whole(budget: Budget) -> tuple[str, int]:
    """Return what is divided: its unit, and how much there is of it."""
    if budget.rows is not None:
        return "rows", budget.rows
    if budget.memory_bytes is not None:
        return "bytes", budget.memory_bytes
    return SharedProcessor.unit, round((budget.cpu_share or 0.0) * PARTS_OF_A_CORE)


def _error(quality: float, objective: str) -> float:
    """Return the expected error that a quality stands for."""
    return 1.0 / quality if objective == "least" else 1.0 - quality

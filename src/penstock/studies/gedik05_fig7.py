"""Figure 7 of Gedik et al.: how near the optimum greedy choices of harvest fractions are."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from penstock.report.panels_plot import Line, Panel, save_panels_plot
from penstock.report.plot_style import BLACK, BLUE, GREEN, ORANGE, VERMILION, Pen
from penstock.report.tables import Table
from penstock.statistics.harvest_frontier import best_harvest
from penstock.statistics.harvest_greedy import greedy
from penstock.studies.harvest_problems import KINDS, TITLES, Kind, problem
from penstock.studies.study import Study
from penstock.yardsticks.harvest_optimum import harvest_optimum

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from penstock.statistics.harvest_model import Harvest, HarvestModel

__all__ = ["CONTENDERS", "STUDY", "OptimalityPoint", "OptimalityRow"]

Floats = npt.NDArray[np.float64]

CONTENDERS: Mapping[str, Callable[[HarvestModel, float], Harvest]] = {
    "best-output": lambda model, z: greedy(model, z, metric="best-output"),
    "best-output-per-cost": lambda model, z: greedy(model, z, metric="best-output-per-cost"),
    "reverse": lambda model, z: greedy(model, z, way="reverse"),
    "best-delta": greedy,
    "best_harvest": best_harvest,
}
"""The paper's three metrics; best-delta in reverse; ours."""

_PENS = {
    "best-output": Pen("BestOutput", ORANGE, (0, (2, 1))),
    "best-output-per-cost": Pen("BestOutputPerCost", GREEN, (0, (6, 2))),
    "reverse": Pen("best-delta, reverse", BLUE, (0, (2, 1))),
    "best-delta": Pen("BestDeltaOutput-\nPerDeltaCost", VERMILION),
    "best_harvest": Pen("Penstock's\nbest_harvest", BLACK),
}
_THROTTLES = (0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9)
_PROBLEMS = 500


@dataclass(frozen=True)
class OptimalityPoint:
    """One way to choose, on some problems with one throttle fraction.

    Attributes
    ----------
    kind
        Distribution of the problems.
    throttle
        z.
    contender
        A name of `CONTENDERS`.
    problems
        How many there are.
    """

    kind: Kind
    throttle: float
    contender: str
    problems: int = _PROBLEMS


@dataclass(frozen=True)
class OptimalityRow:
    """Output as a share of the optimum's.

    Attributes
    ----------
    kind, throttle, contender
        The point.
    mean, low, worst
        Over the problems: the mean, the 5 % quantile and the least.
    """

    kind: str
    throttle: float
    contender: str
    mean: float
    low: float
    worst: float


@lru_cache(maxsize=1)
def _models(kind: Kind, problems: int) -> list[HarvestModel]:
    return [problem(kind, seed) for seed in range(problems)]


# All contenders of a point's problems are compared with the same optima.
@lru_cache(maxsize=2)
def _optima(kind: Kind, throttle: float, problems: int) -> Floats:
    return np.array([harvest_optimum(model, throttle).output for model in _models(kind, problems)])


def _measure(point: OptimalityPoint) -> OptimalityRow:
    optima = _optima(point.kind, point.throttle, point.problems)
    choose = CONTENDERS[point.contender]
    found = np.array(
        [choose(model, point.throttle).output for model in _models(point.kind, point.problems)]
    )
    # Where nothing fits, nothing is the optimum.
    shares = np.divide(found, optima, out=np.ones_like(found), where=optima > 0.0)
    return OptimalityRow(
        point.kind,
        point.throttle,
        point.contender,
        float(shares.mean()),
        float(np.quantile(shares, 0.05)),
        float(shares.min()),
    )


def _table(rows: Sequence[OptimalityRow]) -> Table:
    found = {(row.kind, row.throttle, row.contender): row for row in rows}
    keys = list(dict.fromkeys((row.kind, row.throttle) for row in rows))
    lines = [
        (
            TITLES[kind],
            f"{throttle:g}",
            *(
                f"{figure:.3f}"
                for name in CONTENDERS
                for row in [found[kind, throttle, name]]
                for figure in (row.mean, row.worst)
            ),
        )
        for kind, throttle in keys
    ]
    headings = [
        f"{_PENS[name].label}\n{what}".replace("-\nPer", "Per").replace("\nbest", " best")
        for name in CONTENDERS
        for what in ("mean", "least")
    ]
    notes = ["Output as a share of the optimum's: the mean over the problems, and the least."]
    for name in ("best-delta", "best_harvest"):
        own = [row for row in rows if row.contender == name]
        label = _PENS[name].label.replace("-\n", "").replace("\n", " ")
        notes.append(
            f"{label}: lowest mean {min(row.mean for row in own):.4f}, "
            f"least of all runs {min(row.worst for row in own):.3f}."
        )
    return Table(("problems", "z", *headings), lines, notes, names=1)


def _draw(rows: Sequence[OptimalityRow], path: Path) -> None:
    panels = []
    for what, title in (("mean", "mean"), ("worst", "worst of all")):
        for kind in KINDS:
            lines = [
                Line(
                    _PENS[name],
                    np.array([row.throttle for row in own]),
                    np.array([getattr(row, what) for row in own]),
                )
                for name in CONTENDERS
                for own in [[row for row in rows if (row.kind, row.contender) == (kind, name)]]
            ]
            heading = TITLES[kind] if what == "mean" else ""
            panels.append(Panel(heading, lines, y_title=f"output, {title} (% of the optimum)"))
    save_panels_plot(
        path,
        panels=panels,
        title="How near the optimum are greedy choices of what to probe?",
        subtitle="3 streams, 10 sub-windows each, random rates, selectivities and scores",
        x_title="throttle fraction z (%)",
        y_title="output (% of the optimum)",
        columns=4,
        x_percent=True,
    )


def _grid(throttles: Sequence[float], problems: int) -> tuple[OptimalityPoint, ...]:
    return tuple(
        OptimalityPoint(kind, throttle, contender, problems)
        for kind in KINDS
        for throttle in throttles
        for contender in CONTENDERS
    )


STUDY = Study(
    id="gedik05-fig7",
    title="output of greedy choices of harvest fractions as a share of the optimum",
    reference="Gedik, Wu, Yu and Liu 2005, figure 7",
    grid=_grid(_THROTTLES, _PROBLEMS),
    quick_grid=_grid((0.1, 0.5), 10),
    run=_measure,
    table=_table,
    draw=_draw,
)

"""Sections 3.2 and 3.3 of Ayad et al.: whether it pays to shed work by value.

To decide by value, frequencies have to be learned, which costs something for each arrival. The
crossover is the cost up to which a strategy by value still finds as much as the best by lot.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from penstock.report.panels_plot import Line, Panel, save_panels_plot
from penstock.report.plot_style import GREY, Pen
from penstock.report.tables import Table
from penstock.statistics.work_output import probe_no_insert
from penstock.studies.statistics_cost import CostPoint, CostRow, measure_costs
from penstock.studies.study import Study
from penstock.studies.work_contenders import BY_VALUE, ONLINE
from penstock.studies.work_points import WorkPoint, WorkRow, grid, means, measure
from penstock.studies.work_scenario import CORRELATIONS, Correlation, WorkScenario, panel_title

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from penstock.statistics.work_output import WorkModel

__all__ = ["STUDY", "CrossoverPoint", "CrossoverRow", "crossover"]

_SHARES = (0.2, 0.4, 0.6, 0.8)
_FINE = tuple(percent / 100 for percent in range(5, 100, 5))
_ZIPFS = (0.25, 0.5, 1.0, 1.5)
# What statistics cost for each arrival, as a share of C_u, where they are charged.
_CHARGED = 0.2
# Pairs of streams over which what depends on chance is averaged.
_SEEDS = 2
_ORDERS = 20
_HALVINGS = 50


@dataclass(frozen=True)
class CrossoverPoint:
    """A strategy by value, and streams.

    Attributes
    ----------
    correlation, zipf
        Of the streams.
    contender
        One of `BY_VALUE`.
    shares
        Work that is allowed, as shares of the exact join's.
    """

    correlation: Correlation
    zipf: float
    contender: str
    shares: tuple[float, ...]


@dataclass(frozen=True)
class CrossoverRow:
    """What statistics may cost, as shares of C_u for each arrival; by share of the work."""

    correlation: str
    zipf: float
    contender: str
    shares: tuple[float, ...]
    costs: tuple[float, ...]


SemanticPoint: TypeAlias = WorkPoint | CrossoverPoint | CostPoint
SemanticRow: TypeAlias = WorkRow | CrossoverRow | CostRow


def _run(point: SemanticPoint) -> SemanticRow:
    if isinstance(point, CostPoint):
        return measure_costs(point)
    if isinstance(point, WorkPoint):
        return measure(point)
    # Without correlation, the order of values is drawn.
    seeds = range(_ORDERS if point.correlation == "none" else 1)
    models = [WorkScenario(point.correlation, zipf=point.zipf, seed=seed).model for seed in seeds]
    costs = [
        float(np.mean([crossover(model, share, point.contender) for model in models]))
        for share in point.shares
    ]
    return CrossoverRow(point.correlation, point.zipf, point.contender, point.shares, tuple(costs))


def crossover(model: WorkModel, share: float, contender: str) -> float:
    """Return the cost of statistics with which a strategy by value finds as much as PNI.

    It is a share of C_u, for each arrival; 0 if the strategy finds less than PNI for nothing.

    Examples
    --------
    >>> round(crossover(WorkScenario("direct").model, 0.4, "by-partner"), 3)
    0.265
    """
    capacity = share * model.full_work
    wanted = model.output(probe_no_insert(model, capacity))
    low, high = 0.0, capacity
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        found = model.output(ONLINE[contender].steps(model, middle))
        low, high = (middle, high) if found < wanted else (low, middle)
    return (capacity - high) / (float(model.rates.sum()) * model.insert)


def _split(
    rows: Iterable[SemanticRow],
) -> tuple[list[WorkRow], list[CrossoverRow], list[CostRow]]:
    rows = list(rows)
    return (
        [row for row in rows if isinstance(row, WorkRow)],
        [row for row in rows if isinstance(row, CrossoverRow)],
        [row for row in rows if isinstance(row, CostRow)],
    )


def _table(rows: Sequence[SemanticRow]) -> Table:
    measured, crossovers, costs = _split(rows)
    found = means(measured)
    names = list(dict.fromkeys(row.line for row in measured))
    pays = {
        (row.correlation, row.contender, share): cost
        for row in crossovers
        if row.zipf == 1.0
        for share, cost in zip(row.shares, row.costs, strict=True)
    }
    lines = [
        (
            streams,
            f"{100 * share:g}",
            *(
                f"{100 * figure:.1f}"
                for name in names
                for row in [found[streams, name][share]]
                for figure in (row.formula, row.recall)
            ),
            *(f"{100 * pays[streams, name, share]:.0f}" for name in BY_VALUE),
        )
        for streams in dict.fromkeys(row.streams for row in measured)
        for share in found[streams, names[0]]
    ]
    headings = [
        *(f"{_heading(name)}\n{what} %" for name in names for what in ("formula", "output")),
        *(f"{name}\npays up to\n% of C_u" for name in BY_VALUE),
    ]
    note = (
        "Output as a share of the exact join's. The last two columns: what statistics may cost for "
        "each arrival until PNI finds as much, by formula."
    )
    notes = [note, *(_note(row) for row in costs)]
    return Table(("streams", "CPU\n%", *headings), lines, notes)


def _heading(line: str) -> str:
    name, _, arrival = line.partition(", ")
    paid = f",\nstatistics\n{float(arrival):g} C_u" if arrival else ""
    return f"{ONLINE[name].heading}{paid}"


def _note(row: CostRow) -> str:
    in_c_u = f" = {row.by_partner / row.insert:.1f} C_u" if row.insert > 0 else ""
    insert = f"C_u is {row.insert:.2f} µs" if row.insert > 0 else "C_u is too small to measure"
    return (
        f"At {row.rate:,.0f} rows per second {insert} and C_p {row.result:.2f} µs; an arrival "
        f"takes {row.exact:.2f} µs in the exact join, {row.arrival:.2f} µs if it is not inserted, "
        f"and for statistics {row.by_partner:.2f} µs{in_c_u} more with by-partner, "
        f"{row.max_subset:.2f} µs with max-subset."
    )


def _draw(rows: Sequence[SemanticRow], path: Path) -> None:
    measured, crossovers, _ = _split(rows)
    save_panels_plot(
        path,
        panels=[*_outputs(measured), *_crossovers(crossovers)],
        title="Does it pay to shed work by value?",
        subtitle="Above: output. Below: what statistics may cost until PNI finds as much",
        x_title="work allowed (%)",
        y_title="",
        x_percent=True,
    )


def _outputs(rows: Sequence[WorkRow]) -> list[Panel]:
    found = means(rows)
    return [
        Panel(
            panel_title(streams),
            [
                Line(
                    _pen(line),
                    np.array(list(by_share)),
                    np.array([row.recall for row in by_share.values()]),
                )
                for (of, line), by_share in found.items()
                if of == streams
            ],
            y_title="output (% of the exact join's)",
        )
        for streams in dict.fromkeys(row.streams for row in rows)
    ]


def _pen(line: str) -> Pen:
    name, _, arrival = line.partition(", ")
    pen = ONLINE[name].pen
    if not arrival:
        return pen
    label = f"{pen.label}, statistics\ncost {float(arrival):g} C_u an arrival"
    return replace(pen, label=label, style=(0, (2, 1)))


def _crossovers(rows: Sequence[CrossoverRow]) -> list[Panel]:
    return [
        Panel(
            "",
            [
                Line(_pen_of(row.contender, row.zipf), np.array(row.shares), np.array(row.costs))
                for row in rows
                if row.correlation == correlation
                and (row.contender == "by-partner" or row.zipf == 1.0)
            ],
            y_title="cost of statistics (% of C_u an arrival)",
            y_top=0.6,
        )
        for correlation in dict.fromkeys(row.correlation for row in rows)
    ]


def _pen_of(contender: str, zipf: float) -> Pen:
    pen = ONLINE[contender].pen
    if zipf == 1.0:
        return pen
    style = {0.25: (0, (1, 2)), 0.5: (0, (3, 2)), 1.5: (0, (6, 1, 1, 1))}[zipf]
    return Pen(f"by-partner, Zipf {zipf:g}", GREY, style, width=1.6)


def _crossover_points(zipfs: Sequence[float], shares: Sequence[float]) -> list[CrossoverPoint]:
    return [
        CrossoverPoint(correlation, zipf, name, tuple(shares))
        for correlation in CORRELATIONS
        for zipf in zipfs
        for name in BY_VALUE
    ]


def _measured(seeds: int, shares: Sequence[float], duration: float) -> list[WorkPoint]:
    scenarios = [
        WorkScenario(correlation, duration=duration, seed=seed)
        for correlation in CORRELATIONS
        for seed in range(seeds)
    ]
    return [
        *grid(scenarios, ("probe-no-insert", *BY_VALUE), shares),
        *grid(scenarios, ("by-partner",), shares, arrival=_CHARGED),
    ]


_GRID: tuple[SemanticPoint, ...] = (
    CostPoint(scale=1_000.0, seconds=10.0, repeats=5),
    CostPoint(scale=10.0, seconds=20.0, repeats=3),
    *_measured(_SEEDS, _SHARES, duration=200.0),
    *_crossover_points(_ZIPFS, _FINE),
)
_QUICK_GRID: tuple[SemanticPoint, ...] = (
    CostPoint(scale=100.0, seconds=2.0, repeats=1),
    *_measured(1, (0.4,), duration=30.0),
    *_crossover_points((0.5, 1.0), (0.2, 0.4)),
)

STUDY = Study(
    id="ayad05-semantic",
    title="output against CPU by value and by lot, and what statistics may cost",
    reference="Ayad, Naughton, Wright and Srivastava 2005, sections 3.2, 3.3 and 6",
    grid=_GRID,
    quick_grid=_QUICK_GRID,
    run=_run,
    table=_table,
    draw=_draw,
)

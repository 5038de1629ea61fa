"""Figure 7 of Srivastava and Widom: recall against memory for three age curves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.report.panels_plot import save_panels_plot
from penstock.studies.age_scenario import AgeScenario
from penstock.studies.contenders import OPTIMUM, THEORY
from penstock.studies.recall_memory import (
    MemoryPoint,
    MemoryRow,
    distance_from_theory,
    grid,
    measure,
    panels,
    tabulate,
)
from penstock.studies.study import Study

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from penstock.report.tables import Table

__all__ = ["STUDY"]

_CURVES = ("INC", "DEC", "BELL")
_ONLINE = ("until-expiry", "recent", "age-given", "age", "choice")
_MEMORIES = (0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
# A window of 400 rows is small: the mean of a few runs is needed.
_SEEDS = (0, 1, 2)
# The optimum is a linear program over all results: it takes seconds in windows of 400 rows. Windows
# of 8,000 rows have twenty times as many results.
_WINDOWS_OF_OPTIMUM = 12.0


def _at_the_papers_scale(curve: str, *seeds: int, windows: float) -> list[AgeScenario]:
    return [AgeScenario(curve, windows=windows, seed=seed) for seed in seeds]


def _at_a_users_scale(curve: str, *, windows: float) -> AgeScenario:
    return AgeScenario(curve, rate_1=20.0, rate_2=100.0, windows=windows)


def _whole_grid() -> tuple[MemoryPoint, ...]:
    points: list[MemoryPoint] = []
    for curve in _CURVES:
        points += grid(
            _at_the_papers_scale(curve, *_SEEDS, windows=22), (*_ONLINE, THEORY), _MEMORIES
        )
        shorter = _at_the_papers_scale(curve, 0, windows=_WINDOWS_OF_OPTIMUM)
        points += grid(shorter, [OPTIMUM], _MEMORIES)
    for curve in _CURVES:
        points += grid([_at_a_users_scale(curve, windows=8)], (*_ONLINE, THEORY), _MEMORIES)
    return tuple(points)


def _table(rows: Sequence[MemoryRow]) -> Table:
    first = (
        "100 % is what a full window really holds: 0.8 r1 W1 rows, as the paper's arrivals bring "
        "0.8 of the rate."
    )
    scales = dict.fromkeys(row.scenario.partition(", ")[2] for row in rows)
    notes = [
        f"In windows of {scale}, at 10 to 80 % memory, {name} is within "
        f"{distance_from_theory(own, name, 0.1, 0.8):.1%} of eq. 3."
        for scale in scales
        for own in [[row for row in rows if row.scenario.endswith(f", {scale}")]]
        for name in ("age-given", "age", "choice")
    ]
    return tabulate(rows, [first, *notes])


def _draw(rows: Sequence[MemoryRow], path: Path) -> None:
    save_panels_plot(
        path,
        panels=panels(rows),
        title="How much of the answer does an amount of memory give?",
        subtitle="Three age curves, in windows of 400 rows (the paper's) and of 8,000 rows",
        x_title="memory (% of a full window)",
        y_title="recall (% of the exact results)",
        x_percent=True,
    )


STUDY = Study(
    id="srivastava04-fig7",
    title="recall against memory for increasing, decreasing and bell-shaped age curves",
    reference="Srivastava and Widom 2004, section 6.2.2, Figure 7",
    grid=_whole_grid(),
    quick_grid=grid([AgeScenario("INC", windows=4)], (*_ONLINE, THEORY, OPTIMUM), [0.1, 0.5]),
    run=measure,
    table=_table,
    draw=_draw,
)

"""Figure 6 of Srivastava and Widom: recall against memory on the trace of two sites."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.report.panels_plot import Panel, save_panels_plot
from penstock.statistics.age_curve import AgeCurve
from penstock.studies.contenders import OPTIMUM, THEORY
from penstock.studies.recall_memory import (
    MemoryRow,
    distance_from_theory,
    grid,
    measure,
    panels,
    tabulate,
)
from penstock.studies.study import Study
from penstock.studies.two_sites import GRANULARITY_MS, WINDOW_MS, TwoSites
from penstock.studies.workload import workload

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from penstock.report.tables import Table

__all__ = ["STUDY"]

_CONTENDERS = ("until-expiry", "recent", "age-given", "age", "choice", THEORY)
_MEMORIES = tuple(percent / 100 for percent in range(5, 101, 5))
# The optimum is a linear program over all results: a point takes seconds for ten minutes of the
# trace, and six minutes for forty. From 60 % of the memory on it finds everything.
_MINUTES_OF_OPTIMUM = 10.0


def _best_age_ms() -> int:
    """Return k_opt of the trace."""
    return AgeCurve(workload(TwoSites(minutes=1)).curve).best_age * GRANULARITY_MS


def _table(rows: Sequence[MemoryRow]) -> Table:
    first = (
        f"A row gives most results per time up to an age of {_best_age_ms() / 1000:.1f} s, "
        f"{_best_age_ms() / WINDOW_MS:.1%} of the window."
    )
    notes = [
        f"{name} is within {distance_from_theory(rows, name, 0.1, 0.8):.1%} of eq. 3, at 10 to 80 "
        f"% memory."
        for name in ("age", "age-given", "choice")
    ]
    return tabulate(rows, [first, *notes])


def _draw(rows: Sequence[MemoryRow], path: Path) -> None:
    best = _best_age_ms()
    mark = (best / WINDOW_MS, f"holds all rows\nup to {best / 1000:.1f} s")
    save_panels_plot(
        path,
        panels=[Panel("", panel.lines, mark, mark_height=0.08) for panel in panels(rows)],
        title="How much of the answer does an amount of memory give?",
        subtitle="Two sites, 50 rows per second each, joined a minute apart; "
        "results peak at an age of 63 s",
        x_title="memory (% of a full window of 6,000 rows)",
        y_title="recall (% of the exact results)",
        x_percent=True,
    )


STUDY = Study(
    id="srivastava04-fig6",
    title="recall against memory on a trace of two sites",
    reference="Srivastava and Widom 2004, section 6.1.1, Figure 6",
    grid=(
        *grid([TwoSites()], _CONTENDERS, _MEMORIES),
        *grid([TwoSites(minutes=_MINUTES_OF_OPTIMUM)], [OPTIMUM], _MEMORIES[:12]),
    ),
    quick_grid=grid([TwoSites(minutes=6)], (*_CONTENDERS, OPTIMUM), [0.2, 0.6]),
    run=measure,
    table=_table,
    draw=_draw,
)

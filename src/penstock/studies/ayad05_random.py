"""Section 3.3 of Ayad, Naughton, Wright and Srivastava: three ways to shed work by lot."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from penstock.report.panels_plot import save_panels_plot
from penstock.report.tables import Table
from penstock.studies.study import Study
from penstock.studies.work_contenders import ONLINE
from penstock.studies.work_points import WorkPoint, WorkRow, farthest, grid, means, measure, panels
from penstock.studies.work_scenario import CORRELATIONS, WINDOWS, WorkScenario

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

__all__ = ["CONTENDERS", "STUDY"]

CONTENDERS = ("insert-no-probe", "coin-flip", "probe-no-insert")
_SHARES = tuple(percent / 100 for percent in range(20, 101, 10))
# With all of the work there is nothing to shed but what chance brings.
_COMPARED = (0.2, 0.4, 0.6, 0.8)
_SEEDS = 3


@dataclass(frozen=True)
class _Setting:
    """Streams of all three correlations, and the shares of the work to try."""

    duration: float
    seeds: int = 1
    shares: Sequence[float] = _COMPARED
    scale: float = 1.0
    burst: float = max(WINDOWS)

    @property
    def points(self) -> tuple[WorkPoint, ...]:
        """A point for each contender, share, correlation and seed."""
        scenarios = (
            WorkScenario(
                correlation,
                scale=self.scale,
                duration=self.duration,
                burst=self.burst,
                seed=seed,
            )
            for correlation in CORRELATIONS
            for seed in range(self.seeds)
        )
        return grid(scenarios, CONTENDERS, self.shares)


def _table(rows: Sequence[WorkRow]) -> Table:
    found = means(rows)
    lines = [
        (
            streams,
            f"{100 * share:g}",
            *(
                f"{100 * figure:.1f}"
                for name in CONTENDERS
                for row in [found[streams, name][share]]
                for figure in (row.formula, row.recall, row.work)
            ),
        )
        for streams in dict.fromkeys(row.streams for row in rows)
        for share in found[streams, CONTENDERS[0]]
    ]
    headings = [
        f"{ONLINE[name].heading}\n{what} %"
        for name in CONTENDERS
        for what in ("formula", "output", "work")
    ]
    notes = [
        "Output as a share of the exact join's; work that was done as a share of what was allowed.",
        *(_note(kind, own) for kind, own in _kinds(rows).items()),
    ]
    return Table(("streams", "CPU\n%", *headings), lines, notes)


def _kinds(rows: Sequence[WorkRow]) -> dict[str, list[WorkRow]]:
    """Return the rows by what their names say besides the correlation."""
    kinds: dict[str, list[WorkRow]] = {}
    for row in rows:
        kinds.setdefault(row.streams.partition(", ")[2], []).append(row)
    return kinds


def _note(kind: str, rows: Sequence[WorkRow]) -> str:
    apart = ", ".join(
        f"{ONLINE[name].heading} within {farthest(rows, name, _COMPARED):.1%}"
        for name in CONTENDERS
    )
    return f"With {kind or 'a burst of 5 s'}, at 20 to 80 % of the work: {apart} of its formula."


def _draw(rows: Sequence[WorkRow], path: Path) -> None:
    usual = [row for row in rows if row.streams in CORRELATIONS]
    save_panels_plot(
        path,
        panels=panels(means(usual)),
        title="How much of a join is left if work is shed by lot?",
        subtitle="100 values by Zipf's law, 40 and 60 rows per second, windows of 3 and 5 seconds",
        x_title="work allowed (%)",
        y_title="output (% of the exact join's)",
        x_percent=True,
    )


STUDY = Study(
    id="ayad05-random",
    title="output against CPU of three ways to shed work by lot, measured and by formula",
    reference="Ayad, Naughton, Wright and Srivastava 2005, section 3.3",
    grid=(
        *_Setting(duration=300.0, seeds=_SEEDS, shares=_SHARES).points,
        *_Setting(duration=300.0, seeds=_SEEDS, burst=0.5).points,
        *_Setting(duration=60.0, scale=10.0, burst=0.5).points,
    ),
    quick_grid=_Setting(duration=60.0, shares=(0.4, 0.8)).points,
    run=measure,
    table=_table,
    draw=_draw,
)

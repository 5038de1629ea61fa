"""A figure of importance: which strategy finds the most of it, against one thing that is varied."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

from penstock.report.panels_plot import save_panels_plot
from penstock.studies.importance_contenders import EXACT, OPTIMUM, OURS
from penstock.studies.importance_points import (
    ImportancePoint,
    ImportanceRow,
    Setting,
    grid,
    measure,
    panel_row,
    tabulate,
)
from penstock.studies.importance_settings import (
    COUNTED,
    PRINTED,
    SLOW,
    USERS,
    PapersScale,
    UsersScale,
    papers_scale,
)
from penstock.studies.study import Study

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from penstock.report.tables import Table

__all__ = ["SKEWED_KEYS", "UNIFORM_KEYS", "ImportanceFigure", "Sweep"]

UNIFORM_KEYS, SKEWED_KEYS = (
    tuple(f"{speed}, Zipf {zipf}" for speed in (PRINTED, COUNTED, SLOW)) for zipf in (0, 1)
)
"""Rows of panels: the settings of the paper's scale, with uniform and with skewed keys."""

_AT_USERS_SCALE = tuple(f"{USERS}, Zipf {zipf}" for zipf in ("0", "0.5", "1"))
_ZIPFS_OF_PAPERS, _ZIPFS_OF_USERS = (0.0, 1.0), (0.0, 0.5, 1.0)
_OTHERS = (EXACT, OPTIMUM, "fifo", "rand", "size-shed", "size", "greedy-shed", "greedy")


class Sweep(NamedTuple):
    """One setting, with keys of every skew, over some values of what is varied.

    Attributes
    ----------
    setting
        A reading of the paper's scale, such as `SLOW`, or a user's scale.
    xs
        The values.
    seeds
        How many streams of each.
    seconds
        Length of the streams of a reading; None for its own.
    """

    setting: str | UsersScale
    xs: Sequence[float]
    seeds: int = 1
    seconds: int | None = None


@dataclass(frozen=True, kw_only=True)
class ImportanceFigure:
    """What differs from figure to figure.

    Attributes
    ----------
    id, title, reference
        Of the study.
    grid, quick_grid
        Its points, as sweeps.
    vary_papers, vary_users
        Functions that return a setting of either scale at an x.
    variant
        The form of IJOIN that takes part beside it.
    heading
        Of the table's column of x.
    notes
        Returns the sentences under the table.
    question, subtitle, x_title
        Words in the picture.
    of
        What is drawn.
    fairness
        Rows of panels of fairness: the names of their settings.
    x_limits
        Of the x-axis; None for those of the lines.
    """

    id: str
    title: str
    reference: str
    grid: Sequence[Sweep]
    quick_grid: Sequence[Sweep]
    vary_papers: Callable[[PapersScale, float], PapersScale]
    vary_users: Callable[[UsersScale, float], UsersScale]
    variant: str = "ijoin-bare"
    heading: str
    notes: Callable[[Sequence[ImportanceRow]], Iterable[str]]
    question: str
    subtitle: str
    x_title: str
    of: Literal["importance", "results"] = "importance"
    fairness: Sequence[Sequence[str]] = ()
    x_limits: tuple[float, float] | None = None

    def study(self) -> Study[ImportancePoint, ImportanceRow]:
        """Return the study."""
        return Study(
            id=self.id,
            title=self.title,
            reference=self.reference,
            grid=self._points(self.grid),
            quick_grid=self._points(self.quick_grid),
            run=measure,
            table=self._table,
            draw=self._draw,
        )

    def _points(self, sweeps: Iterable[Sweep]) -> tuple[ImportancePoint, ...]:
        contenders = (*_OTHERS, self.variant, "ijoin", OURS)
        return tuple(
            point
            for sweep in sweeps
            for point in grid(
                {x: self._settings(sweep, x) for x in sweep.xs}, contenders, sweep.seeds
            )
        )

    def _settings(self, sweep: Sweep, x: float) -> Sequence[Setting]:
        """Return the settings of a sweep at an x, one for each skew."""
        setting, seconds = sweep.setting, sweep.seconds
        if not isinstance(setting, str):
            return [self.vary_users(setting.skewed(zipf), x) for zipf in _ZIPFS_OF_USERS]
        made = [self.vary_papers(papers_scale(setting, zipf), x) for zipf in _ZIPFS_OF_PAPERS]
        return made if seconds is None else [each.lasting(seconds) for each in made]

    def _table(self, rows: Sequence[ImportanceRow]) -> Table:
        return tabulate(rows, self.heading, list(self.notes(rows)))

    def _draw(self, rows: Sequence[ImportanceRow], path: Path) -> None:
        panels = [
            panel
            for settings in (UNIFORM_KEYS, SKEWED_KEYS)
            for panel in panel_row(rows, settings, self.of, y_title=f"{self.of} per row")
        ]
        for settings in self.fairness:
            panels += panel_row(rows, settings, "fairness")
        # Where all are equally important, the share of importance is that of results.
        panels += panel_row(
            rows, _AT_USERS_SCALE, "share", hidden=[EXACT], y_title=f"{self.of}, % of EXACT"
        )
        save_panels_plot(
            path,
            panels=panels,
            title=self.question,
            subtitle=self.subtitle,
            x_title=self.x_title,
            y_title="",
            columns=3,
            x_limits=self.x_limits,
        )

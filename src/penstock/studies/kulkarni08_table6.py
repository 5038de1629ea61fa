"""Table 6 of Kulkarni and Ravishankar: what it saves, and costs, to recompute priorities rarely."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from penstock.report.panels_plot import Line, Panel, save_panels_plot
from penstock.report.tables import Table
from penstock.studies.importance_contenders import CONTENDERS, EXACT, OPTIMUM, OURS
from penstock.studies.importance_points import ImportanceRow, Mean, grid, means, measure
from penstock.studies.importance_settings import (
    COUNTED,
    PRINTED,
    SLOW,
    USERS,
    UsersScale,
    papers_scale,
)
from penstock.studies.study import Study

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from penstock.studies.importance_settings import PapersScale

__all__ = ["STUDY"]

_SCHEMES = ("ijoin", "ijoin-few", "ijoin-adaptive", "ijoin-below")
_CONTENDERS = (EXACT, OPTIMUM, "fifo", "rand", "size", "greedy", *_SCHEMES, OURS)
_ZIPFS = (0.0, 1.0)
_SMALL = UsersScale(USERS, rows=100, window=150, keys=100)
_Means: TypeAlias = dict[str, dict[tuple[str, str], dict[float, Mean]]]


def _counted(zipf: float) -> PapersScale:
    """Return the streams of Table 6: 100 s, 1,000 rows in all."""
    return papers_scale(COUNTED, zipf).lasting(100)


def _heading(name: str) -> str:
    return "successive" if name == "ijoin" else CONTENDERS[name].words


def _table(rows: Sequence[ImportanceRow]) -> Table:
    found = {
        of: means(rows, of)
        for of in ("importance", "results", "fairness", "recomputations", "rows")
    }
    lines = []
    for setting, name in found["importance"]:
        importance, results, fairness, times, arrived = (
            own[setting, name][0.0] for own in found.values()
        )
        spread = "" if np.isnan(importance.spread) else f" ± {importance.spread:.2f}"
        lines.append(
            (
                setting,
                _heading(name),
                f"{importance.value * arrived.value:,.0f}",
                f"{importance.value:.2f}{spread}",
                f"{results.value * arrived.value:,.0f}",
                "" if np.isnan(fairness.value) else f"{100 * fairness.value:.0f}",
                f"{times.value:,.0f}" if name in _SCHEMES and not np.isnan(times.value) else "",
            )
        )
    headings = (
        "streams",
        "scheme",
        "total\nimportance",
        "importance\nper row",
        "results",
        "fairness\n%",
        "recomputations",
    )
    note = (
        "k is 10 and epsilon 0.5. Adaptive: priorities are recomputed if the importance of "
        "results between decisions has changed by epsilon or more; below: if it has changed by "
        "less. The optimum is measured on fewer rows."
    )
    return Table(headings, lines, [note])


def _draw(rows: Sequence[ImportanceRow], path: Path) -> None:
    found = {of: means(rows, of) for of in ("importance", "fairness", "recomputations")}
    settings = list(dict.fromkeys(row.setting for row in rows))
    panels = []
    for zipf in ("Zipf 0", "Zipf 1"):
        for of, words in (("importance", "importance"), ("fairness", "fairness")):
            for setting in settings:
                if not setting.endswith(zipf):
                    continue
                panels.append(
                    Panel(
                        setting,
                        [
                            _dot(found, setting, name, of)
                            for name in _SCHEMES
                            if (setting, name) in found[of]
                        ],
                        y_title=f"{words}, % of successive's",
                    )
                )
    save_panels_plot(
        path,
        panels=panels,
        title="What does it cost to recompute priorities more rarely?",
        subtitle="Everything as a part of what it is if they are computed for every decision",
        x_title="recomputations (%)",
        y_title="",
        columns=len([each for each in settings if each.endswith("Zipf 0")]),
        x_percent=True,
        y_top=1.3,
    )


def _dot(found: _Means, setting: str, name: str, of: str) -> Line:
    def relative(which: str) -> float:
        own = found[which]
        return own[setting, name][0.0].value / own[setting, "ijoin"][0.0].value

    pen = replace(CONTENDERS[name].pen, label=_heading(name), style="none")
    return Line(pen, np.array([relative("recomputations")]), np.array([relative(of)]))


STUDY = Study(
    id="kulkarni08-table6",
    title="importance, results, fairness and overhead of schemes of recomputation",
    reference="Kulkarni and Ravishankar 2008, section 5.5, Table 6",
    grid=(
        *grid({0.0: [_counted(zipf) for zipf in (0.0, 0.5, 1.0)]}, _CONTENDERS, seeds=10),
        *grid({0.0: [papers_scale(PRINTED, zipf) for zipf in _ZIPFS]}, _CONTENDERS, seeds=2),
        *grid({0.0: [papers_scale(SLOW, zipf) for zipf in _ZIPFS]}, _CONTENDERS, seeds=3),
        *grid({0.0: [UsersScale(USERS).skewed(zipf) for zipf in _ZIPFS]}, _CONTENDERS, seeds=2),
    ),
    quick_grid=(
        *grid({0.0: [_counted(zipf) for zipf in _ZIPFS]}, _CONTENDERS, seeds=2),
        *grid({0.0: [_SMALL.skewed(zipf) for zipf in _ZIPFS]}, _CONTENDERS, seeds=1),
    ),
    run=measure,
    table=_table,
    draw=_draw,
)

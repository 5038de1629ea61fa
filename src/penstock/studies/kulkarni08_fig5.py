"""Figure 5 of Kulkarni and Ravishankar: importance against the unproductivity threshold."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from penstock.report.panels_plot import save_panels_plot
from penstock.studies.importance_contenders import CONTENDERS, EXACT, OPTIMUM, OURS
from penstock.studies.importance_contest import (
    COUNTED,
    PRINTED,
    SLOW,
    USERS,
    ContestRow,
    grid,
    means,
    measure,
    panel_row,
    papers,
    shortened,
    tabulate,
)
from penstock.studies.importance_scales import PapersScale, UsersScale
from penstock.studies.study import Study, Table

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

__all__ = ["STUDY"]

_CONTENDERS = (
    *(EXACT, OPTIMUM, "fifo", "rand", "size-shed", "size", "greedy-shed", "greedy"),
    *("ijoin-harsh", "ijoin", OURS),
)
_THRESHOLDS = (2.0, 3.0, 5.0)
_SPEEDS = (PRINTED, COUNTED, SLOW)
_ZIPFS = ("0", "0.5", "1")


def _papers(thresholds: Iterable[float], speed: str) -> dict[float, list[PapersScale]]:
    return {
        threshold: [replace(papers(speed, zipf), unproductivity=threshold) for zipf in (0.0, 1.0)]
        for threshold in thresholds
    }


def _users(thresholds: Iterable[float], scale: UsersScale) -> dict[float, list[UsersScale]]:
    return {
        threshold: [
            replace(
                scale,
                name=f"{USERS}, Zipf {zipf:g}",
                zipf=zipf,
                unproductivity=threshold,
            )
            for zipf in (0.0, 0.5, 1.0)
        ]
        for threshold in thresholds
    }


def _table(rows: Sequence[ContestRow]) -> Table:
    found = means(rows, "importance")
    lowest, highest = (pick(row.x for row in rows) for pick in (min, max))
    notes = []
    for setting in dict.fromkeys(row.setting for row in rows):
        said = []
        for name in ("ijoin", "ijoin-harsh"):
            own = found[setting, name]
            change = own[highest].value / own[lowest].value - 1
            said.append(f"{change:+.1%} for {CONTENDERS[name].heading.replace(chr(10), ' ')}")
        notes.append(
            f"{setting}: from a threshold of {lowest:g} s to one of {highest:g} s importance "
            f"changes by {' and by '.join(said)}."
        )
    return tabulate(rows, "threshold, s", notes)


def _draw(rows: Sequence[ContestRow], path: Path) -> None:
    even, skewed = ([f"{speed}, Zipf {zipf}" for speed in _SPEEDS] for zipf in (0, 1))
    panels = [
        *panel_row(rows, even, y_title="importance per tuple"),
        *panel_row(rows, skewed, y_title="importance per tuple"),
    ]
    users = [f"{USERS}, Zipf {zipf}" for zipf in _ZIPFS]
    panels += panel_row(rows, users, "share", hidden=[EXACT], y_title="importance, % of EXACT")
    save_panels_plot(
        path,
        panels=panels,
        title="Does it pay to be strict with the unproductive?",
        subtitle="10 tuples of memory, 10,000 at a user's scale; "
        "penalties c = 1 and c = 100 a second",
        x_title="unproductivity threshold (s)",
        y_title="",
        columns=3,
    )


STUDY = Study(
    id="kulkarni08-fig5",
    title="importance against how long a tuple may go without a match",
    reference="Kulkarni and Ravishankar 2008, section 5.4, Figure 5",
    grid=(
        *grid(_papers(_THRESHOLDS[::2], PRINTED), _CONTENDERS, seeds=2),
        *grid(_papers(_THRESHOLDS, COUNTED), _CONTENDERS, seeds=3),
        *grid(_papers(_THRESHOLDS, SLOW), _CONTENDERS, seeds=3),
        *grid(_users(_THRESHOLDS[::2], UsersScale(USERS)), _CONTENDERS, seeds=1),
    ),
    quick_grid=(
        *grid(shortened(_papers((2.0, 5.0), SLOW), 300), _CONTENDERS, seeds=1),
        *grid(
            _users((2.0, 5.0), UsersScale(USERS, rows=100, window=150, keys=100)),
            _CONTENDERS,
            seeds=1,
        ),
    ),
    run=measure,
    table=_table,
    draw=_draw,
)

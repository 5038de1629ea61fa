"""Figure 3 of Kulkarni and Ravishankar: importance and fairness against the window."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from penstock.report.panels_plot import save_panels_plot
from penstock.studies.ijoin_streams import ImportanceStreams
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
    *("ijoin-bare", "ijoin", OURS),
)
_WINDOWS = (10.0, 15.0, 25.0)
# At a user's scale a second has so many rows of each stream, and the streams last so many.
_ROWS_PER_SECOND, _SECONDS = 600, 75
_SPEEDS = (PRINTED, COUNTED, SLOW)
_ZIPFS = ("0", "0.5", "1")
SLOWER = "1 every 2 to 4 s"
"""So slow that 10 tuples hold most of a window of 10 s."""


def _papers(windows: Iterable[float], speed: str) -> dict[float, list[PapersScale]]:
    return {
        window: [replace(papers(speed, zipf), window=window) for zipf in (0.0, 1.0)]
        for window in windows
    }


def _slower(windows: Iterable[float]) -> dict[float, list[PapersScale]]:
    return {
        window: [
            PapersScale(
                f"{SLOWER}, Zipf {zipf:g}",
                ImportanceStreams(rates=(0.25, 0.5), duration=2_000, zipf=zipf),
                window=window,
            )
            for zipf in (0.0, 1.0)
        ]
        for window in windows
    }


def _users(windows: Iterable[float], rows: int = 10_000) -> dict[float, list[UsersScale]]:
    per_second = _ROWS_PER_SECOND * rows // 10_000
    return {
        window: [
            UsersScale(
                f"{USERS}, Zipf {zipf:g}",
                rows=rows,
                window=round(per_second * window),
                windows=_SECONDS / window,
                keys=rows,
                zipf=zipf,
                seconds=window,
            )
            for zipf in (0.0, 0.5, 1.0)
        ]
        for window in windows
    }


def _table(rows: Sequence[ContestRow]) -> Table:
    found = means(rows, "importance")
    notes = []
    for setting in dict.fromkeys(row.setting for row in rows):
        gains = {
            CONTENDERS[name].heading.replace("\n", " "): own[max(own)].value / own[min(own)].value
            for name in _CONTENDERS
            if (own := found.get((setting, name), {}))
        }
        said = ", ".join(f"{heading} {gain - 1:+.0%}" for heading, gain in gains.items())
        notes.append(f"{setting}, longest window against shortest, importance: {said}.")
    return tabulate(rows, "window, s", notes)


def _draw(rows: Sequence[ContestRow], path: Path) -> None:
    even, skewed = ([f"{speed}, Zipf {zipf}" for speed in _SPEEDS] for zipf in (0, 1))
    slow = [f"{speed}, Zipf 0" for speed in (COUNTED, SLOW, SLOWER)]
    panels = [
        *panel_row(rows, even, y_title="importance per tuple"),
        *panel_row(rows, skewed, y_title="importance per tuple"),
        *panel_row(rows, slow, "fairness"),
    ]
    users = [f"{USERS}, Zipf {zipf}" for zipf in _ZIPFS]
    panels += panel_row(rows, users, "share", hidden=[EXACT], y_title="importance, % of EXACT")
    save_panels_plot(
        path,
        panels=panels,
        title="Does a longer window help who has no more memory?",
        subtitle="10 tuples of memory, 10,000 at a user's scale",
        x_title="window (s)",
        y_title="",
        columns=3,
        x_limits=(float(np.min(_WINDOWS)) - 1, float(np.max(_WINDOWS)) + 1),
    )


STUDY = Study(
    id="kulkarni08-fig3",
    title="importance and fairness against the window, with memory as it is",
    reference="Kulkarni and Ravishankar 2008, section 5.2, Figure 3",
    grid=(
        *grid(_papers(_WINDOWS[::2], PRINTED), _CONTENDERS, seeds=2),
        *grid(_papers(_WINDOWS, COUNTED), _CONTENDERS, seeds=3),
        *grid(_papers(_WINDOWS, SLOW), _CONTENDERS, seeds=3),
        *grid(_slower(_WINDOWS), _CONTENDERS, seeds=3),
        *grid(_users(_WINDOWS[::2]), _CONTENDERS, seeds=1),
    ),
    quick_grid=(
        *grid(shortened(_papers((10.0, 25.0), SLOW), 300), _CONTENDERS, seeds=1),
        *grid(shortened(_slower((10.0, 25.0)), 600), _CONTENDERS, seeds=1),
        *grid(_users((10.0, 25.0), rows=100), _CONTENDERS, seeds=1),
    ),
    run=measure,
    table=_table,
    draw=_draw,
)

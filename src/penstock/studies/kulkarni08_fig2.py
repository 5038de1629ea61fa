"""Figure 2 of Kulkarni and Ravishankar: importance and fairness against memory."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from penstock.report.panels_plot import save_panels_plot
from penstock.studies.importance_contenders import EXACT, OPTIMUM, OURS
from penstock.studies.importance_contest import (
    COUNTED,
    PRINTED,
    SLOW,
    USERS,
    ContestRow,
    best_of,
    grid,
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
_COMPARED = {
    "sheds first": ("fifo", "rand", "size-shed", "greedy-shed"),
    "probes first": ("fifo", "rand", "size", "greedy"),
}
# The paper has 5 to 20; each stream has half of it.
_MEMORIES = (6, 10, 20)
_ROWS = (5_000, 10_000, 20_000)
_USERS = UsersScale(USERS, window=40_000, windows=1.5)
_SPEEDS = (PRINTED, COUNTED, SLOW)
_ZIPFS = ("0", "0.5", "1")


def _papers(memories: Iterable[int], speed: str) -> dict[float, list[PapersScale]]:
    return {
        memory: [replace(papers(speed, zipf), memory=memory) for zipf in (0.0, 1.0)]
        for memory in memories
    }


def _users(scale: UsersScale, rows: Iterable[int]) -> dict[float, list[UsersScale]]:
    return {
        each: [
            replace(scale, name=f"{USERS}, Zipf {zipf:g}", zipf=zipf, rows=each)
            for zipf in (0.0, 0.5, 1.0)
        ]
        for each in rows
    }


def _table(rows: Sequence[ContestRow]) -> Table:
    return tabulate(rows, "memory", list(best_notes(rows)))


def best_notes(rows: Sequence[ContestRow]) -> Iterable[str]:
    """Say of each setting who of the paper's others is best, and how it compares with IJOIN."""
    for setting in dict.fromkeys(row.setting for row in rows):
        said = []
        for order, others in _COMPARED.items():
            if setting.startswith(USERS) and order == "sheds first":
                continue
            ahead = best_of(rows, setting, others)
            low, high = (pick(each for _, each in ahead.values()) for pick in (min, max))
            names = "/".join(dict.fromkeys(name for name, _ in ahead.values()))
            names = names.replace("-shed", "").upper()
            said.append(f"{names} has {low:+.0%} to {high:+.0%} where it {order}")
        yield f"{setting}: of the others, against IJOIN, the best, {'; '.join(said)}."


def _draw(rows: Sequence[ContestRow], path: Path) -> None:
    even, skewed = ([f"{speed}, Zipf {zipf}" for speed in _SPEEDS] for zipf in (0, 1))
    panels = [
        *panel_row(rows, even, y_title="importance per tuple"),
        *panel_row(rows, skewed, y_title="importance per tuple"),
        *panel_row(rows, even, "fairness"),
        *panel_row(rows, skewed, "fairness"),
    ]
    users = [f"{USERS}, Zipf {zipf}" for zipf in _ZIPFS]
    panels += panel_row(rows, users, "share", hidden=[EXACT], y_title="importance, % of EXACT")
    save_panels_plot(
        path,
        panels=panels,
        title="Who makes the most important results of little memory?",
        subtitle="Keys uniform (Zipf 0) or skewed (Zipf 1), importance independent of them",
        x_title="memory (tuples)",
        y_title="",
        columns=3,
    )


STUDY = Study(
    id="kulkarni08-fig2",
    title="importance and fairness against memory, when tuples differ in importance",
    reference="Kulkarni and Ravishankar 2008, section 5.1, Figure 2",
    grid=(
        *grid(_papers(_MEMORIES, PRINTED), _CONTENDERS, seeds=2),
        *grid(_papers(_MEMORIES, COUNTED), _CONTENDERS, seeds=3),
        *grid(_papers(_MEMORIES, SLOW), _CONTENDERS, seeds=3),
        *grid(_users(_USERS, _ROWS), _CONTENDERS, seeds=2),
    ),
    quick_grid=(
        *grid(shortened(_papers((6, 10), SLOW), 300), _CONTENDERS, seeds=1),
        *grid(_users(UsersScale(USERS, window=150, keys=100), (100,)), _CONTENDERS, seeds=1),
    ),
    run=measure,
    table=_table,
    draw=_draw,
)

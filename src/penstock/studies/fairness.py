"""Our own study: what fairness between rows costs in importance."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from penstock.report.panels_plot import Line, Panel, save_panels_plot
from penstock.report.tables import Table
from penstock.studies.importance_contenders import CONTENDERS, EXACT, OURS, importance_goal
from penstock.studies.importance_settings import UsersScale
from penstock.studies.study import Study

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

__all__ = ["STUDY", "FairnessPoint", "FairnessRow"]

_OTHERS = ("fifo", "rand", "size", "greedy", "ijoin-bare", "ijoin")
_ASKED = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0)
_ZIPFS = (0.0, 0.5, 1.0)


@dataclass(frozen=True)
class FairnessPoint:
    """One contender on one pair of streams; ours with the `fairness` that is asked for."""

    scale: UsersScale
    contender: str
    asked: float = 0.0


@dataclass(frozen=True)
class FairnessRow:
    """What was found at a point.

    Attributes
    ----------
    streams, contender, asked, seed
        The point.
    share
        Importance as a part of the exact join's.
    results
        Results as a part of its.
    fairness
        Jain's index of how long rows stayed.
    """

    streams: str
    contender: str
    asked: float
    seed: int
    share: float
    results: float
    fairness: float


def _run(point: FairnessPoint) -> FairnessRow:
    scale = point.scale
    if point.contender == OURS:
        found = scale.replay(importance_goal(fairness=point.asked))
    else:
        found = scale.measure(point.contender)
    exact = scale.measure(EXACT)
    return FairnessRow(
        scale.name,
        point.contender,
        point.asked,
        scale.seed,
        found.importance / exact.importance,
        found.results / exact.results,
        found.fairness,
    )


def _over_seeds(
    rows: Iterable[FairnessRow],
) -> dict[tuple[str, str, float], tuple[float, float, float, float]]:
    """Return means over seeds of importance, results and fairness, and the spread of the first."""
    found: dict[tuple[str, str, float], list[FairnessRow]] = {}
    for row in rows:
        found.setdefault((row.streams, row.contender, row.asked), []).append(row)
    return {
        key: (
            float(np.mean([row.share for row in own])),
            float(np.mean([row.results for row in own])),
            float(np.mean([row.fairness for row in own])),
            float(np.std([row.share for row in own], ddof=1)) if len(own) > 1 else float("nan"),
        )
        for key, own in found.items()
    }


def _table(rows: Sequence[FairnessRow]) -> Table:
    lines = [
        (
            streams,
            CONTENDERS[name].words,
            f"{asked:g}" if name == OURS else "",
            f"{100 * share:.1f}" + ("" if np.isnan(spread) else f" ± {100 * spread:.1f}"),
            f"{100 * results:.1f}",
            f"{100 * fairness:.0f}",
        )
        for (streams, name, asked), (share, results, fairness, spread) in _over_seeds(rows).items()
    ]
    headings = (
        "streams",
        "contender",
        "fairness\nasked for",
        "importance\n% of EXACT",
        "results\n% of EXACT",
        "fairness\n%",
    )
    note = "± is the standard deviation between streams."
    return Table(headings, lines, [note])


def _draw(rows: Sequence[FairnessRow], path: Path) -> None:
    found = _over_seeds(rows)
    panels = []
    for streams in dict.fromkeys(row.streams for row in rows):
        lines = []
        for name in CONTENDERS:
            own = [each for (of, other, _), each in found.items() if (of, other) == (streams, name)]
            if not own:
                continue
            pen = replace(
                CONTENDERS[name].pen, style="solid" if name == OURS else "none", dot=_DOTS[name]
            )
            lines.append(
                Line(pen, np.array([each[2] for each in own]), np.array([each[0] for each in own]))
            )
        panels.append(Panel(streams, lines))
    save_panels_plot(
        path,
        panels=panels,
        title="What does fairness cost?",
        subtitle="10,000 rows of memory, windows of 30,000; ours from fairness=0 to fairness=1",
        x_title="fairness (Jain's index)",
        y_title="importance (% of EXACT)",
        x_percent=True,
    )


# All but ours are single points.
_DOTS = {
    **{name: CONTENDERS[name].pen.dot for name in (*_OTHERS, OURS)},
    "rand": "*",
    OURS: ".",
}


def _grid(
    scale: UsersScale, zipfs: Iterable[float], asked: Iterable[float], seeds: int
) -> tuple[FairnessPoint, ...]:
    asked = tuple(asked)
    return tuple(
        point
        for zipf in zipfs
        for seed in range(seeds)
        for own in [replace(scale, name=f"Zipf {zipf:g}", zipf=zipf, seed=seed)]
        for point in (
            *(FairnessPoint(own, name) for name in _OTHERS),
            *(FairnessPoint(own, OURS, each) for each in asked),
        )
    )


STUDY = Study(
    id="fairness",
    title="importance against fairness between rows, as the parameter fairness sets it",
    reference="our own",
    grid=_grid(UsersScale(""), _ZIPFS, _ASKED, seeds=2),
    quick_grid=_grid(
        UsersScale("", rows=200, window=300, keys=200), _ZIPFS[::2], _ASKED[::3], seeds=1
    ),
    run=_run,
    table=_table,
    draw=_draw,
)

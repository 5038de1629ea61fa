"""Which plan to approximate: the open problem of Ayad and Naughton, on random queries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from penstock.planning.choose import best_with_drop_boxes
from penstock.planning.drop_boxes import keep_within
from penstock.planning.estimate import Estimator
from penstock.planning.model import Condition, QueryModel, Relation
from penstock.planning.operator_costs import OperatorCosts
from penstock.planning.search import cheapest
from penstock.report.panels_plot import Line, Panel, save_panels_plot
from penstock.report.plot_style import BLUE, VERMILION, Pen
from penstock.report.tables import Table
from penstock.studies.study import Study

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

__all__ = ["STUDY", "ChoiceRow", "random_query"]

_SHARES = (0.05, 0.2, 0.5, 0.8)
_SEEDS = 6
_STREAMS = {"rows": (3, 4, 5, 6, 7), "time": (3, 4, 5, 6)}
_WAYS = {
    "in_turn": Pen("plan, boxes in turn", VERMILION, dot="o"),
    "cheapest": Pen("cheapest plan", BLUE, dot="s"),
}


@dataclass(frozen=True)
class ChoicePoint:
    """A random query, and what there is of the time that its cheapest plan needs."""

    windows: str
    streams: int
    share: float
    seed: int


@dataclass(frozen=True)
class ChoiceRow:
    """Results of two choices, as shares of those of the best plan of all."""

    windows: str
    streams: int
    share: float
    in_turn: float
    cheapest: float


def random_query(windows: str, streams: int, seed: int) -> QueryModel:
    """Return a connected query: rates from 1 to 100, windows of 5 to 50 rows, any selectivity.

    A condition connects each stream with an earlier one; one more is added for every third stream.
    Windows by time have as many rows on average.
    """
    rng = np.random.default_rng([seed, streams])
    rates = np.exp(rng.uniform(0, np.log(100), streams))
    sizes = rng.uniform(5, 50, streams)
    pairs = [(int(rng.integers(0, at)), at) for at in range(1, streams)]
    for _ in range(streams // 3):
        left, right = sorted(rng.choice(streams, 2, replace=False).tolist())
        if (left, right) not in pairs:
            pairs.append((left, right))
    return QueryModel(
        relations=tuple(
            Relation(
                name=f"s{at}",
                rate=float(rates[at]),
                rows=float(sizes[at]) if windows == "rows" else None,
                duration=float(sizes[at] / rates[at]) if windows == "time" else None,
            )
            for at in range(streams)
        ),
        conditions=tuple(
            Condition(
                left=f"s{left}",
                right=f"s{right}",
                selectivity=float(np.exp(rng.uniform(np.log(0.01), 0))),
            )
            for left, right in pairs
        ),
        costs=OperatorCosts.per_row(0.001),
    )


def _measure(point: ChoicePoint) -> ChoiceRow:
    model = random_query(point.windows, point.streams, point.seed)
    plan = Estimator(model).estimate(cheapest(model))
    bound = point.share * plan.cost
    best = best_with_drop_boxes(model, bound, exhaustive=True)
    found = best_with_drop_boxes(model, bound, exhaustive=False)
    if best is None or found is None:
        message = "without a limit of memory there is a plan"
        raise AssertionError(message)
    simple = keep_within(plan, model, bound)
    return ChoiceRow(
        point.windows,
        point.streams,
        point.share,
        found.boxes.rate / best.boxes.rate,
        simple.rate / best.boxes.rate,
    )


def _groups(rows: Sequence[ChoiceRow]) -> dict[tuple[str, int, float], list[ChoiceRow]]:
    groups: dict[tuple[str, int, float], list[ChoiceRow]] = {}
    for row in rows:
        groups.setdefault((row.windows, row.streams, row.share), []).append(row)
    return groups


def _table(rows: Sequence[ChoiceRow]) -> Table:
    lines = []
    for (windows, streams, share), group in _groups(rows).items():
        figures: list[str] = []
        for way in _WAYS:
            values = np.array([getattr(row, way) for row in group])
            figures += [
                f"{100 * values.mean():.1f}",
                f"{100 * values.min():.1f}",
                f"{np.count_nonzero(values > 1 - 1e-6)} of {values.size}",
            ]
        lines.append((f"by {windows}", str(streams), f"{100 * share:g}", *figures))
    headings = (
        "windows",
        "streams",
        "CPU %",
        *(
            f"{way} {what}"
            for way in ("in turn:", "cheapest:")
            for what in ("mean %", "worst %", "best")
        ),
    )
    note = (
        "Results as shares of those of the best of all plans; CPU in percent of what the cheapest "
        'plan needs; "best" is how often the best was found.'
    )
    return Table(headings, lines, [note], names=1)


def _draw(rows: Sequence[ChoiceRow], path: Path) -> None:
    groups = _groups(rows)
    panels = []
    for windows in dict.fromkeys(row.windows for row in rows):
        for streams in dict.fromkeys(row.streams for row in rows if row.windows == windows):
            shares = [share for kind, count, share in groups if (kind, count) == (windows, streams)]
            lines = []
            for way, pen in reversed(_WAYS.items()):
                values = [
                    float(np.mean([getattr(row, way) for row in groups[windows, streams, share]]))
                    for share in shares
                ]
                lines.append(Line(pen, np.array(shares), np.array(values)))
            panels.append(Panel(f"{streams} streams, {windows}", lines))
    save_panels_plot(
        path,
        panels=panels,
        title="How good is a plan that was chosen without trying all?",
        subtitle="random queries, windows by rows or by time; means",
        x_title="CPU (%)",
        y_title="results (% of the best)",
        columns=5 if len(panels) > 4 else 2,
        x_percent=True,
    )


STUDY = Study(
    id="ayad04-choice",
    title="which plan to take if rows have to be dropped: two ways to choose against trying all",
    reference="our own; Ayad and Naughton 2004 leave it open",
    grid=tuple(
        ChoicePoint(windows, streams, share, seed)
        for windows, counts in _STREAMS.items()
        for streams in counts
        for share in _SHARES
        for seed in range(_SEEDS if streams < counts[-1] else _SEEDS // 2)
    ),
    quick_grid=tuple(
        ChoicePoint(windows, 3, share, seed)
        for windows in _STREAMS
        for share in (0.2, 0.8)
        for seed in range(2)
    ),
    run=_measure,
    table=_table,
    draw=_draw,
)

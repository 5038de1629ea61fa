"""Theorems 3.2 and 4.1 of Srivastava and Widom: streams on which every online strategy loses."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from penstock.budget import Budget
from penstock.goals import MaxSubset, Sample
from penstock.join import Join
from penstock.predicates import Equal
from penstock.report.panels_plot import Line, Panel, save_panels_plot
from penstock.report.plot_style import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, VERMILION, Pen
from penstock.report.tables import Table
from penstock.studies.optimum import needs_scipy
from penstock.studies.study import Study
from penstock.studies.workload import first_stream_windowed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from penstock.goals import Goal

__all__ = ["STUDY", "HardPoint", "HardRow"]

OPTIMUM = "optimum"
_PENS: Mapping[str, Pen] = {
    OPTIMUM: Pen("offline optimum", GREY, (0, (4, 3)), width=1.6),
    "fifo": Pen("FIFO", BLACK, dot="s"),
    "random": Pen("random", VERMILION, dot="x"),
    "until-expiry": Pen("UNTIL-EXPIRY", PURPLE, (0, (6, 2))),
    "age": Pen("AGE", BLUE, dot="^"),
    "prob": Pen("PROB", ORANGE, (0, (2, 1)), dot="v"),
    "choice": Pen("Penstock's choice", GREEN, (0, (3, 2)), dot="o"),
    "eq-cluster": Pen("EQ-CLUSTER", SKY, dot="D"),
    "pps-cluster": Pen("PPS-CLUSTER", BLUE, (0, (6, 2)), dot="D"),
    "uniform": Pen("UNIFORM", ORANGE, dot="D"),
}
_SUBSETS = (OPTIMUM, "fifo", "random", "until-expiry", "age", "prob", "choice")
_SAMPLES = ("eq-cluster", "pps-cluster", "uniform")
# Rows that may be held, and rows of the second stream in a round, each of which gives a result.
_MEMORY, _RESULTS = 10, 20


@dataclass(frozen=True)
class HardPoint:
    """One strategy on streams of rounds.

    In each round so many rows with keys of their own come on S1. Then 20 rows come on S2, all with
    the key of one of them, drawn by lot. The window of S1 ends with the round. To know which row to
    keep one would have to know the draw.

    Attributes
    ----------
    rivals
        K, rows of S1 in a round.
    contender
        A name of a strategy, or the optimum.
    rounds
        Of the streams.
    seed
        Of the draws.
    """

    rivals: int
    contender: str
    rounds: int
    seed: int = 0


@dataclass(frozen=True)
class HardRow:
    """What was found at a point.

    Attributes
    ----------
    rivals, contender
        The point.
    recall
        Share of the results that was found, or is in the sample.
    empty
        Share of the rounds of which no result was.
    counted
        The estimated number of results over the true one; of samples.
    """

    rivals: int
    contender: str
    recall: float
    empty: float
    counted: float


@lru_cache(maxsize=4)
def _tables(rivals: int, rounds: int, seed: int) -> Mapping[str, pa.Table]:
    draw = np.random.default_rng([seed, rivals])
    length = rivals + _RESULTS
    starts = 2 * length * np.arange(rounds)[:, np.newaxis]
    keys = np.arange(rounds * rivals).reshape(rounds, rivals)
    chosen = keys[np.arange(rounds), draw.integers(0, rivals, rounds)]
    # While S2 has rows, S1 has some without a key: its clock goes on, so that no row of S2 waits.
    ticks = np.concatenate([keys, np.full((rounds, _RESULTS), -1)], axis=1).ravel()
    return {
        "s1": pa.table(
            {
                "time": (starts + np.arange(length)).ravel(),
                "key": pa.array(ticks, mask=ticks < 0),
            }
        ),
        "s2": pa.table(
            {
                "time": (starts + rivals + np.arange(_RESULTS)).ravel(),
                "key": np.repeat(chosen, _RESULTS),
            }
        ),
    }


def _goal(contender: str) -> Goal:
    if contender in _SAMPLES:
        return Sample(strategy=contender)
    return MaxSubset(strategy=None if contender == "choice" else contender)


def _run(point: HardPoint) -> HardRow:
    tables = _tables(point.rivals, point.rounds, point.seed)
    length = point.rivals + _RESULTS
    streams = first_stream_windowed(length)
    whole = point.rounds * _RESULTS
    if point.contender == OPTIMUM:
        with needs_scipy():
            from penstock.yardsticks import find_matches, offline_optimum  # noqa: PLC0415 -- slow

        matches = find_matches(Join(streams=streams, on=Equal("key")), tables)
        recall = offline_optimum(matches, _MEMORY).recall
        return HardRow(point.rivals, OPTIMUM, recall, 1 - recall, float("nan"))
    join = Join(
        streams=streams,
        on=Equal("key"),
        goal=_goal(point.contender),
        # One more, for the row of S2 that is there.
        budget=Budget(rows=_MEMORY + 1),
        seed=point.seed,
    )
    found = join.replay(tables).result
    rounds = np.unique(found["time"].to_numpy() // (2 * length)).size
    sampled = point.contender in _SAMPLES
    counted = float(np.sum(found["weight"].to_numpy())) / whole if sampled else float("nan")
    return HardRow(
        point.rivals,
        point.contender,
        found.num_rows / whole,
        1 - rounds / point.rounds,
        counted,
    )


def _table(rows: Sequence[HardRow]) -> Table:
    names = [name for name in _PENS if any(row.contender == name for row in rows)]
    found = {(row.rivals, row.contender): row for row in rows}
    rivals = list(dict.fromkeys(row.rivals for row in rows))
    measures = (
        ("results found or sampled, %", "recall"),
        ("rounds without any, %", "empty"),
        ("estimated count of true, %", "counted"),
    )
    lines = [
        (
            words,
            f"{each}",
            f"{_most(each):.1f}" if of == "recall" else "",
            *(_cell(getattr(found[each, name], of)) for name in names),
        )
        for words, of in measures
        for each in rivals
    ]
    headings = ("what", "rows\nin a round", "M / K", *names)
    return Table(headings, lines, [f"{_MEMORY} rows of S1 may be held: M."])


def _most(rivals: int) -> float:
    """Return the results that no online strategy can exceed on average, in percent."""
    return 100.0 * min(1.0, _MEMORY / rivals)


def _cell(share: float) -> str:
    return "" if np.isnan(share) else f"{100 * share:.1f}"


def _draw(rows: Sequence[HardRow], path: Path) -> None:
    rivals = np.array(sorted({row.rivals for row in rows}), np.float64)
    limit = Line(Pen("M / K", GREY, (0, (1, 1.5))), rivals, np.minimum(1.0, _MEMORY / rivals))
    panels = []
    for title, of, names in (
        ("results found", "recall", _SUBSETS),
        ("results in samples", "recall", _SAMPLES),
        ("samples: rounds without any", "empty", _SAMPLES),
    ):
        lines = [limit] if of == "recall" else []
        for name in names:
            own = sorted((row for row in rows if row.contender == name), key=lambda r: r.rivals)
            if own:
                y = np.array([getattr(row, of) for row in own])
                lines.append(Line(_PENS[name], np.array([float(row.rivals) for row in own]), y))
        panels.append(Panel(title, lines))
    save_panels_plot(
        path,
        panels=panels,
        title="What does every online strategy lose on the hardest streams?",
        subtitle="Of K rows one, drawn by lot, will have all results; M = 10 rows may be held",
        x_title="K, rows in a round",
        y_title="%",
    )


def _grid(rivals: Sequence[int], rounds: int) -> tuple[HardPoint, ...]:
    return tuple(
        HardPoint(each, name, rounds) for each in rivals for name in (*_SUBSETS, *_SAMPLES)
    )


STUDY = Study(
    id="srivastava04-hard",
    title="what every online strategy loses where one row in K has all results",
    reference="Srivastava and Widom 2004, Theorems 3.2 and 4.1",
    grid=_grid((10, 20), rounds=100),
    quick_grid=_grid((10, 40), rounds=30),
    run=_run,
    table=_table,
    draw=_draw,
)

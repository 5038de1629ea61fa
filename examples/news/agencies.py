"""A day of news, the join of its two agencies, and what each strategy finds of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import penstock as ps
from penstock.testing import NEWS_HOURS, news

if TYPE_CHECKING:
    import numpy.typing as npt

__all__ = [
    "CHANGES_AT",
    "EVENING",
    "MORNING",
    "SHARE",
    "STRATEGIES",
    "TOPICS",
    "Day",
    "Found",
    "day",
    "join",
    "tables",
]

TOPICS = tuple(NEWS_HOURS)
MORNING = {
    "politics": 90, "business": 60, "sports": 40, "science": 30, "weather": 20, "celebrities": 5,
}  # fmt: skip
EVENING = {
    "sports": 90, "science": 60, "politics": 40, "weather": 20, "business": 10, "celebrities": 5,
}  # fmt: skip
CHANGES_AT = 18
"""The hour from which the evening's importance holds."""

SHARE = 0.08
"""The budget, as a share of the rows that the exact join holds at most."""

STRATEGIES = ("fifo", "size", "greedy", "ijoin", None)
"""Those that are compared; the last is Penstock's own choice."""


@dataclass(frozen=True, eq=False)
class Found:
    """What a join found.

    Attributes
    ----------
    label
        What the join is called in tables.
    metrics
        What it says.
    results
        How many results it gave, by hour of the day and topic.
    """

    label: str
    metrics: ps.Metrics
    results: npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Day:
    """What was found of one day's news.

    Attributes
    ----------
    exact
        By the exact join.
    limited
        By each of `STRATEGIES`, with a part of its memory.
    hottest
        The share of the exact join's results that comes from the ten hottest stories.
    leading
        The same of the hottest story alone, by hour of the day and topic.
    unchanged
        By Penstock's choice, if the morning's importance goes on to hold; None if it was not run.
    """

    exact: Found
    limited: tuple[Found, ...]
    hottest: float
    leading: npt.NDArray[np.float64]
    unchanged: Found | None = None

    @property
    def own(self) -> Found:
        """By Penstock's own choice."""
        return self.limited[STRATEGIES.index(None)]

    @property
    def size(self) -> Found:
        """By the strategy that maximises the number of results."""
        return self.limited[STRATEGIES.index("size")]


def tables(stories: int, *, zipf: float = 0.5, seed: int = 1) -> dict[str, pa.Table]:
    """Make a day of news."""
    both = news(stories=stories, zipf=zipf, seed=seed)
    return {"herald": both.herald, "courier": both.courier}


def join(
    strategy: str | None = None, rows: int | None = None, *, changes_at: int = CHANGES_AT
) -> ps.Join:
    """Make the join of the two agencies; the exact one if it may hold any number of rows."""
    morning, evening = ps.Lookup("topic", MORNING), ps.Lookup("topic", EVENING)
    change = "2026-01-02" if changes_at == 24 else f"2026-01-01 {changes_at}:00"
    return ps.Join(
        streams={
            "herald": ps.Stream(time="at", window="3 hours"),
            "courier": ps.Stream(time="at", window="3 hours"),
        },
        on=ps.Equal("story"),
        goal=ps.MaxImportance(of=[(None, morning), (change, evening)], strategy=strategy),
        budget=None if rows is None else ps.Budget(rows=rows),
    )


def day(streams: dict[str, pa.Table], *, unchanged: bool = False) -> Day:
    """Run the exact join, and then each strategy with a part of its memory."""
    exact = join().replay(streams)
    rows = round(SHARE * exact.metrics.held_most)
    found = _found(exact, "exact")
    story = pc.struct_field(exact.result["herald"], "story").to_numpy()
    leading = np.zeros(found.results.size)
    cells, pairs = np.unique(story * leading.size + _cells(exact.result), return_counts=True)
    np.maximum.at(leading, cells % leading.size, pairs)
    return Day(
        exact=found,
        limited=tuple(_found(join(each, rows).replay(streams), each) for each in STRATEGIES),
        hottest=float(np.sort(np.bincount(story))[-10:].sum() / story.size),
        leading=leading.reshape(found.results.shape) / np.maximum(found.results, 1),
        unchanged=_found(join(None, rows, changes_at=24).replay(streams)) if unchanged else None,
    )


def _found(replay: ps.Replay, label: str | None = None) -> Found:
    results = np.bincount(_cells(replay.result), minlength=24 * len(TOPICS))
    name = label or f"none given ({replay.metrics.strategy})"
    return Found(name, replay.metrics, results.reshape(24, len(TOPICS)))


def _cells(result: pa.Table) -> npt.NDArray[np.int64]:
    """Number the hour and topic of each result."""
    topic = pc.index_in(pc.struct_field(result["herald"], "topic"), pa.array(TOPICS))
    hour = pc.hour(result["time"])
    cells: npt.NDArray[np.int64] = hour.to_numpy() * len(TOPICS) + topic.to_numpy()
    return cells

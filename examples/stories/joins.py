"""The same join of three feeds: exact, with a fifth of its work harvested, and at random."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

import penstock as ps
from examples.stories.feeds import FEEDS
from penstock.report.tables import Table

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

__all__ = ["SHARE", "WINDOW", "Found", "Joined", "join", "join_all"]

WINDOW: Final = 20.0
"""Minutes that a headline waits for others."""
SHARE: Final = 0.2
"""Of the comparisons of the exact join that the others may make."""
# Vectors at an angle with a cosine of 0.8 or more.
_DISTANCE: Final = 0.2


def join(strategy: str | None = None, budget: ps.Budget | None = None) -> ps.Join:
    """Return the join: headlines of all three feeds that say the same."""
    stream = ps.Stream(time="at", window=f"{WINDOW:.0f} minutes")
    return ps.Join(
        streams=dict.fromkeys(FEEDS, stream),
        on=ps.Similar(
            _DISTANCE, metric="cosine", agency="vector", website="vector", blogs="vector"
        ),
        goal=ps.MaxSubset(strategy=strategy),
        budget=budget,
    )


@dataclass(frozen=True, eq=False)
class Found:
    """What one join found.

    Attributes
    ----------
    label
        What it is called.
    metrics
        What it says of itself.
    result
        Its results.
    """

    label: str
    metrics: ps.Metrics
    result: pa.Table

    def ages(self, feed: str) -> npt.NDArray[np.float64]:
        """Return how old the headlines of a feed were when a blog found them, in minutes."""
        times = {name: _minutes(self.result[name]) for name in ("blogs", feed)}
        ages: npt.NDArray[np.float64] = times["blogs"] - times[feed]
        return ages[ages >= 0]


@dataclass(frozen=True, eq=False)
class Joined:
    """All three joins."""

    exact: Found
    grub: Found
    dropped: Found

    @cached_property
    def each(self) -> tuple[Found, ...]:
        """All of them."""
        return self.exact, self.grub, self.dropped

    def table(self) -> Table:
        """Return what each found and compared."""
        rows = []
        for found in self.each:
            metrics = found.metrics
            recall = metrics.recall
            said = "" if recall is None else f"{recall.low:.0%} to {recall.high:.0%}"
            rows.append(
                (
                    found.label,
                    f"{metrics.emitted:,}",
                    f"{metrics.emitted / self.exact.metrics.emitted:.0%}",
                    said,
                    f"{metrics.compared / 1e6:.1f}",
                )
            )
        headings = ("join", "results", "recall", "it says", "million comparisons")
        return Table(headings, rows, names=1)


def join_all(tables: Mapping[str, pa.Table], minutes: float) -> Joined:
    """Run all three."""
    exact = join().replay(tables)
    each = 60.0 * minutes / (SHARE * exact.metrics.compared)
    budget = ps.Budget(cpu=1.0, costs=ps.Costs(compare=each), burst="30 seconds")
    others = []
    for label, strategy in (("by-cost, a fifth of the work", None), ("random-drop", "random-drop")):
        replay = join(strategy, budget).replay(tables)
        others.append(Found(label, replay.metrics, replay.result))
    return Joined(Found("exact", exact.metrics, exact.result), *others)


def _minutes(column: pa.ChunkedArray) -> npt.NDArray[np.float64]:
    """Return the times of one stream's rows in results."""
    at = column.combine_chunks().field("at").cast("int64")
    minutes: npt.NDArray[np.float64] = at.to_numpy() / 6e7
    return minutes

"""The same join of three feeds: exact, with a fifth of its work harvested, and at random."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

import penstock as ps
from examples.stories.feeds import FEEDS
from penstock.report.tables import Table
from penstock.strategies import ByCost

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa

    from penstock.strategies import Decision, Strategy, View

__all__ = ["SHARE", "WINDOW", "Found", "Joined", "Monitored", "join", "join_all"]

WINDOW: Final = 20.0
"""Minutes that a headline waits for others."""
SHARE: Final = 0.2
"""Of the comparisons of the exact join that the others may make."""
# Vectors at an angle with a cosine of 0.8 or more.
_DISTANCE: Final = 0.2


def join(strategy: str | Strategy | None = None, budget: ps.Budget | None = None) -> ps.Join:
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


@dataclass(frozen=True)
class Monitored(ByCost):
    """Decides as `by-cost`, and notes the lags that it was given and which parts it chose.

    Attributes
    ----------
    lags
        Shares of the results by stream that arrives, stream that is probed, and part of the window.
    probed
        How much of each part is probed, in the same order.
    """

    lags: list[npt.NDArray[np.float64]] = field(default_factory=list, compare=False)
    probed: list[npt.NDArray[np.float64]] = field(default_factory=list, compare=False)

    def decide(self, view: View) -> Decision:
        """Decide, and note it where windows are harvested."""
        decision = super().decide(view)
        if view.work is not None and decision.probe.sub_windows is not None:
            self.lags.append(view.work.lags)
            self.probed.append(np.asarray(decision.probe.sub_windows, np.float64))
        return decision

    def mean(self, feed: str) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """Return the lags of a feed behind a blog, and what is probed, on average."""
        blogs, other = list(FEEDS).index("blogs"), list(FEEDS).index(feed)
        lags, probed = (np.mean(each, axis=0)[blogs, other] for each in (self.lags, self.probed))
        return lags, probed


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
    monitored: Monitored

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
    monitored = Monitored()
    grub, dropped = (join(each, budget).replay(tables) for each in (monitored, "random-drop"))
    return Joined(
        Found("exact", exact.metrics, exact.result),
        Found("by-cost, a fifth of the work", grub.metrics, grub.result),
        Found("random-drop", dropped.metrics, dropped.result),
        monitored,
    )


def _minutes(column: pa.ChunkedArray) -> npt.NDArray[np.float64]:
    """Return the times of one stream's rows in results."""
    at = column.combine_chunks().field("at").cast("int64")
    minutes: npt.NDArray[np.float64] = at.to_numpy() / 6e7
    return minutes

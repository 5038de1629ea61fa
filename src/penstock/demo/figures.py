"""The figures of the demonstration, in words, as a table and as JSON."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from penstock.demo.scenario import DAYS, LIFE_DAYS, ZIPF

if TYPE_CHECKING:
    from collections.abc import Sequence

    from penstock.statistics.recall import Estimate

__all__ = ["Demonstration", "Run"]

Floats = npt.NDArray[np.float64]

_HEADINGS = (
    "strategy",
    "results",
    "recall %",
    "estimated, with\n95 % interval",
    "rows held\nat most",
    "kB of state\nat the end",
    "thousand\nrows/s",
)


@dataclass(frozen=True, kw_only=True)
class Run:
    """What one join over the market found, and what it cost.

    Attributes
    ----------
    strategy
        Its name; "exact" for the join without a budget.
    results
        Rows of the answer.
    recall
        Results as a fraction of the exact join's. A join with a budget gives no row that the exact
        one does not give, and none twice, so counts are enough.
    rows_most
        Held in memory at most.
    state_bytes
        Size of the state that Spark keeps for a restart, when the streams end.
    evicted, dropped
        Rows removed from memory early, and rows never stored, for lack of room.
    seconds
        Of the whole query, by the clock.
    batch_rows, batch_seconds
        Rows of each micro-batch, of both streams, and its seconds by Spark's clock.
    recall_in_bins
        Recall among the results of each bin of time; NaN where the exact join has none.
    estimate
        Recall as the join itself estimates it, without the exact answer; None if it cannot.
    choice
        Which model of the streams is followed, and why, where there is a choice.
    summary
        What the join reports about itself, in plain words; see `penstock.Metrics.summary`.
    """

    strategy: str
    results: int
    recall: float
    rows_most: int
    state_bytes: int
    evicted: int
    dropped: int
    seconds: float
    batch_rows: tuple[int, ...]
    batch_seconds: tuple[float, ...]
    recall_in_bins: Floats
    estimate: Estimate | None = None
    choice: str | None = None
    summary: str = ""

    @property
    def thousand_rows_per_second(self) -> float:
        """Speed, in thousands of rows, of all micro-batches but the first.

        In the first one Python starts in Spark's workers, and each makes the market for itself.
        """
        return sum(self.batch_rows[1:]) / sum(self.batch_seconds[1:]) / 1_000

    def cells(self) -> tuple[str, ...]:
        """Return its row of the table."""
        return (
            self.strategy,
            f"{self.results:,}",
            f"{100 * self.recall:.1f}",
            self._estimated(),
            f"{self.rows_most:,}",
            f"{self.state_bytes / 1e3:,.0f}",
            f"{self.thousand_rows_per_second:,.{0 if self.thousand_rows_per_second >= 10 else 1}f}",
        )

    def _estimated(self) -> str:
        if self.estimate is None:
            return "?"
        value, low, high = (
            100 * share for share in (self.estimate.value, self.estimate.low, self.estimate.high)
        )
        if value == low == high == 100.0:
            return f"{value:.0f}"
        return f"{value:.1f} ({low:.1f} to {high:.1f})"

    def as_json(self) -> dict[str, object]:
        """Return its figures as JSON types."""
        bins = [None if np.isnan(recall) else float(recall) for recall in self.recall_in_bins]
        speed = {"thousand_rows_per_second": self.thousand_rows_per_second}
        return asdict(self) | speed | {"recall_in_bins": bins}


@dataclass(frozen=True, kw_only=True)
class Demonstration:
    """What the demonstration found.

    Attributes
    ----------
    auctions, bids
        Rows of each stream.
    seed
        Of the market and of the joins.
    memory
        Share of the exact join's memory that the others had, in the user's words.
    budget_rows
        The same in rows.
    edges_days
        Where the bins of time begin and end, in days since the streams began.
    runs
        The joins, the exact one first.
    """

    auctions: int
    bids: int
    seed: int
    memory: str
    budget_rows: int
    edges_days: Floats
    runs: tuple[Run, ...]

    @property
    def sentences(self) -> str:
        """What the demonstration shows."""
        exact = self.runs[0]
        return (
            f"On Spark, in {len(exact.batch_rows)} micro-batches, {self.bids:,} bids are joined "
            f"with the auctions that they are for: {self.auctions:,} auctions open over {DAYS} "
            f"days, each for {LIFE_DAYS} days. The exact join holds up to {exact.rows_most:,} "
            f"rows; the others may hold {self.budget_rows:,} ({self.memory}), and when memory is "
            f"full they let rows go whose matches are still to come."
        )

    @property
    def headings(self) -> Sequence[str]:
        """Headings of the table; its rows are the runs' `cells`."""
        return _HEADINGS

    @property
    def note(self) -> str:
        """What explains the table."""
        choices = [f'"{run.strategy}" follows {run.choice}.' for run in self.runs if run.choice]
        return " ".join(
            [
                *choices,
                "The estimate is the join's own: it has not seen the exact answer.",
                "Speed leaves out the first micro-batch, in which Spark starts its Python workers.",
            ]
        )

    @property
    def question(self) -> str:
        """Title of the picture."""
        return f"How much of the answer is left with {self.memory} of the memory?"

    @property
    def subject(self) -> str:
        """Subtitle of the picture."""
        return (
            f"{self.bids:,} bids joined with {self.auctions:,} auctions, "
            f"each open for {LIFE_DAYS} days; recall of every half day"
        )

    @property
    def labels(self) -> dict[str, str]:
        """What is written beside the lines of the picture."""
        return {run.strategy: f"{run.strategy}: {run.recall:.1%} in all" for run in self.runs}

    @property
    def mark(self) -> tuple[float, str]:
        """A moment that the picture points out, in days, and what is written there."""
        return LIFE_DAYS, "from here on, as many\nauctions close as open"

    def as_json(self) -> dict[str, object]:
        """Return all figures as JSON types; null where there is nothing to recall."""
        return {
            "market": {
                "auctions": self.auctions,
                "bids": self.bids,
                "zipf": ZIPF,
                "life_days": LIFE_DAYS,
                "seed": self.seed,
            },
            "memory": self.memory,
            "budget_rows": self.budget_rows,
            "edges_days": self.edges_days.tolist(),
            "runs": [run.as_json() for run in self.runs],
        }

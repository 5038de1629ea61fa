"""`Metrics`: counts of what a join has done, and estimates of what it has lost."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from penstock.costs import Costs
from penstock.metrics.choice import describe_choice
from penstock.metrics.summary import summarize
from penstock.statistics.recall import Estimate, recall_of, size_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from penstock.metrics.stream_metrics import StreamMetrics


@dataclass(frozen=True, kw_only=True)
class Metrics:
    """What a join has done so far.

    Attributes
    ----------
    streams
        What became of each stream's rows.
    strategy
        Name of the strategy; None for the exact join.
    emitted
        Number of results.
    budget_rows
        Rows that may be held at a time; None for the exact join, and on Spark before the first
        rows. A budget in bytes is divided by the measured size of a row.
    held_most
        Most rows held at a time, over all streams. With several shards, the sum of each shard's
        own maximum: an upper bound.
    bytes_most
        Most bytes that these took: their measured payload and the engine's records.
    state_bytes
        Bytes of the state that is saved for a restart; 0 if none is, as in a replay.
    inserted, compared
        Cost: rows taken into memory, and rows compared while probing (results produced, the third
        cost, are `emitted`).
    estimated
        The number of results of the exact join. It is estimated from counts of keys (equality
        joins), from the monitored rows or, if only work is limited, from all results.
    variance
        The variance of that estimate.
    fourth
        The sum of the squares of the rows' parts of that variance: it says on how many rows the
        estimate rests. 0 where only monitored rows are used.
    importance, importance_estimated, importance_variance, importance_fourth
        If importance is the goal: the importance of all results, that of the exact join as
        estimated from counts of keys or from the monitored rows, the variance of that estimate, and
        the sum of the squares of its parts (see `fourth`).
    work, work_allowed, work_wanted
        Of a CPU budget, in seconds, or in units of time where times are numbers: the work that was
        done by the costs, the work that was allowed, and the work of the exact join by estimate.
    arrival_cost, insert_cost, compare_cost, result_cost, timed_shards
        Of a CPU budget: what each step costs, summed over shards, and their number; see `costs`.
    seconds
        Processor time that the process spent in the operator, over all shards. On Spark that is
        Python's part of the join: unpacking rows, joining, handing over results, saving state.
        Measured, so it depends on the machine; 0 in a `Workload`, where joins run in one operator.
    recomputations
        Of `ijoin`: how many times priorities were computed.
    forced
        Of a sample: how often the sampling fraction had to fall because memory was full.
    fractions, shards
        Of a sample: the sum of the shards' sampling fractions, and the number of shards.
    why
        Why this strategy was chosen, if the goal does not name one; otherwise None.
    batch_emitted, batch_estimated, batch_variance, batch_fourth
        `emitted`, `estimated`, `variance` and `fourth` of the last micro-batch.
    follows
        If models of the streams are compared: how many shards follow each.
    behind
        If models of the streams are compared: by how much each has predicted worse than the best,
        as log-likelihood, summed over the shards. If samples of clusters are: the logarithm of the
        variance of a total with each, over the least one.
    tried
        If models of the streams are tried on a sample of the rows: the results, or their
        importance, that each would have found recently, summed over the shards.

    Examples
    --------
    ``print(metrics)`` prints the `summary`:

    >>> from penstock.metrics import StreamMetrics
    >>> print(
    ...     Metrics(
    ...         streams={
    ...             "orders": StreamMetrics(arrived=1_000, evicted=700, expired=200, held=100),
    ...             "items": StreamMetrics(arrived=4_000, late=1, expired=3_999),
    ...         },
    ...         strategy="fifo",
    ...         emitted=1_500,
    ...         budget_rows=100,
    ...         held_most=100,
    ...         bytes_most=28_000,
    ...         inserted=1_000,
    ...         compared=1_500,
    ...         estimated=3_900.0,
    ...         variance=160_000.0,
    ...     )
    ... )
    Results    1,500 given, about 2,400 lost: recall 38.5% (95% interval 31.5% to 47%)
    Rows in    5,000: orders 1,000, items 4,000
    Held       at most 100 rows (0.028 MB) of 100 that the budget allows; 100 now
    Lost rows  700 evicted to make room (orders 700)
    Not used   1 late (items 1)
    Strategy   fifo
    To change  more memory or shorter windows; `penstock explain` tells how much a recall takes
               raise the lateness of items, or repair the source
    """

    streams: Mapping[str, StreamMetrics]
    strategy: str | None
    emitted: int
    budget_rows: int | None
    held_most: int
    bytes_most: int
    inserted: int
    compared: int
    estimated: float = 0.0
    variance: float = 0.0
    fourth: float = 0.0
    # Fields with compare=False say how the join ran. They may differ between equal runs.
    batch_emitted: int = field(default=0, compare=False)
    batch_estimated: float = field(default=0.0, compare=False)
    batch_variance: float = field(default=0.0, compare=False)
    batch_fourth: float = field(default=0.0, compare=False)
    follows: Mapping[str, int] = field(default_factory=dict)
    behind: Mapping[str, float] = field(default_factory=dict)
    tried: Mapping[str, float] = field(default_factory=dict)
    importance: float = field(default=0.0, compare=False)
    importance_estimated: float = field(default=0.0, compare=False)
    importance_variance: float = field(default=0.0, compare=False)
    importance_fourth: float = field(default=0.0, compare=False)
    recomputations: int = 0
    forced: int = 0
    fractions: float = 0.0
    shards: int = 0
    why: str | None = None
    state_bytes: int = field(default=0, compare=False)
    work: float = field(default=0.0, compare=False)
    work_allowed: float = field(default=0.0, compare=False)
    work_wanted: float = field(default=0.0, compare=False)
    arrival_cost: float = field(default=0.0, compare=False)
    insert_cost: float = field(default=0.0, compare=False)
    compare_cost: float = field(default=0.0, compare=False)
    result_cost: float = field(default=0.0, compare=False)
    timed_shards: int = 0
    seconds: float = field(default=0.0, compare=False)

    def summary(self) -> str:
        """Return what the join has done in plain words, in at most ten lines.

        Results come first: how many were given, and how many were lost by the estimate. Then the
        rows: how many came, how many were held, which were lost or not used and why. Last, what to
        change. ``print(metrics)`` prints it.
        """
        return summarize(self)

    def __str__(self) -> str:
        """Return the `summary`."""
        return self.summary()

    @property
    def lost(self) -> int:
        """Rows that were lost: for lack of room, or because a strategy shed a step of theirs."""
        return sum(
            stream.dropped
            + stream.evicted
            + stream.not_admitted
            + stream.not_probed
            + stream.not_inserted
            for stream in self.streams.values()
        )

    @property
    def unseen(self) -> int:
        """Arrivals of whose lost results no estimate is possible; then recall is None."""
        return sum(stream.unseen for stream in self.streams.values())

    @property
    def recall(self) -> Estimate | None:
        """The share of the exact join's results that was found so far, with a 95 % interval.

        Exactly 1 if no row was lost. None if nothing can be said: no row has arrived; no result
        was found of which the chance is known; or memory is limited, the predicate is not `Equal`
        and there are three streams or more, where a monitored row does not tell whether the other
        rows of a result had stayed. From counts of keys for `Equal`, otherwise from monitored rows.
        """
        return self._recall(self.emitted, self.estimated, self.variance, self.fourth)

    @property
    def batch_recall(self) -> Estimate | None:
        """The recall of the last micro-batch."""
        return self._recall(
            self.batch_emitted, self.batch_estimated, self.batch_variance, self.batch_fourth
        )

    @property
    def true_size(self) -> Estimate | None:
        """How many results the exact join would have found so far, with a 95 % interval."""
        if not self.lost and not self.unseen:
            return Estimate(self.emitted, self.emitted, self.emitted)
        if self.unseen:
            return None
        return size_of(self.emitted, self.estimated, self.variance, self.fourth)

    def _recall(
        self, emitted: int, estimated: float, variance: float, fourth: float
    ) -> Estimate | None:
        if not self.arrived:
            return None
        if not self.lost and not self.unseen:
            return Estimate(1.0, 1.0, 1.0)
        if self.unseen:
            return None
        return recall_of(emitted, estimated, variance, fourth)

    @property
    def importance_recall(self) -> Estimate | None:
        """The share of the importance of all results that was found, with a 95 % interval.

        None if nothing can be said, or importance is not the goal.
        """
        if not self.lost and not self.unseen and self.importance:
            return Estimate(1.0, 1.0, 1.0)
        if self.unseen:
            return None
        return recall_of(
            self.importance,
            self.importance_estimated,
            self.importance_variance,
            self.importance_fourth,
        )

    @property
    def fairness(self) -> float | None:
        """Jain's index of how equally long rows stayed, as fractions of their windows.

        1 if all stayed equally long, near 0 if a few stayed and the others did not stay at all;
        None if no row has left yet. Streams whose rows have no window are left out.

        References
        ----------
        Eq. 4 of `kulkarni08` 3.5.
        """
        ended = sum(stream.ended for stream in self.streams.values() if stream.lived > 0)
        lived = sum(stream.lived for stream in self.streams.values())
        squares = sum(stream.lived_squares for stream in self.streams.values())
        return lived**2 / (ended * squares) if squares else None

    @property
    def fraction(self) -> float | None:
        """Of a sample: the chance with which an average row, or match, is drawn now.

        With several shards, their mean; None if there is no sample.
        """
        return self.fractions / self.shards if self.shards else None

    @property
    def throttle(self) -> float | None:
        """Of a CPU budget: the share of the work of the exact join that was done.

        1 if nothing was shed; None without a CPU budget, and as long as nothing can be said.
        """
        if not self.timed_shards or (self.lost and not self.estimated):
            return None
        return min(1.0, self.work / self.work_wanted) if self.lost and self.work_wanted else 1.0

    @property
    def costs(self) -> Costs | None:
        """Of a CPU budget: what the steps cost, as given or as measured; the mean of all shards."""
        if not self.timed_shards:
            return None
        return Costs(
            arrival=self.arrival_cost / self.timed_shards,
            insert=self.insert_cost / self.timed_shards,
            compare=self.compare_cost / self.timed_shards,
            result=self.result_cost / self.timed_shards,
        )

    @property
    def choice(self) -> str | None:
        """Which strategy or model was chosen, and why; None if there was no choice."""
        variance_of = self.shards if self.strategy == "cluster" else None
        follows = describe_choice(self.follows, self.tried, self.behind, variance_of)
        said = [each for each in (self.why, follows) if each is not None]
        return "; ".join(said) or None

    @property
    def arrived(self) -> int:
        """Rows that arrived, over all streams."""
        return sum(stream.arrived for stream in self.streams.values())

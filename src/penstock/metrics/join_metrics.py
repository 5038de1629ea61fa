"""`Metrics`: counts of what a join has done, and estimates of what it has lost."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, TypeVar

from penstock.costs import Costs
from penstock.metrics.summary import summarize
from penstock.statistics.recall import Estimate, recall_of, size_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

N = TypeVar("N", int, float)


@dataclass(frozen=True, kw_only=True)
class StreamMetrics:
    """What became of one stream's rows.

    Each row that arrived is late, invalid (in one of three ways), or took part. Each that took part
    was dropped, evicted or expired, or is still held. With several shards, a row that was copied to
    more than one of them is counted once in `arrived` and in `copies` for the others.

    Attributes
    ----------
    arrived
        Rows that arrived.
    late
        Rows older than the stream's greatest time by more than its lateness: not used.
    bad_times
        Rows whose time is null, not finite, or 2**61 units or more from 0: not used.
    far_ahead
        Rows further ahead of the stream than `max_ahead`: not used.
    null_keys
        Rows with a null or NaN in a column of the predicate, or an infinity where the predicate
        compares distances: they match nothing.
    bad_importance
        Of a join by importance: rows whose importance is null, NaN, negative, infinite or above
        1e100, or whose value is in no table of a `Lookup` without a default. They take part with an
        importance of 0, so they are counted a second time as held, expired and so on.
    copies
        Further copies that sharding made.
    not_admitted
        Shed on arrival: they neither probed nor were taken into memory.
    not_probed
        Not compared with the other streams' rows, or only with those in some parts of their
        windows; they may have been taken into memory.
    not_inserted
        Not offered a place in memory, although they could still have been joined.
    unseen
        Arrivals of whose lost results no estimate is possible: a step had a chance of 0, or parts
        of windows were not probed.
    dropped
        Rows not taken into memory because it was full; they did probe.
    evicted
        Rows removed from memory before their window had passed, because memory was full.
    expired
        Rows that left memory, or did not need it, because no later row could join them.
    held
        Rows in memory now.
    held_most
        Most rows that were in memory at a time.
    ended
        Rows that have left memory, and those that were dropped.
    lived, lived_squares
        Sum over these rows of the fraction of the window for which each stayed; sum of its square.
    row_bytes
        Mean size of a row's payload.
    waiting, waiting_bytes
        Rows that are ahead of the slowest stream and wait for it, and their bytes, packed.
    waiting_age
        How far the oldest of these may be behind the stream's newest row; None if none wait.
    latest
        Greatest time so far: seconds since 1970 if times are timestamps. None without rows.
    behind
        How far that is behind the latest time of the furthest stream. None without rows.
    """

    arrived: int = 0
    late: int = 0
    bad_times: int = 0
    far_ahead: int = 0
    null_keys: int = 0
    bad_importance: int = 0
    copies: int = 0
    not_admitted: int = 0
    not_probed: int = 0
    not_inserted: int = 0
    unseen: int = 0
    dropped: int = 0
    evicted: int = 0
    expired: int = 0
    held: int = 0
    held_most: int = 0
    ended: int = 0
    lived: float = field(default=0.0, compare=False)
    lived_squares: float = field(default=0.0, compare=False)
    row_bytes: float = 0.0
    waiting: int = 0
    waiting_bytes: int = field(default=0, compare=False)
    waiting_age: float | None = field(default=None, compare=False)
    latest: float | None = None
    behind: float | None = None

    @property
    def invalid(self) -> int:
        """Rows that could not be used: without a usable time or without a key."""
        return self.bad_times + self.far_ahead + self.null_keys


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
    estimated, variance, fourth
        The number of results of the exact join, as estimated from counts of keys (equality joins),
        from the monitored rows or, if only work is limited, from all results; the variance of that
        estimate; and, in the first and the last case, the sum of the squares of the rows' parts of
        that variance, which says on how many rows the estimate rests.
    importance, importance_estimated, importance_variance
        If importance is the goal: the importance of all results, that of the exact join as
        estimated from the monitored rows, and the variance of that estimate.
    work, work_allowed, work_wanted
        Of a CPU budget, in seconds, or in units of time where times are numbers: the work that was
        done by the costs, the work that was allowed, and the work of the exact join by estimate.
    arrival_cost, insert_cost, compare_cost, result_cost, timed_shards
        Of a CPU budget: what each step costs, summed over shards, and their number; see `costs`.
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
        rows of a result had stayed.
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
        return recall_of(self.importance, self.importance_estimated, self.importance_variance)

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
        said = [each for each in (self.why, self._follows_most()) if each is not None]
        return "; ".join(said) or None

    def _follows_most(self) -> str | None:
        """Return which model of the streams is followed, and why; None if there is no choice."""
        if not self.follows:
            return None
        most = max(self.follows, key=lambda name: self.follows[name])
        shards = sum(self.follows.values())
        of = f" in {self.follows[most]} of {shards} shards" if shards > 1 else ""
        if any(self.tried.values()):
            less = {
                name: max(0.0, 1.0 - found / max(self.tried[most], 1e-300))
                for name, found in self.tried.items()
                if name != most
            }
            least = sorted(less, key=lambda name: less[name])
            others = [f"{name} by {less[name]:.0%}" for name in least]
            return f"{most}{of}: finds more than {_listed(others)}, tried on a sample of the rows"
        if not any(self.behind.values()):
            return f"{most}{of}: there is no evidence yet"
        if self.strategy == "cluster":
            return f"{most}{of}: {self._variance_with(most)}"
        others = [
            f"{name} by {behind - self.behind[most]:.0f}"
            for name, behind in self.behind.items()
            if name != most
        ]
        why = f": has predicted matches better than {' and '.join(others)}" if others else ""
        return f"{most}{of}{why} (logarithm of likelihood)" if others else most

    def _variance_with(self, most: str) -> str:
        """Return how a total varies with the sample of clusters that is followed."""
        return " and ".join(
            f"a total has {math.exp((self.behind[most] - behind) / self.shards):.2g} of the "
            f"variance that it has with {name}"
            for name, behind in self.behind.items()
            if name != most
        )

    @property
    def arrived(self) -> int:
        """Rows that arrived, over all streams."""
        return sum(stream.arrived for stream in self.streams.values())


_WORK = (
    *("work", "work_allowed", "work_wanted"),
    *("arrival_cost", "insert_cost", "compare_cost", "result_cost", "timed_shards"),
)


def total(parts: Iterable[Metrics]) -> Metrics:
    """Add up the metrics of shards."""
    parts = list(parts)
    streams = {
        name: _total_stream([part.streams[name] for part in parts]) for name in parts[0].streams
    }
    budgets = [part.budget_rows for part in parts if part.budget_rows is not None]
    return Metrics(
        streams=streams,
        strategy=parts[0].strategy,
        emitted=sum(part.emitted for part in parts),
        budget_rows=sum(budgets) if budgets else None,
        held_most=sum(part.held_most for part in parts),
        bytes_most=sum(part.bytes_most for part in parts),
        inserted=sum(part.inserted for part in parts),
        compared=sum(part.compared for part in parts),
        estimated=sum(part.estimated for part in parts),
        variance=sum(part.variance for part in parts),
        fourth=sum(part.fourth for part in parts),
        batch_emitted=sum(part.batch_emitted for part in parts),
        batch_estimated=sum(part.batch_estimated for part in parts),
        batch_variance=sum(part.batch_variance for part in parts),
        batch_fourth=sum(part.batch_fourth for part in parts),
        follows=_total_by_name([part.follows for part in parts]),
        behind=_total_by_name([part.behind for part in parts]),
        tried=_total_by_name([part.tried for part in parts]),
        importance=sum(part.importance for part in parts),
        importance_estimated=sum(part.importance_estimated for part in parts),
        importance_variance=sum(part.importance_variance for part in parts),
        recomputations=sum(part.recomputations for part in parts),
        forced=sum(part.forced for part in parts),
        fractions=sum(part.fractions for part in parts),
        shards=sum(part.shards for part in parts),
        why=parts[0].why,
        state_bytes=sum(part.state_bytes for part in parts),
        **{name: sum(getattr(part, name) for part in parts) for name in _WORK},
    )


def _listed(words: list[str]) -> str:
    """Return words as a list in a sentence.

    >>> _listed(["a", "b", "c"])
    'a, b and c'
    """
    return " and ".join([*filter(None, [", ".join(words[:-1])]), words[-1]])


def _total_by_name(parts: list[Mapping[str, N]]) -> dict[str, N]:
    return {name: sum(part[name] for part in parts) for name in parts[0]}


def _total_stream(parts: list[StreamMetrics]) -> StreamMetrics:
    sums = {
        each.name: _sum([getattr(part, each.name) for part in parts])
        for each in fields(StreamMetrics)
        if each.name != "row_bytes"
    }
    weight = sum(part.arrived + part.copies for part in parts)
    weighted = sum(part.row_bytes * (part.arrived + part.copies) for part in parts)
    return StreamMetrics(**sums, row_bytes=weighted / weight if weight else 0.0)  # type: ignore[arg-type]


def _sum(values: list[float | None]) -> float | None:
    """Add up what is known: one shard answers for times, which are the same in all."""
    known = [value for value in values if value is not None]
    return sum(known) if known else None

"""The operator: one shard of a join, batch after batch."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from penstock.engine.acceptance import Acceptance
from penstock.engine.accounting import OperatorCounters, account
from penstock.engine.alignment import Alignment, Given
from penstock.engine.first_decision import needs_of, retention_of
from penstock.engine.importance_estimate import ImportanceEstimate
from penstock.engine.importance_scores import scores_of
from penstock.engine.intake import (
    Columns,
    Merged,
    ReadOptions,
    StreamCounters,
    merge,
    read_side,
)
from penstock.engine.kernels import layout
from penstock.engine.kernels.layout import EQUAL
from penstock.engine.kernels.loop import join
from penstock.engine.kernels.probe_equal import make_partial
from penstock.engine.kernels.probe_range import make_ranges
from penstock.engine.kernels.results import ENOUGH, grown, make_results
from penstock.engine.keys import KeyCoder
from penstock.engine.limits import Limits, part_of
from penstock.engine.lives import lives_of
from penstock.engine.monitor import Monitor
from penstock.engine.neighbours import Neighbours
from penstock.engine.payload import Payload
from penstock.engine.ratings import draw, given_matches, importance_of_arrivals
from penstock.engine.result_rows import ResultRows
from penstock.engine.retention.base import Retention
from penstock.engine.retention.shrinking import shrink
from penstock.engine.review_points import ReviewPoints
from penstock.engine.reviewing import Reviewer
from penstock.engine.row_fields import ROW_NUMBER
from penstock.engine.size_meter import SizeMeter, meters_sizes
from penstock.engine.source_clocks import note_source_clocks, settled_until, wait_for_results
from penstock.engine.store import Store
from penstock.engine.work import Work
from penstock.strategies import Oldest, strategies_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from penstock.engine.arrays import Array, Floats
    from penstock.engine.kernels.probe_equal import Partial
    from penstock.engine.kernels.probe_range import Ranges
    from penstock.engine.kernels.probe_similar import Nearby
    from penstock.engine.learned_arrays import LearnedArrays
    from penstock.engine.plan import Plan
    from penstock.engine.sealing import Seal
    from penstock.engine.stream_progress import StreamProgress
    from penstock.metrics import Metrics
    from penstock.strategies import Strategy

# Arrivals for which room is made at a time: with more, memory would be taken that few rows need.
_RESERVED = 8192


_RESULT_KINDS = {
    "min": layout.MIN,
    "product": layout.PRODUCT,
    "sum": layout.SUM,
    "max": layout.MAX,
}


class Operator:
    """One shard of a join: takes batches of all streams, returns results, keeps the windows.

    Parameters
    ----------
    plan
        The join, bound to its streams' schemas.
    shard, shards
        Which part of how many this is; the budget is divided over them.
    aligned
        Whether rows that are ahead of the slowest stream wait, if the join has it so. With a window
        of rows they always do.
    ordered
        Whether rows of the same time are taken in an order that does not depend on their delivery.
        Needed where the state is saved, for two attempts at a batch to save the same. With a budget
        or a window of rows they always are.
    """

    def __init__(
        self,
        plan: Plan,
        *,
        shard: int = 0,
        shards: int = 1,
        aligned: bool = False,
        ordered: bool = False,
    ) -> None:
        self.plan = plan
        self.shard = shard
        self.shards = shards
        budget = plan.spec.budget
        self.strategies: tuple[Strategy, ...] = () if budget is None else strategies_of(plan.spec)
        count = len(plan.sides)
        needs = needs_of(self.strategies) if self.strategies else None
        lives = lives_of(plan, needs)
        retention: Retention = Retention(Oldest(), lives.parts)
        if self.strategies:
            retention = retention_of(plan, self.strategies, None, lives.parts)
        self.store = Store(plan, lives, retention)
        self.limits = Limits(
            budget,
            self.store.memory.rule,
            self.store.row_overhead,
            count,
            shard=shard,
            shards=shards,
        )
        self.payloads = [Payload(self.store, s, side.schema) for s, side in enumerate(plan.sides)]
        self.scores = scores_of(plan, self.payloads)
        self.importance_estimate = ImportanceEstimate()
        self.store.memory.rule["weighs"] = self.scores is not None and count == 2
        if self.scores is not None:
            self.store.memory.rule["result"] = _RESULT_KINDS[self.scores.kind]
        self.coder = KeyCoder(plan.keys)
        self.counters = [StreamCounters() for _ in plan.sides]
        self.alignment = Alignment(
            plan,
            self.counters,
            waits=aligned,
            limit=part_of(plan.spool_bytes, shard, shards),
        )
        self._acceptance = Acceptance(plan, self.counters, self.alignment)
        self.saved: dict[str, Seal] = {}  # `state.save`: the chunks that are up to date
        self.learned: LearnedArrays | None = None  # `state.save`: as it was saved last
        self.neighbours = None if plan.vectors is None else Neighbours(plan.vectors, self.store)
        self._probing: Partial | Ranges | Nearby = (
            make_partial(count, plan.time.dtype)
            if plan.rule.kind == EQUAL
            else make_ranges(count, plan.time.dtype, plan.values.dtype)
        )
        # Kept, so that it stays as large.
        self._produced = make_results(
            count,
            plan.time.dtype,
            has_weights=plan.is_sample,
            has_witnesses=self.scores is not None,
        )
        self._rows = ResultRows(
            plan,
            self.payloads,
            self.scores,
            self.importance_estimate,
            shard=shard,
            shards=shards,
        )
        self._read_options = ReadOptions(
            order=ordered or needs is not None or plan.has_row_windows,
            identities=needs is not None and needs.draws,
            sizes=self.limits.in_bytes,
            hashes=needs is not None,
        )
        self.monitor: Monitor | None = None
        self.reviewer: Reviewer | None = None
        self.work: Work | None = None
        if plan.work is not None and needs is not None:
            charged, lags = self.strategies[-1].charged, needs.lags
            self.work = Work(plan, self.store, charged, lags, measures_fits=needs.measured_fits)
        self.size_meter: SizeMeter | None = None
        if needs is not None and meters_sizes(plan, needs):
            self.size_meter = SizeMeter(plan, self.scores, shard, waits=self.alignment.waits)
            if not self.size_meter.can_begin_late:
                self.size_meter.allow()
        if budget is not None and needs is not None:
            self.monitor = Monitor(plan, self.store, budget, needs, shard)
            self.reviewer = Reviewer(
                plan,
                self.strategies,
                self.store,
                self.coder,
                self.limits.rows or 0,
                self.scores,
                self.work,
                count_from=self._count_from,
            )
        # `pieces` pauses before the first arrival of this time or a later one; see `_pauses`.
        self.pause_at: float = np.inf
        self.paused_at: float | None = None  # the arrival's time, while it pauses
        self.reviews = ReviewPoints(
            self.store, self.limits, self.scores, self.monitor, self.reviewer, self.work
        )
        self.seconds = 0.0  # of processor time, as far as the caller has measured it
        self.emitted_before = 0  # the batch that is being joined, or was last

    def process(
        self,
        tables: Mapping[str, pa.Table],
        stream_progress: Sequence[StreamProgress] | None = None,
        *,
        last: bool = False,
        told: Mapping[str, float] | None = None,
    ) -> pa.Table:
        """Join one batch and return its results; see `pieces`."""
        pieces = self.pieces(tables, stream_progress, last=last, told=told)
        return pa.concat_tables([self.plan.result_schema.empty_table(), *pieces])

    def pieces(
        self,
        tables: Mapping[str, pa.Table],
        stream_progress: Sequence[StreamProgress] | None = None,
        *,
        last: bool = False,
        told: Mapping[str, float] | None = None,
    ) -> Iterator[pa.Table]:
        """Join one batch and yield its results piece by piece.

        The batch is dealt with, and the state complete, only when all pieces have been taken.

        Parameters
        ----------
        tables
            For each stream the rows that came; a stream may be left out if none did.
        stream_progress
            How far each stream has come, by the rows of all shards; None if there are no others.
        last
            Whether no rows will follow: then none wait for those of other streams.
        told
            Of streams whose sources say how far they have come: a time before which none of their
            rows will be in later batches.
        """
        self.settle_dimensions(tables)
        settled = settled_until(self.plan, self.alignment)
        given, ticks = self._acceptance.take(tables, stream_progress)
        self.emitted_before = int(self.store.memory.rule["produced"][0])
        self.store.found_before[:] = self.store.memory.streams["found"]
        if self.work is not None:
            self.work.ledger.begin_batch()
        if self.monitor is not None:
            self.monitor.begin_batch()
            self.importance_estimate.forget(self.monitor.arrival_numbers())
        if self.size_meter is not None:
            self.size_meter.begin_batch()
        ticks = wait_for_results(
            self.plan, self.store.memory.streams, self.counters, settled, ticks
        )
        for rows, passing in self.alignment.steps(given, ticks, last=last):
            yield from self._take_part(rows, passing)
        note_source_clocks(self.plan, self.counters, told or {})

    def settle_dimensions(self, tables: Mapping[str, pa.Table]) -> None:
        """Decide how long vectors are, if that is not known yet: as in most rows of a batch.

        With several shards to be called with the rows of all of them, so that all decide the same.
        """
        scale = self.plan.vectors
        if scale is None or self.coder.dimensions is not None:
            return
        given = ((tables.get(side.name), side) for side in self.plan.sides)
        self.coder.dimensions = scale.dimensions_of(
            table.column(side.columns[0]) for table, side in given if table is not None
        )

    def _take_part(self, given: list[Given], ticks: list[Array]) -> Iterator[pa.Table]:
        """Join the rows that take part now, and settle those that stay."""
        first_numbers = [self._numbered(s) for s in range(len(given))]
        sides = [self._read(s, each) for s, each in enumerate(given)]
        before = None if self.neighbours is None else self.neighbours.before()
        places = self.store.make_places([side.times for side in sides])
        merged = merge(self.plan, sides, places, ticks)
        if self.neighbours is not None and before is not None:
            self.neighbours.follow(before, places, sides)
            merged.arrivals["key_word"] = np.arange(merged.arrivals.size)
        if self.plan.has_row_windows:
            both = zip(first_numbers, sides, strict=True)
            numbers = [first + np.arange(side.times.size, dtype=np.float64) for first, side in both]
            merged.arrivals[ROW_NUMBER] = merged.spread(numbers)
        matches = self._rate(sides, merged)
        self.limits.set_costs(merged, [side.sizes for side in sides])
        yield from self._join(merged.arrivals, matches)
        if self.size_meter is not None:
            self.size_meter.take(merged.arrivals.size)
        for s, placed in enumerate(places):
            base = int(self.store.memory.streams["base"][s])
            rows = self.store.memory.queue[base + placed.astype(np.int64)]
            self.payloads[s].settle(rows[rows >= 0])
        self.coder.forget(self.store.live_words)

    def _numbered(self, s: int) -> int:
        """Return how many rows of a stream have taken part, if its window is one of rows.

        All that have a key are inserted then: no time and no budget speaks against it.
        """
        return self.counters[s].null_keys + int(self.store.memory.streams["inserted"][s])

    def _rate(self, sides: list[Columns], merged: Merged) -> Floats | None:
        """Draw for the rows of a batch and have them rated; return matches that they are given."""
        importance = None
        if self.scores is not None:  # also where nothing is rated: what cannot be used is counted
            importance = importance_of_arrivals(self.scores, sides, self.counters)
        if self.monitor is None or self.reviewer is None:
            return None
        if self.size_meter is not None:
            worths = None if importance is None else merged.spread(importance)
            self.size_meter.begin_arrivals(merged.arrivals, worths)
        self.reviewer.steps.draw_when_needed(partial(draw, self.monitor, sides, merged))
        self.reviewer.rate_batch(sides, merged, self.payloads, importance)
        return given_matches(self.plan, self.payloads, sides, merged)

    def _read(self, s: int, given: Given) -> Columns:
        payload = self.payloads[s]
        payload.begin(given.table)
        return read_side(
            self.plan,
            self.plan.sides[s],
            payload.batch,
            self.coder,
            times=given.times,
            good=given.good,
            counters=self.counters[s],
            options=self._read_options,
        )

    def _count_from(self, at: int) -> bool:
        """Count keys from an arrival on; return whether the exact size is known by that."""
        meter = self.size_meter
        if meter is None:
            return False
        if not meter.is_on:
            found = self.store.memory.streams["found"]
            meter.begin_at(at, self.store.as_arrivals(), found, found - self.store.found_before)
        return meter.is_on

    def complete_until(self) -> int | float | None:
        """Return the time from which on results can still come; None while a stream has no rows.

        The same in every shard.
        """
        times = []
        for s, side in enumerate(self.plan.sides):
            greatest = self.alignment.greatest(s)
            if greatest is None:
                return None
            times.append(greatest - side.lateness)
        return min(times)

    def _join(self, arrivals: Array, given: Floats | None) -> Iterator[pa.Table]:
        if self.reviewer is not None:
            self.reviewer.begin_batch(arrivals, given)
        if self.scores is not None:
            self.scores.begin_batch(arrivals)
        at = 0
        while at < arrivals.size:
            yield from self._pauses(arrivals, at)
            began, stop = (
                at,
                self.reviews.begin_piece(arrivals, at, self._until_pause(arrivals, at)),
            )
            while at < stop:
                part = min(stop, at + _RESERVED)
                if self.neighbours is not None:
                    part = self.neighbours.prepare(arrivals, at, part)
                    self._probing = self.neighbours.nearby
                self.store.reserve(part - at, self.limits.most_rows)
                reached = join(
                    self.store.memory,
                    self._probing,
                    arrivals,
                    at,
                    part,
                    self._produced,
                )
                if self._produced.produced[0] >= ENOUGH:
                    yield from self._results()
                elif reached < part:
                    self._produced = grown(self._produced)
                at = reached
            if self.reviewer is not None:
                self.reviewer.end_piece(arrivals, began, stop)
        if self._produced.produced[0]:
            yield from self._results()

    def _pauses(self, arrivals: Array, at: int) -> Iterator[pa.Table]:
        """Yield no results, with `paused_at` set, until `pause_at` is after an arrival.

        While it pauses, its limit may be changed by `allot`.
        """
        while arrivals["time"][at] >= self.pause_at:
            if self._produced.produced[0]:
                yield from self._results()
            if self.size_meter is not None:
                self.size_meter.take(at)
            self.paused_at = float(arrivals["time"][at])
            yield self.plan.result_schema.empty_table()
            self.paused_at = None

    def allot(self, amount: int) -> None:
        """Set another limit, in rows or bytes as the budget is; rows above it leave at once.

        They leave in the order of the strategy. Monitored rows above their share of the new limit
        become rows like others first. To be called before the first batch, between two batches, or
        while `pieces` pauses.
        """
        self.limits.change(amount)
        has_rows = self.reviews.reviewed >= 0 or int(self.store.memory.rule["held"][0]) > 0
        if self.monitor is not None and has_rows:
            self.monitor.allow(self.limits.rows or 0)
            if not shrink(self.store.memory):
                self.monitor.allow(0)  # rows of a size that leaves no room for monitored ones
                shrink(self.store.memory)

    def _until_pause(self, arrivals: Array, at: int) -> int:
        """Return how many of a batch's arrivals come before the next pause."""
        if self.pause_at == np.inf:
            return arrivals.size
        return at + max(1, int(np.searchsorted(arrivals["time"][at:], self.pause_at)))

    def _results(self) -> Iterator[pa.Table]:
        """Turn the references that were produced into rows."""
        yield from self._rows.pieces(self._produced, self.store.memory.rule)
        self._produced.produced[0] = 0

    def restore_counters(self, saved: Sequence[Mapping[str, Any]]) -> None:
        """Go on with what was counted of the streams."""
        self.counters[:] = [StreamCounters(**each) for each in saved]

    def metrics(self) -> Metrics:
        """Return what this shard has done so far."""
        return account(
            self.plan,
            self.store,
            self.strategies,
            self.reviewer,
            self.importance_estimate,
            self.alignment,
            OperatorCounters(
                shard=self.shard,
                shards=self.shards,
                row_limit=self.limits.rows_now,
                measured=self.limits.measured if self.limits.in_bytes else None,
                bytes_most=self.limits.bytes_most,
                state_bytes=sum(seal.size for seal in self.saved.values()),
                emitted_before=self.emitted_before,
                seconds=self.seconds,
            ),
            work=self.work,
            size_meter=self.size_meter,
        )

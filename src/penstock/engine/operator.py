"""The operator: one shard of a join, batch after batch."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from penstock.engine.accounting import OperatorCounters, account
from penstock.engine.importance_estimate import ImportanceEstimate
from penstock.engine.importance_scores import scores_of
from penstock.engine.intake import Columns, Merged, ReadOptions, StreamCounters, merge, read_side
from penstock.engine.kernels import layout
from penstock.engine.kernels.loop import join
from penstock.engine.kernels.probe_equal import make_partial
from penstock.engine.kernels.probe_range import make_ranges
from penstock.engine.kernels.results import ENOUGH, grown, make_results
from penstock.engine.keys import KeyCoder
from penstock.engine.limits import Limits, review_interval
from penstock.engine.lives import lives_of
from penstock.engine.monitor import Monitor
from penstock.engine.payload import Payload
from penstock.engine.ratings import check_importance, draw, given_matches
from penstock.engine.retention.base import Retention
from penstock.engine.reviewing import Reviewer, needs_of, retention_of
from penstock.engine.store import Store
from penstock.engine.stream_progress import StreamProgress, no_progress, progress_of, too_far_ahead
from penstock.statistics.selectivity import probe_order
from penstock.strategies import Oldest, strategies_for

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from penstock.engine.arrays import Array, Floats
    from penstock.engine.learned_arrays import LearnedArrays
    from penstock.engine.plan import Plan
    from penstock.metrics import Metrics
    from penstock.strategies import Strategy

# Counts of selectivity are halved beyond this, so that the order of probing follows change.
_MANY = 1 << 34


class Seal(NamedTuple):
    """What tells a chunk of saved state from any other."""

    checksum: int
    size: int
    gone: int = 0  # rows of the sub-window that had left memory


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
    """

    def __init__(self, plan: Plan, *, shard: int = 0, shards: int = 1) -> None:
        self.plan = plan
        self.shard = shard
        self.shards = shards
        budget = plan.spec.budget
        self.strategies: tuple[Strategy, ...] = (
            () if budget is None else strategies_for(plan.spec.goal)
        )
        count = len(plan.sides)
        needs = needs_of(self.strategies) if self.strategies else None
        lives = lives_of(plan, needs)
        retention: Retention = Retention(Oldest(), lives.parts)
        if self.strategies:
            retention = retention_of(plan, self.strategies, None, lives.parts)
        self.store = Store(plan, lives, retention)
        self.limits = Limits(budget, self.store.row_overhead, count, shard=shard, shards=shards)
        self.payloads = [Payload(self.store, s, side.schema) for s, side in enumerate(plan.sides)]
        self.scores = scores_of(plan, self.payloads)
        self.importance_estimate = ImportanceEstimate()
        self.store.memory.rule["weighs"] = self.scores is not None and count == 2
        if self.scores is not None:
            self.store.memory.rule["result"] = _RESULT_KINDS[self.scores.kind]
        self.coder = KeyCoder(plan.keys)
        self.counters = [StreamCounters() for _ in plan.sides]
        self.saved: dict[str, Seal] = {}  # `state.save`: the chunks that are up to date
        self.learned: LearnedArrays | None = None  # `state.save`: as it was saved last
        self._partial = make_partial(count, plan.time.dtype)
        self._ranges = make_ranges(count, plan.time.dtype, plan.values.dtype)
        # Kept, so that it stays as large.
        self._produced = make_results(
            count,
            plan.time.dtype,
            has_weights=plan.is_sample,
            has_witnesses=self.scores is not None,
        )
        self._read_options = ReadOptions(
            order=needs is not None,
            identities=needs is not None and needs.draws,
            sizes=self.limits.bytes is not None,
            hashes=needs is not None,
        )
        self.monitor: Monitor | None = None
        self.reviewer: Reviewer | None = None
        if budget is not None and needs is not None:
            self.monitor = Monitor(plan, self.store, budget, needs, shard)
            self.reviewer = Reviewer(
                plan, self.strategies, self.store, self.coder, self.limits.rows or 0, self.scores
            )
        self._interval = review_interval(self.limits.rows)
        self.reviewed = -1  # arrivals at the last review
        self.emitted_before = 0  # the batch that is being joined, or was last

    def process(
        self,
        tables: Mapping[str, pa.Table],
        stream_progress: Sequence[StreamProgress] | None = None,
    ) -> pa.Table:
        """Join one batch and return its results; see `pieces`."""
        return pa.concat_tables(
            [self.plan.result_schema.empty_table(), *self.pieces(tables, stream_progress)]
        )

    def pieces(
        self,
        tables: Mapping[str, pa.Table],
        stream_progress: Sequence[StreamProgress] | None = None,
    ) -> Iterator[pa.Table]:
        """Join one batch and yield its results piece by piece.

        The batch is dealt with, and the state complete, only when all pieces have been taken.

        Parameters
        ----------
        tables
            For each stream the rows that came; a stream may be left out if none did.
        stream_progress
            How far each stream has come, by the rows of all shards; None if there are no others.
        """
        bounds = [self._bound(s, tables, stream_progress) for s in range(len(self.plan.sides))]
        sides = [self._read(s, tables, bound) for s, bound in enumerate(bounds)]
        for counters, bound, each in zip(
            self.counters, bounds, stream_progress or (), strict=stream_progress is not None
        ):
            counters.whole += each.rows
            known = (counters.greatest, each.latest_before(bound))
            counters.greatest = max((time for time in known if time is not None), default=None)
        places = self.store.make_places([side.times for side in sides])
        ticks = [
            each.before(bound)
            for each, bound in zip(
                stream_progress or [no_progress(self.plan)] * len(sides), bounds, strict=True
            )
        ]
        merged = merge(self.plan, sides, places, ticks)
        given = self._rate(sides, merged)
        self.limits.set(merged, [side.sizes for side in sides])
        self.emitted_before = int(self.store.memory.rule["produced"][0])
        yield from self._join(merged.arrivals, given)
        for s, placed in enumerate(places):
            base = int(self.store.memory.streams["base"][s])
            rows = self.store.memory.queue[base + placed.astype(np.int64)]
            self.payloads[s].settle(rows[rows >= 0])
        self.coder.forget(self.store.live_words)

    def _rate(self, sides: list[Columns], merged: Merged) -> Floats | None:
        """Draw for the rows of a batch and have them rated; return matches that they are given."""
        if self.monitor is None or self.reviewer is None:
            return None
        draw(self.monitor, sides, merged)
        # Also for strategies that do not ask: an importance that is none is an error when it comes.
        importance = None if self.scores is None else check_importance(self.scores, sides)
        self.reviewer.rate_batch(sides, merged, self.payloads, importance)
        return given_matches(self.plan, self.payloads, sides, merged)

    def _bound(
        self,
        s: int,
        tables: Mapping[str, pa.Table],
        stream_progress: Sequence[StreamProgress] | None,
    ) -> float | None:
        """Return the time from which on a stream's rows are too far ahead to be believed."""
        side = self.plan.sides[s]
        if side.max_ahead is None or (stream_progress is None and side.name not in tables):
            return None
        if stream_progress is None:
            known = progress_of(self.plan, s, tables[side.name])
        else:
            known = stream_progress[s]
        return too_far_ahead(known, side.max_ahead, self.counters[s])

    def _read(self, s: int, tables: Mapping[str, pa.Table], bound: float | None) -> Columns:
        side, payload, counters = self.plan.sides[s], self.payloads[s], self.counters[s]
        table = tables.get(side.name)
        if table is not None:
            payload.begin(table.combine_chunks())
            counters.arrived += table.num_rows
            counters.payload_bytes += table.nbytes
        return read_side(
            self.plan,
            side,
            payload.batch,
            self.coder,
            counters=counters,
            options=self._read_options,
            greatest=self._greatest(s),
            bound=bound,
        )

    def _greatest(self, s: int) -> int | float | None:
        """Return the greatest time that a stream has shown in earlier batches, to any shard."""
        if self.counters[s].greatest is not None:
            return self.counters[s].greatest
        clock: int | float = self.store.memory.streams["clock"][s].item()
        return None if clock == layout.NEVER else clock

    def complete_until(self) -> int | float | None:
        """Return the time from which on results can still come; None while a stream has no rows.

        The same in every shard.
        """
        times = []
        for s, side in enumerate(self.plan.sides):
            greatest = self._greatest(s)
            if greatest is None:
                return None
            times.append(greatest - side.lateness)
        return min(times)

    def _join(self, arrivals: Array, given: Floats | None) -> Iterator[pa.Table]:
        most = None if self.limits.rows is None else int(arrivals["limit"].max(initial=0))
        if self.monitor is not None:
            self.monitor.begin_batch()
            self.importance_estimate.forget(self.monitor.arrival_numbers())
        if self.reviewer is not None:
            self.reviewer.begin_batch(arrivals, given)
        if self.scores is not None:
            self.scores.begin_batch(arrivals)
        at = 0
        while at < arrivals.size:
            stop = self._begin_piece(arrivals, at)
            self.store.reserve(stop - at, most)
            reached = join(
                self.store.memory,
                self._partial,
                self._ranges,
                arrivals,
                at,
                stop,
                self._produced,
            )
            if self.reviewer is not None:
                self.reviewer.end_piece(arrivals, at, reached)
            if self._produced.produced[0] >= ENOUGH:
                yield self._results()
            elif reached < stop:
                self._produced = grown(self._produced)
            at = reached
        if self._produced.produced[0]:
            yield self._results()

    def _begin_piece(self, arrivals: Array, at: int) -> int:
        """Act on what has changed before an arrival; return where the next change may be."""
        arrived = int(self.store.memory.rule["arrivals"][0])
        stop = min(at + self._interval - arrived % self._interval, arrivals.size)
        if self.scores is not None:
            stop = self.scores.next_edge(at, stop)
            if self.scores.is_redefined(at) and self.reviewer is not None:
                self.reviewer.redefine()
        if arrived % self._interval == 0 and arrived != self.reviewed:
            self.reviewed = arrived
            self._review(int(arrivals["limit"][at]))
        if self.reviewer is not None:
            stop = self.reviewer.next_edge(at, stop)
            self.reviewer.begin_piece(arrivals, at, stop)
        return stop

    def _review(self, limit: int) -> None:
        """Reconsider what is decided on; called after every so many arrivals."""
        self._review_order()
        if self.monitor is not None:
            self.monitor.allow(limit)
            self.monitor.review()
        if self.reviewer is not None:
            self.reviewer.review(limit)

    def _review_order(self) -> None:
        """Let the windows be probed with the smallest expected number of matches first."""
        memory = self.store.memory
        if memory.order.shape[1] < 2:
            return
        memory.order[:] = probe_order(
            memory.pairs["faced"], memory.pairs["found"], memory.streams["held"]
        )
        if memory.pairs["faced"].sum() > _MANY:
            for name in ("faced", "found"):
                memory.pairs[name] //= 2

    def _results(self) -> pa.Table:
        """Turn the references that were produced into rows."""
        results = self._produced
        count = int(results.produced[0])
        results.produced[0] = 0
        refs, times = results.refs[:count], results.times[:count].copy()
        weights = np.ones(count)
        schema = self.plan.result_schema
        columns = []
        for s, payload in enumerate(self.payloads):
            table = payload.gather(np.ascontiguousarray(refs[:, s]))
            columns.append(as_struct(table, schema.field(s).type))
        columns.append(self.plan.time.to_arrow(times))
        if self.plan.is_sample:
            weights = results.weights[:count].copy()
        columns.append(pa.array(weights))
        if self.plan.is_sample:
            columns.append(pa.array(results.clusters[:count] * self.shards + self.shard))
        if self.scores is not None:
            importance = self.scores.of_results(refs, times)
            stands_for = np.zeros(count)
            if self.store.memory.rule["weighs"][0] and self.store.memory.rule["notes"][0]:
                stands_for = results.stands_for[:count]
            self.importance_estimate.add(importance, stands_for, results.witnesses[:count])
            columns.append(pa.array(importance))
        return pa.Table.from_arrays(columns, schema=schema)

    def metrics(self) -> Metrics:
        """Return what this shard has done so far."""
        return account(
            self.plan,
            self.store,
            self.strategies,
            self.reviewer,
            self.importance_estimate,
            self.counters,
            OperatorCounters(
                shard=self.shard,
                shards=self.shards,
                row_limit=self.limits.rows,
                measured=None if self.limits.bytes is None else self.limits.measured,
                state_bytes=sum(seal.size for seal in self.saved.values()),
                emitted_before=self.emitted_before,
            ),
        )


def as_struct(table: pa.Table, kind: pa.StructType) -> pa.Array | pa.ChunkedArray:
    """Return a table's rows as one struct column."""
    if not table.num_columns:
        return pa.array([{}] * table.num_rows, kind)
    batches = table.combine_chunks().to_batches()
    chunks = [pa.StructArray.from_arrays(batch.columns, fields=list(kind)) for batch in batches]
    return chunks[0] if len(chunks) == 1 else pa.chunked_array(chunks, kind)

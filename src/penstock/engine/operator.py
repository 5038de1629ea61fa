"""The operator: one shard of a join, batch after batch."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from penstock.engine.identity import draws
from penstock.engine.intake import Columns, Wanted, Watch, merge, read_side
from penstock.engine.kernels import layout
from penstock.engine.kernels.loop import advance, join
from penstock.engine.kernels.probe_equal import make_partial
from penstock.engine.kernels.probe_range import make_ranges
from penstock.engine.keys import KeyCoder
from penstock.engine.payload import Payload
from penstock.engine.store import ROW_OVERHEAD, Store
from penstock.metrics import Metrics, StreamMetrics
from penstock.statistics.selectivity import probe_order
from penstock.strategies import Arriving, Evict, strategy_for

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from penstock.engine.plan import Plan

# Arrivals per call of the compiled loop: memory is reserved for so many, and the order of probing
# is reviewed as often.
_SLICE = 8192
# Results that are turned into Arrow at a time: enough to make the cost per result small, few
# enough to bound the memory that a join with very many results takes.
_ENOUGH = 1 << 19
# Counts of selectivity are halved beyond this, so that the order of probing follows change.
_MANY = 1 << 34

_EVICT = {Evict.OLDEST: layout.EVICT_OLDEST, Evict.LOWEST: layout.EVICT_LOWEST}


class Operator:
    """One shard of a join: takes batches of all streams, gives results, keeps the windows.

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
        self._strategy = None if budget is None else strategy_for(plan.spec.goal)
        count = len(plan.sides)
        evict = layout.EVICT_NOBODY
        self._rows: int | None = None
        self._memory: int | None = None
        if budget is not None and self._strategy is not None:
            settings = self._strategy.decide(count)
            evict = _EVICT[settings.evict]
            self._shares = np.array(settings.shares)
            self._rows = None if budget.rows is None else _part(budget.rows, shard, shards)
            memory = budget.memory_bytes
            self._memory = None if memory is None else _part(memory, shard, shards)
        self.store = Store(plan, evict)
        self.payloads = [Payload(self.store, s, side.schema) for s, side in enumerate(plan.sides)]
        self.coder = KeyCoder(plan.keys)
        self.watches = [Watch() for _ in plan.sides]
        self.row_limit = self._rows  # rows that may be held now
        self._partial = make_partial(count, plan.time.dtype)
        self._ranges = make_ranges(count, plan.time.dtype, plan.values.dtype)
        by_priority = evict == layout.EVICT_LOWEST
        self._wanted = Wanted(
            order=budget is not None, identities=by_priority, sizes=self._memory is not None
        )

    def process(
        self,
        tables: Mapping[str, pa.Table],
        heard: Sequence[int | float | None] | None = None,
    ) -> pa.Table:
        """Join one batch and give its results; see `pieces`."""
        return pa.concat_tables(
            [self.plan.result_schema.empty_table(), *self.pieces(tables, heard)]
        )

    def pieces(
        self,
        tables: Mapping[str, pa.Table],
        heard: Sequence[int | float | None] | None = None,
    ) -> Iterator[pa.Table]:
        """Join one batch and give its results piece by piece.

        The batch is dealt with, and the state complete, only when all pieces have been taken.

        Parameters
        ----------
        tables
            For each stream the rows that came; a stream may be left out if none did.
        heard
            For each stream the greatest time that is known to have come, in this shard or in
            another one; None where nothing is known.
        """
        sides = [self._read(s, tables) for s in range(len(self.plan.sides))]
        places = self.store.make_places([side.times for side in sides])
        arrivals, order = merge(self.plan, sides, places)
        self._rank(sides, arrivals, order)
        self._limit(sides, arrivals, order)
        yield from self._join(arrivals)
        for s, time in enumerate(heard or ()):
            if time is not None:
                advance(self.store.memory, s, time)
        for s, placed in enumerate(places):
            base = int(self.store.memory.streams["base"][s])
            rows = self.store.memory.queue[base + placed.astype(np.int64)]
            self.payloads[s].settle(rows[rows >= 0])
        self.coder.forget(self.store.live_words)

    def _read(self, s: int, tables: Mapping[str, pa.Table]) -> Columns:
        side, payload, watch = self.plan.sides[s], self.payloads[s], self.watches[s]
        table = tables.get(side.name)
        if table is not None:
            payload.batch = table.combine_chunks()
            watch.arrived += table.num_rows
            watch.payload_bytes += table.nbytes
        clock = self.store.memory.streams["clock"][s].item()
        return read_side(
            self.plan, side, payload.batch, self.coder, clock, watch, self._wanted
        )

    def _rank(
        self, sides: list[Columns], arrivals: npt.NDArray[np.void], order: npt.NDArray[np.int64]
    ) -> None:
        """Have the strategy give each arrival its priority."""
        if not self._wanted.identities or self._strategy is None:
            return
        seed = self.plan.spec.seed
        priorities = []
        for s, side in enumerate(sides):
            assert side.identities is not None
            arriving = Arriving(
                s, side.times, lambda s=s, side=side: draws(seed, s, side.times, side.identities)
            )
            priorities.append(self._strategy.priorities(arriving))
        arrivals["priority"] = np.concatenate(priorities)[order]

    def _limit(
        self, sides: list[Columns], arrivals: npt.NDArray[np.void], order: npt.NDArray[np.int64]
    ) -> None:
        """Say how many rows may be held once each arrival has been dealt with."""
        if self._rows is not None:
            arrivals["limit"] = self._rows
            self.store.memory.streams["share"] = self._shares * self._rows
        if self._memory is None or not arrivals.size:
            return
        # memory / mean size of the rows so far: the same whatever batches they came in.
        sizes = np.concatenate([side.sizes for side in sides])[order]
        rows = self.store.measured[0] + np.arange(1, sizes.size + 1)
        total = self.store.measured[1] + np.cumsum(sizes)
        least = len(self.plan.sides)
        arrivals["limit"] = np.maximum(self._memory / (ROW_OVERHEAD + total / rows), least)
        self.store.measured[:] = rows[-1], total[-1]
        self.row_limit = int(arrivals["limit"][-1])
        self.store.memory.streams["share"] = self._shares * self.row_limit

    def _join(self, arrivals: npt.NDArray[np.void]) -> Iterator[pa.Table]:
        refs = np.empty((1024, len(self.plan.sides)), np.int64)
        times = np.empty(1024, self.plan.time.dtype)
        count = at = 0
        most = int(arrivals["limit"].max()) if self.row_limit is not None and at < arrivals.size else None
        while at < arrivals.size:
            stop = min(at + _SLICE, arrivals.size)
            self.store.reserve(stop - at, most)
            self._review_order()
            refs, times, count, at = join(
                self.store.memory,
                self._partial,
                self._ranges,
                arrivals,
                at,
                stop,
                refs,
                times,
                count,
                _ENOUGH,
            )
            if count >= _ENOUGH:
                yield self._results(refs[:count], times[:count])
                count = 0
        if count:
            yield self._results(refs[:count], times[:count])

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

    def _results(
        self, refs: npt.NDArray[np.int64], times: npt.NDArray[np.generic]
    ) -> pa.Table:
        schema = self.plan.result_schema
        columns = []
        for s, payload in enumerate(self.payloads):
            table = payload.gather(np.ascontiguousarray(refs[:, s]))
            columns.append(_as_struct(table, schema.field(s).type))
        columns.append(self.plan.time.to_arrow(times.copy()))
        columns.append(pa.array(np.ones(times.size)))
        return pa.Table.from_arrays(columns, schema=schema)

    def metrics(self) -> Metrics:
        """Give what this shard has done so far."""
        records = self.store.memory.streams
        rule = self.store.memory.rule
        streams = {}
        total_bytes = 0.0
        for s, side in enumerate(self.plan.sides):
            record, watch = records[s], self.watches[s]
            row_bytes = watch.payload_bytes / watch.arrived if watch.arrived else 0.0
            counted = ("dropped", "evicted", "expired", "held", "held_most")
            streams[side.name] = StreamMetrics(
                arrived=watch.arrived,
                late=watch.late,
                bad_times=watch.bad_times,
                far_ahead=watch.far_ahead,
                null_keys=watch.null_keys,
                row_bytes=row_bytes,
                **{name: int(record[name]) for name in counted},
            )
            total_bytes += int(record["held_most"]) * (row_bytes + ROW_OVERHEAD)
        return Metrics(
            streams=streams,
            strategy=None if self._strategy is None else self._strategy.name,
            emitted=int(rule["produced"][0]),
            budget_rows=self.row_limit,
            held_most=int(rule["held_most"][0]),
            bytes_most=round(total_bytes),
            inserted=int(records["inserted"].sum()),
            compared=int(rule["compared"][0]),
        )


def _part(whole: int, shard: int, shards: int) -> int:
    """Divide a budget: the parts add up to the whole.

    >>> [_part(10, shard, 3) for shard in range(3)]
    [4, 3, 3]
    """
    return whole // shards + (shard < whole % shards)


def _as_struct(table: pa.Table, kind: pa.StructType) -> pa.Array | pa.ChunkedArray:
    if not table.num_columns:
        return pa.array([{}] * table.num_rows, kind)
    batches = table.combine_chunks().to_batches()
    chunks = [pa.StructArray.from_arrays(batch.columns, fields=list(kind)) for batch in batches]
    return chunks[0] if len(chunks) == 1 else pa.chunked_array(chunks, kind)

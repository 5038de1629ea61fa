"""The memory of one shard, which grows with what it holds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from penstock.engine.kernels import layout
from penstock.engine.kernels.buckets import relink
from penstock.engine.kernels.index import rebuild
from penstock.engine.kernels.layout import Memory
from penstock.engine.kernels.queue import make_places, pack
from penstock.engine.kernels.step_weights import TOGETHER
from penstock.engine.plan import rule_record
from penstock.strategies import GRADES

if TYPE_CHECKING:
    from penstock.engine.arrays import Array, DType, Floats, Indices, Integers, Mask
    from penstock.engine.plan import Plan
    from penstock.engine.retention.base import Retention

_CACHE_LINE = 64

# What a row in memory costs besides its payload: its record (64 bytes), its places in queue and
# heap, its share of slots and table, its arrival number and likeliness beside the payload, and the
# room that arrays keep for growth. Measured with a key for every row, which costs most
# (docs/benchmarks.md, "Memory"): 222 bytes, and fewer where rows share keys. Of a budget in bytes,
# also what the row takes up of it (4, and as much for growth).
ROW_OVERHEAD = 232

# Columns of `chances`: the chances of an arrival, and what it stands for; 1 if nothing is shed.
_CERTAIN = ("probe_chance", "insert_chance", "admit_chance", "probe_weight", "insert_weight")


@dataclass(frozen=True)
class Lives:
    """How each stream's time is divided into parts of a row's life.

    Attributes
    ----------
    spans
        For each stream the length of a part.
    parts
        For each stream the parts of a life.
    """

    spans: tuple[int | float, ...]
    parts: tuple[int, ...]


class Store:
    """Rows, index and queues, as arrays that grow between two calls of the loop."""

    def __init__(self, plan: Plan, lives: Lives, retention: Retention) -> None:
        count = len(plan.sides)
        time, value = plan.time.dtype, plan.values.dtype
        streams = np.zeros(count, layout.stream_type(time))
        for field in ("window", "lateness"):
            streams[field] = [getattr(side, field) for side in plan.sides]
        streams["last_rows"] = [side.last_rows for side in plan.sides]
        streams["chain"] = plan.chain
        streams["clock"] = streams["horizon"] = layout.NEVER
        streams["share"] = 1.0 / count
        rule = rule_record(plan)
        for name in ("threshold", "whole_chance", *_CERTAIN):
            rule[name] = 1.0
        divided = np.zeros(count, layout.life_type(time))
        divided["span"] = lives.spans
        divided["parts"] = lives.parts
        parts = max(lives.parts)
        others = [[o for o in range(count) if o != s] for s in range(count)]
        self.retention = retention
        self.found_before = np.zeros(count, np.int64)  # results before the batch, by stream
        self.vector_bytes = 0  # of a row, beside its payload
        self.effort: Integers | None = None  # comparisons of vectors by hop (`Nearby.effort`)
        self.memory = Memory(
            rows=_aligned(0, layout.row_type(time, value)),
            costs=np.zeros(0, np.int32),
            slots=np.zeros((0, layout.HEAD + count), np.int64),
            table=np.zeros(1, np.int64),
            queue=np.zeros(0, np.int32),
            streams=streams,
            rule=rule,
            span=_span(plan),
            order=np.array(others, np.int64),
            pairs=np.zeros((count, count), layout.PAIR),
            chances=np.zeros((0, len(_CERTAIN))),
            key_grades=np.zeros(0, np.int32),
            weighing=np.zeros((2, 2, count, GRADES // TOGETHER + 1)),
            account=np.zeros(1, layout.account_type(time)),
            ranking=np.zeros((2, count, GRADES)),
            probed=np.ones((count, count, 1)),
            parts_probed=np.ones((count, count)),
            lags=np.zeros((2, count, count, 0)),
            shed=np.zeros(0, layout.SHED),
            dead=np.zeros((count, 8), np.int64),
            monitored=np.zeros(0, layout.monitored_type(time)),
            gauges=np.zeros(count, layout.GAUGE),
            lives=divided,
            matched=np.zeros((count, parts)),
            exposed=np.zeros((count, parts)),
            retained=retention.make(time, count),
        )

    @property
    def row_overhead(self) -> int:
        """Bytes that a row in memory costs besides its payload."""
        return ROW_OVERHEAD + self.retention.row_bytes

    def reserve_chances(self, arrivals: int) -> None:
        """Make room for the chances and the grades of so many arrivals."""
        if len(self.memory.chances) < arrivals:
            self.memory = self.memory._replace(
                chances=np.ones((arrivals, len(_CERTAIN))),
                key_grades=np.zeros(arrivals, np.int32),
            )

    def set_sub_windows(
        self,
        probed: Mask | Floats | None,
        whole: float = 1.0,
        parts_probed: Floats | None = None,
    ) -> None:
        """Set how much of which parts of which windows is probed; None for all.

        `whole` is the chance of a row to probe all the same, and `parts_probed` how many parts
        these are by the rows that are there; None if rows are spread evenly.
        """
        self.memory.rule["sub_windows"] = 0 if probed is None else probed.shape[2]
        self.memory.rule["whole_chance"] = 1.0 if probed is None else whole
        if probed is not None:
            probed = probed.astype(np.float64)
            if parts_probed is None:
                parts_probed = np.cumsum(probed, axis=2)[:, :, -1].copy()
            self.memory = self.memory._replace(probed=probed, parts_probed=parts_probed)

    def count_parts(self, probed: Mask | Floats) -> Floats:
        """Return how many parts of each window are probed, by the rows that are in memory now.

        For each stream that arrives. With all rows in the newest of ten parts, that one is ten.
        """
        streams, rows = self.memory.streams, self.memory.rows
        shares = probed.astype(np.float64)
        counted = shares.sum(axis=2)
        parts = shares.shape[2]
        for other in range(streams.size):
            held, window = self.in_queue(other), float(streams["window"][other])
            if not held.size or window <= 0.0:
                continue
            ages = (streams["clock"].max() - rows["time"][held]).astype(np.float64)
            places = np.clip(ages / window, 0.0, 1.0) * parts
            at = np.minimum(places.astype(np.int64), parts - 1)
            asked = places - at < shares[:, other, at]
            counted[:, other] = parts * (asked | (shares[:, other, at] >= 1.0)).mean(axis=1)
        return counted

    def count_lags(self, parts: int) -> None:
        """Count from now on in which of so many parts of a window rows were found."""
        count = self.memory.streams.size
        self.memory.rule["notes"] |= layout.LAGS
        self.memory = self.memory._replace(lags=np.zeros((2, count, count, parts)))

    @property
    def held(self) -> int:
        """Rows held now."""
        return int(self.memory.rule["held"][0])

    def in_queue(self, s: int) -> Integers:
        """Return a stream's rows in time order."""
        record = self.memory.streams[s]
        base = int(record["base"])
        queue = self.memory.queue[base + int(record["head"]) : base + int(record["tail"])]
        return queue[queue >= 0].astype(np.int64)

    def oldest(self, s: int, most: int) -> Integers:
        """Return the oldest rows of a stream, at most so many, in time order.

        The same in any cut into batches: gaps in the queue differ, and are passed over.
        """
        record = self.memory.streams[s]
        first, last = (int(record["base"] + record[end]) for end in ("head", "tail"))
        length = 2 * most
        while True:
            queue = self.memory.queue[first : min(first + length, last)]
            rows = queue[queue >= 0][:most]
            if rows.size == most or first + length >= last:
                return rows.astype(np.int64)
            length *= 4

    def live_words(self) -> Integers:
        """Words of the keys that have rows."""
        used = self.memory.slots[: int(self.memory.rule["fresh_slot"][0])]
        return used[used[:, layout.COUNT] > 0, layout.KEY_WORD]

    def reserve(self, arrivals: int, limit: int | None) -> None:
        """Make room for so many arrivals, of which no more than `limit` can be held at a time."""
        needed = self.held + arrivals
        self._reserve_rows(needed if limit is None else min(needed, max(limit, self.held)))
        if self.memory.rule["kind"][0] == layout.SIMILAR:
            self._reserve_buckets(1)  # all rows are in one chain, which is not read
        elif self.memory.rule["kind"][0] != layout.EQUAL:
            self._reserve_buckets(needed if limit is None else min(needed, limit))
        elif self.memory.rule["spare_slots"][0] < arrivals:
            rebuild(self.memory.of_any_kind)
            # Rebuilding again is due only after half of all slots have been given out.
            capacity = len(self.memory.slots)
            spare = int(self.memory.rule["spare_slots"][0])
            if spare < max(arrivals, capacity // 2):
                self._grow_slots(max(2 * capacity, capacity - spare + 2 * arrivals))

    def _reserve_buckets(self, rows: int) -> None:
        """Have about as many slots as rows; each stream has its own chains in them."""
        if rows <= len(self.memory.slots):
            return
        size = 1 << max(10, (rows - 1).bit_length())
        slots = np.zeros((size, self.memory.slots.shape[1]), np.int64)
        self.memory = self.memory._replace(slots=slots)
        relink(self.memory.of_any_kind)

    def _reserve_rows(self, needed: int) -> None:
        rows = self.memory.rows
        if needed <= rows.size:
            return
        size = max(needed, 2 * rows.size, 1024)
        larger = _aligned(size, rows.dtype)
        larger[: rows.size] = rows
        costs = self.memory.costs
        if self.memory.rule["has_costs"][0]:
            costs = np.zeros(size, np.int32)
            costs[: self.memory.costs.size] = self.memory.costs
        shed = self.memory.shed
        if self.meters:
            shed = _unshed(size)
            shed[: self.memory.shed.size] = self.memory.shed
        retained = self.retention.grown(self.memory.retained, size)
        self.memory = self.memory._replace(rows=larger, costs=costs, shed=shed, retained=retained)

    @property
    def meters(self) -> bool:
        """Whether it is noted for how many results those that are found stand."""
        return bool(self.memory.rule["notes"][0] & layout.METERS)

    def meter(self, *, by_count: bool, fits: bool) -> None:
        """Note it from now on: rows are about to be shed by lot. Nothing was lost so far.

        Parameters
        ----------
        by_count
            Whether the size of the exact result comes from counts of keys. Then it is noted only
            with what chances rows came, so that it can be estimated from them later.
        fits
            Whether what is found in rows is added up all the same.
        """
        memory = self.memory
        memory.rule["notes"] |= layout.METERS
        memory.rule["notes"] |= layout.BY_COUNT if by_count else 0
        memory.rule["notes"] |= layout.FITS if fits else 0
        memory.gauges["total"] += memory.streams["found"]
        memory.gauges["batch_total"] += memory.streams["found"] - self.found_before
        self.reserve_shed()

    def times_held(self) -> list[Floats]:
        """Return the times of each stream's rows in memory, in their order."""
        rows = (self.in_queue(s) for s in range(self.memory.streams.size))
        return [self.memory.rows["time"][each].astype(np.float64) for each in rows]

    def as_arrivals(self) -> Array:
        """Return the rows in memory as they came, with time, stream and key."""
        memory = self.memory
        held = np.concatenate([self.in_queue(s) for s in range(memory.streams.size)])
        rows = memory.rows[held]
        rows = rows[np.argsort(rows["arrival_number"])]
        arrivals = np.zeros(rows.size, layout.arrival_type(rows["time"].dtype, rows["value"].dtype))
        for name in ("time", "stream", "value"):
            arrivals[name] = rows[name]
        if memory.rule["kind"][0] == layout.EQUAL:
            arrivals["key_word"] = memory.slots[rows["slot"], layout.KEY_WORD]
        return arrivals

    def reserve_shed(self) -> None:
        """Make room to note it."""
        self.memory = self.memory._replace(shed=_unshed(self.memory.rows.size))

    def reserve_monitored(self, quota: int) -> None:
        """Make room to monitor so many rows."""
        monitored = self.memory.monitored
        if quota <= monitored.size:
            return
        larger = np.zeros(max(quota, 2 * monitored.size), monitored.dtype)
        larger[: monitored.size] = monitored
        self.memory = self.memory._replace(monitored=larger)

    def _grow_slots(self, capacity: int) -> None:
        old = self.memory.slots
        slots = np.zeros((capacity, old.shape[1]), np.int64)
        slots[: len(old)] = old
        table = np.zeros(1 << (2 * capacity - 1).bit_length(), np.int64)
        self.memory = self.memory._replace(slots=slots, table=table)
        rebuild(self.memory.of_any_kind)

    def reserve_sub_windows(self, number: int) -> None:
        """Make room to count the dead of row groups up to a number."""
        dead = self.memory.dead
        if number < dead.shape[1]:
            return
        larger = np.zeros((dead.shape[0], 2 * number), np.int64)
        larger[:, : dead.shape[1]] = dead
        self.memory = self.memory._replace(dead=larger)

    def make_places(self, times: list[Array]) -> list[Indices]:
        """Return the places of each stream's coming rows (in time order) in its queue."""
        streams = self.memory.streams
        room = _queue_room(self.memory)
        if any(t.size > room[s] for s, t in enumerate(times)):
            # Twice what is held and coming: the next move is as far away as this one was big.
            sizes = [2 * (int(streams["held"][s]) + t.size) + 64 for s, t in enumerate(times)]
            queue = np.full(sum(sizes), layout.NOTHING, np.int32)
            base = 0
            for s, size in enumerate(sizes):
                pack(self.memory.of_any_kind, s, queue, base)
                self.retention.queue_moved(self.memory, s)
                base += size
            self.memory = self.memory._replace(queue=queue)
        places = [np.empty(t.size, np.int32) for t in times]
        for s, t in enumerate(times):
            if t.size:
                make_places(self.memory.of_any_kind, s, t, places[s])
        return places


def _span(plan: Plan) -> Array:
    """Return the length of a time slice of the index, and how wrong a bound of times can be.

    2**-49 is 16 units in the last place: more than the sum of a time and a window is wrong by.
    """
    slack = 2.0**-49 if plan.time.dtype.kind == "f" else 0
    longest = max(side.window for side in plan.sides)
    return np.array([plan.span, slack, slack * longest], plan.time.dtype)


def _queue_room(memory: Memory) -> list[int]:
    """Return the free places at the end of each stream's queue."""
    bases = [*(int(base) for base in memory.streams["base"]), memory.queue.size]
    tails = memory.streams["tail"]
    return [bases[s + 1] - bases[s] - int(tails[s]) for s in range(tails.size)]


def _unshed(size: int) -> Array:
    """Return what is noted of rows that were not shed."""
    shed = np.zeros(size, layout.SHED)
    shed["chance"] = shed["weight"] = 1.0
    return shed


def _aligned(size: int, dtype: DType) -> Array:
    """Allocate records so that each begins a cache line."""
    raw = np.zeros(size * dtype.itemsize + _CACHE_LINE, np.uint8)
    start = -raw.ctypes.data % _CACHE_LINE
    return raw[start : start + size * dtype.itemsize].view(dtype)

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
from penstock.engine.plan import rule_record

if TYPE_CHECKING:
    from penstock.engine.arrays import Array, DType, Indices, Integers
    from penstock.engine.plan import Plan

_CACHE_LINE = 64

# What a buffered tuple costs besides its payload: its record (64 bytes), its places in queue and
# heap, its share of slots and table, its birth and priority beside the payload, and the room that
# arrays keep for growth. Measured with a key for every row, which costs most (docs/benchmarks.md,
# "Memory"): 222 bytes, and fewer where rows share keys.
ROW_OVERHEAD = 224
# And what a row of a sample costs more: how it was drawn.
_ODDS_OVERHEAD = 2 * layout.ODDS.itemsize
# And one that leaves by residence priority: what it has given, and its place in a second heap.
_MERIT_OVERHEAD = 2 * (layout.merit_type(np.dtype("i8")).itemsize + 4)


def row_overhead(plan: Plan) -> int:
    """Give what a buffered tuple of a join costs besides its payload, in bytes."""
    if plan.spec.goal.strategy == "ijoin":
        return ROW_OVERHEAD + _MERIT_OVERHEAD
    return ROW_OVERHEAD + (_ODDS_OVERHEAD if plan.is_sample else 0)


@dataclass(frozen=True)
class GridShape:
    """Into what cells each stream's rows go, where they are evicted by score.

    Attributes
    ----------
    spans
        For each stream the length of a part of a row's life.
    parts
        For each stream the parts of a life.
    grades
        Of what is expected of a row.
    """

    spans: tuple[int | float, ...]
    parts: tuple[int, ...]
    grades: int


class Store:
    """Rows, index, queues and heaps, as arrays that grow between two calls of the loop."""

    def __init__(self, plan: Plan, evict: int, shape: GridShape) -> None:
        count = len(plan.sides)
        time, value = plan.time.dtype, plan.values.dtype
        streams = np.zeros(count, layout.stream_type(time))
        for field in ("window", "lateness"):
            streams[field] = [getattr(side, field) for side in plan.sides]
        streams["chain"] = plan.chain
        streams["clock"] = streams["horizon"] = layout.NEVER
        rule = rule_record(plan)
        rule["evict"] = evict
        rule["threshold"] = 1.0
        rule["fraction"] = np.inf
        grids = np.zeros(count, layout.grid_type(time))
        grids["span"] = shape.spans
        grids["parts"] = shape.parts
        grids["ages"] = ages = np.array(shape.parts) + 2
        grids["cells"] = ages * shape.grades
        cells = int(grids["cells"].max())
        parts = max(shape.parts)
        others = [[o for o in range(count) if o != s] for s in range(count)]
        self._by_residence = evict == layout.EVICT_BY_RESIDENCE
        self._by_priority = self._by_residence or evict in (
            layout.EVICT_LOWEST,
            layout.EVICT_BY_LOT,
        )
        self._by_lot = evict == layout.EVICT_BY_LOT
        self._by_score = evict == layout.EVICT_BY_SCORE
        self.memory = Memory(
            rows=_aligned(0, layout.row_type(time, value)),
            slots=np.zeros((0, layout.HEAD + count), np.int64),
            table=np.zeros(1, np.int64),
            queue=np.zeros(0, np.int32),
            heaps=np.zeros((2 * count if self._by_residence else count, 0), np.int32),
            streams=streams,
            rule=rule,
            span=_span(plan),
            order=np.array(others, np.int64),
            pairs=np.zeros((count, count), layout.PAIR),
            dead=np.zeros((count, 8), np.int64),
            watched=np.zeros(0, layout.watched_type(time)),
            gauges=np.zeros(count, layout.GAUGE),
            matched=np.zeros((count, parts)),
            exposed=np.zeros((count, parts)),
            grids=grids,
            cells=np.full((count, cells, 2), layout.NOTHING, np.int32),
            ranks=np.zeros((count, cells), np.int32),
            ranked=np.zeros((count, cells), np.int32),
            rising=np.zeros((count, cells), np.int32),
            links=np.zeros((0, 3), np.int32),
            odds=np.zeros(0, layout.ODDS),
            merits=np.zeros(0, layout.merit_type(time)),
            residences=np.zeros(count, layout.residence_type(time)),
            scratch=np.zeros((2, layout.SCRATCH), np.int32),
        )
        self.memory.residences["life"] = np.where(streams["window"] > 0, streams["window"], 1)
        self.memory.residences["horizon"] = layout.NEVER

    @property
    def held(self) -> int:
        """Rows held now."""
        return int(self.memory.rule["held"][0])

    def in_queue(self, s: int) -> Integers:
        """Give a stream's rows in time order."""
        record = self.memory.streams[s]
        base = int(record["base"])
        queue = self.memory.queue[base + int(record["head"]) : base + int(record["tail"])]
        return queue[queue >= 0].astype(np.int64)

    def live_words(self) -> Integers:
        """Words of the keys that have rows."""
        used = self.memory.slots[: int(self.memory.rule["fresh_slot"][0])]
        return used[used[:, layout.COUNT] > 0, layout.KEY_WORD]

    def reserve(self, arrivals: int, limit: int | None) -> None:
        """Make room for so many arrivals, of which no more than `limit` can be held at a time."""
        needed = self.held + arrivals
        self._reserve_rows(needed if limit is None else min(needed, max(limit, self.held)))
        if self.memory.rule["kind"][0] != layout.EQUAL:
            self._reserve_buckets(needed if limit is None else min(needed, limit))
        elif self.memory.rule["spare_slots"][0] < arrivals:
            rebuild(self.memory)
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
        relink(self.memory)

    def _reserve_rows(self, needed: int) -> None:
        rows = self.memory.rows
        if needed <= rows.size:
            return
        size = max(needed, 2 * rows.size, 1024)
        larger = _aligned(size, rows.dtype)
        larger[: rows.size] = rows
        self.memory = self.memory._replace(rows=larger)
        if self._by_priority:
            heaps = np.zeros((self.memory.heaps.shape[0], size), np.int32)
            heaps[:, : self.memory.heaps.shape[1]] = self.memory.heaps
            self.memory = self.memory._replace(heaps=heaps)
        if self._by_score:
            links = np.zeros((size, self.memory.links.shape[1]), np.int32)
            links[: rows.size] = self.memory.links
            self.memory = self.memory._replace(links=links)
        if self._by_lot:
            odds = np.zeros(size, layout.ODDS)
            odds[: rows.size] = self.memory.odds
            self.memory = self.memory._replace(odds=odds)
        if self._by_residence:
            merits = np.zeros(size, self.memory.merits.dtype)
            merits[: rows.size] = self.memory.merits
            self.memory = self.memory._replace(merits=merits)

    def reserve_watched(self, quota: int) -> None:
        """Make room to watch so many rows."""
        watched = self.memory.watched
        if quota <= watched.size:
            return
        larger = np.zeros(max(quota, 2 * watched.size), watched.dtype)
        larger[: watched.size] = watched
        self.memory = self.memory._replace(watched=larger)

    def _grow_slots(self, capacity: int) -> None:
        old = self.memory.slots
        slots = np.zeros((capacity, old.shape[1]), np.int64)
        slots[: len(old)] = old
        table = np.zeros(1 << (2 * capacity - 1).bit_length(), np.int64)
        self.memory = self.memory._replace(slots=slots, table=table)
        rebuild(self.memory)

    def reserve_sub_windows(self, number: int) -> None:
        """Make room to count the dead of sub-windows up to a number."""
        dead = self.memory.dead
        if number < dead.shape[1]:
            return
        larger = np.zeros((dead.shape[0], 2 * number), np.int64)
        larger[:, : dead.shape[1]] = dead
        self.memory = self.memory._replace(dead=larger)

    def make_places(self, times: list[Array]) -> list[Indices]:
        """Give each stream's coming tuples (in time order) their places in its queue."""
        streams = self.memory.streams
        room = _queue_room(self.memory)
        if any(t.size > room[s] for s, t in enumerate(times)):
            # Twice what is held and coming: the next move is as far away as this one was big.
            sizes = [2 * (int(streams["held"][s]) + t.size) + 64 for s, t in enumerate(times)]
            queue = np.full(sum(sizes), layout.NOTHING, np.int32)
            base = 0
            for s, size in enumerate(sizes):
                pack(self.memory, s, queue, base)
                base += size
            self.memory = self.memory._replace(queue=queue)
        places = [np.empty(t.size, np.int32) for t in times]
        for s, t in enumerate(times):
            if t.size:
                make_places(self.memory, s, t, places[s])
        return places


def _span(plan: Plan) -> Array:
    """Give the length of an indexed sub-window, and how wrong a bound of times can be.

    2**-49 is 16 units in the last place: more than the sum of a time and a window is wrong by.
    """
    slack = 2.0**-49 if plan.time.dtype.kind == "f" else 0
    longest = max(side.window for side in plan.sides)
    return np.array([plan.span, slack, slack * longest], plan.time.dtype)


def _queue_room(memory: Memory) -> list[int]:
    """Give the free places at the end of each stream's queue."""
    bases = [*(int(base) for base in memory.streams["base"]), memory.queue.size]
    tails = memory.streams["tail"]
    return [bases[s + 1] - bases[s] - int(tails[s]) for s in range(tails.size)]


def _aligned(size: int, dtype: DType) -> Array:
    """Allocate records so that each begins a cache line."""
    raw = np.zeros(size * dtype.itemsize + _CACHE_LINE, np.uint8)
    start = -raw.ctypes.data % _CACHE_LINE
    return raw[start : start + size * dtype.itemsize].view(dtype)

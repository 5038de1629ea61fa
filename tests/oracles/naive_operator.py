"""The operator by its definition: lists and loops, one row after another.

Written from what a join means, not from the kernels: no index, no queue, no heap. Every row is
compared with every combination of rows held.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from penstock.engine.first_decision import needs_of, row_overhead
from penstock.engine.identity import content_hashes, draws
from penstock.engine.intake import read_keys
from penstock.engine.keys import KeyCoder
from penstock.engine.limits import review_interval
from penstock.engine.lives import lives_of
from penstock.engine.monitor import Monitor
from penstock.engine.retention.base import Retention
from penstock.engine.sizes import row_sizes
from penstock.engine.store import Store
from penstock.strategies import Oldest, strategies_for
from tests.oracles.naive_predicates import holds, key_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa

    from penstock.engine.plan import Plan

PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}

# A row's identity: the number of its batch, and of its row in that batch's table.
Identity = tuple[int, int]


@dataclass
class Row:
    """A row on its way through the join."""

    stream: int
    time: Any
    key: tuple[Any, ...] | None
    identity: Identity
    hash: int
    size: int
    draw: float = 0.0
    arrival_number: int = 0
    lot: float = 0.0  # a row that draws below the threshold is monitored
    chance: float | None = None  # of being monitored until now; None if it is not


@dataclass
class NaiveOperator:
    """What `Operator` should do, for one shard; `max_ahead` is not looked at."""

    plan: Plan
    batches: int = 0
    arrivals: int = 0
    held_most: int = 0
    emitted: int = 0
    held: list[list[Row]] = field(default_factory=list)
    clocks: list[Any] = field(default_factory=list)
    counts: list[Counter[str]] = field(default_factory=list)
    threshold: float = 1.0
    quota: int = 0
    reviewed: int = -1
    estimate: float = 0.0  # of all results, by the monitored rows

    def __post_init__(self) -> None:
        streams = len(self.plan.sides)
        self.held = [[] for _ in range(streams)]
        self.clocks = [None] * streams  # None until something has come
        self.counts = [Counter() for _ in range(streams)]
        self.budget = self.plan.spec.budget
        self.rows = self.limit if self.in_rows else self.limit // self.words(0)
        if self.budget is not None:
            # Only its draws are used: any fair ones would do.
            lives = lives_of(self.plan, None)
            store = Store(self.plan, lives, Retention(Oldest(), lives.parts))
            needs = needs_of(strategies_for(self.plan.spec.goal))
            self.monitor = Monitor(self.plan, store, self.budget, needs, 0)
        self.strategy = self.plan.spec.goal.strategy

    def process(self, tables: Mapping[str, pa.Table]) -> list[tuple[Identity, ...]]:
        """Join one batch: return the identities of the rows of each result."""
        arriving: list[Row] = []
        for s, side in enumerate(self.plan.sides):
            if side.name in tables:
                arriving += self.take_in(s, tables[side.name])
        results: list[tuple[Identity, ...]] = []
        for row in sorted(arriving, key=lambda row: (row.time, row.stream)):
            results += self.deal_with(row)
        self.batches += 1
        self.emitted += len(results)
        return results

    def take_in(self, s: int, table: pa.Table) -> list[Row]:
        """Return the rows of a stream that take part, in their order among themselves."""
        side, count = self.plan.sides[s], self.counts[s]
        columns = [table.column(name).to_pylist() for name in side.columns]
        vectors = self.plan.vectors
        beside = 0 if vectors is None else vectors.row_bytes(vectors.dimensions)
        hashes, sizes = content_hashes(table).tolist(), (row_sizes(table) + beside).tolist()
        rows = []
        for number, time in enumerate(times_of(table.column(side.time), self.plan.time.unit)):
            count["arrived"] += 1
            clock = self.clocks[s]
            if time is None or not math.isfinite(time) or abs(time) >= 2**61:
                count["bad_times"] += 1
            elif clock is not None and time < clock - side.lateness:
                count["late"] += 1
            else:
                key = key_of(self.plan.spec.on, tuple(column[number] for column in columns))
                count["null_keys"] += key is None
                identity = (self.batches, number)
                rows.append(Row(s, time, key, identity, hashes[number], sizes[number]))
        if self.budget is None:
            return sorted(rows, key=lambda row: row.time)
        rows = sorted(rows, key=lambda row: (row.time, row.hash))
        for row, draw in zip(rows, self.draw(s, rows), strict=True):
            row.draw = draw
        fast = self.monitor
        words, values, _ = read_keys(self.plan, side, table, KeyCoder(self.plan.keys), hashes=True)
        index = np.array([row.identity[1] for row in rows], np.int64)
        times = np.array([row.time for row in rows], self.plan.time.dtype)
        for row, lot in zip(rows, fast.draws(s, times, words[index], values[index]), strict=True):
            row.lot = float(lot)
        return rows

    def draw(self, s: int, rows: list[Row]) -> list[float]:
        times = np.array([row.time for row in rows], self.plan.time.dtype)
        hashes = np.array([row.hash for row in rows], np.int64)
        return list(draws(self.plan.spec.seed, s, times, hashes).tolist())

    def deal_with(self, row: Row) -> list[tuple[Identity, ...]]:
        """Take one row through the join; return its results."""
        s, count = row.stream, self.counts[row.stream]
        row.arrival_number = self.arrivals
        self.review()
        self.arrivals += 1
        self.clocks[s] = row.time if self.clocks[s] is None else max(self.clocks[s], row.time)
        for other in range(len(self.held)):
            self.expire(other)
        if row.key is None:
            return []
        results = self.probe(row)
        if self.is_past(row):
            count["expired"] += 1
        elif self.make_room(row, monitored=self.is_chosen(row)):
            self.held[s].append(row)
        else:
            count["dropped"] += 1
        count["held_most"] = max(count["held_most"], len(self.held[s]))
        self.held_most = max(self.held_most, sum(map(len, self.held)))
        return results

    # --- The monitored rows

    @property
    def monitored(self) -> list[Row]:
        return [row for rows in self.held for row in rows if row.chance is not None]

    def review(self) -> None:
        """After every so many rows: how many may be monitored, and which."""
        interval = review_interval(self.rows)
        if self.budget is None or 0 <= self.reviewed > self.arrivals - interval:
            return
        self.reviewed = self.arrivals
        held = sum(map(len, self.held))
        if held and not self.in_rows:
            self.rows = max(1, self.limit * held // self.taken())
        self.quota = self.budget.monitored(self.rows)
        self.keep_to_quota()
        alive = sum(1 / row.chance for row in self.monitored if row.chance)
        if not self.monitored and self.quota:
            self.threshold = min(1.0, 2 * self.threshold)
        elif len(self.monitored) < 0.9 * self.quota:
            self.threshold = min(1.0, max(self.threshold, 0.9 * self.quota / alive))

    def keep_to_quota(self) -> None:
        while len(self.monitored) > self.quota:
            self.lower(max(row.lot for row in self.monitored))

    def lower(self, threshold: float) -> None:
        """Let the threshold fall: rows that draw no less are monitored no more."""
        self.threshold = threshold
        for row in self.monitored:
            assert row.chance is not None
            row.chance = min(row.chance, threshold) if row.lot < threshold else None

    def is_chosen(self, row: Row) -> bool:
        if self.budget is None or not self.quota or row.lot >= self.threshold:
            return False
        while len(self.monitored) >= self.quota:
            self.lower(max(row.lot, *(other.lot for other in self.monitored)))
            if row.lot >= self.threshold:
                return False
        return True

    def is_past(self, row: Row) -> bool:
        """Return whether no row still to come can join a row."""
        others = [o for o in range(len(self.clocks)) if o != row.stream]
        if any(self.clocks[o] is None for o in others):
            return False
        horizon = min(self.clocks[o] - self.plan.sides[o].lateness for o in others)
        return bool(horizon - row.time > self.plan.sides[row.stream].window)

    def expire(self, s: int) -> None:
        staying = [row for row in self.held[s] if not self.is_past(row)]
        self.counts[s]["expired"] += len(self.held[s]) - len(staying)
        self.held[s] = staying

    def probe(self, row: Row) -> list[tuple[Identity, ...]]:
        """Look at every combination of the row with one row of each other stream."""
        candidates = [[row] if s == row.stream else rows for s, rows in enumerate(self.held)]
        found = [members for members in product(*candidates) if self.joins(members)]
        for members in found if len(self.held) == 2 else ():
            (waited,) = (member for member in members if member is not row)
            self.estimate += 1 / waited.chance if waited.chance is not None else 0
        return [tuple(member.identity for member in members) for members in found]

    def joins(self, members: tuple[Row, ...]) -> bool:
        newest = max(member.time for member in members)
        within = all(
            newest - member.time <= side.window
            for member, side in zip(members, self.plan.sides, strict=True)
        )
        spec = self.plan.spec
        return within and holds(spec.on, spec.names, [member.key or () for member in members])

    def make_room(self, arrival: Row, *, monitored: bool) -> bool:
        """Evict rows while there is no room; return False if the arrival is the one to go."""
        if self.budget is None:
            return True
        if self.cost(arrival) > self.limit:
            return False
        while self.taken() + self.cost(arrival) > self.limit:
            loser = self.loser(arrival)
            own = [arrival] if loser == arrival.stream and not monitored else []
            free = self.free(loser) + own
            if not free and monitored and any(map(self.free, range(len(self.held)))):
                free = self.free(self.loser())
            if not free:
                return False
            victim = min(free, key=self.first_to_go)
            if victim is arrival:
                return False
            self.evict(victim)
        if monitored:
            arrival.chance = self.threshold
        return True

    def free(self, s: int) -> list[Row]:
        """Return a stream's rows that may be evicted."""
        return [row for row in self.held[s] if row.chance is None]

    @property
    def in_rows(self) -> bool:
        return self.budget is None or self.budget.memory_bytes is None

    @property
    def limit(self) -> int:
        """How much may be held: rows, or words of 8 bytes."""
        if self.budget is None:
            return 2**31
        if self.budget.memory_bytes is None:
            assert self.budget.rows is not None
            return self.budget.rows
        return self.budget.memory_bytes // 8

    def words(self, size: int) -> int:
        return -(-(row_overhead(self.plan) + size) // 8)

    def cost(self, row: Row) -> int:
        """Return how much of the limit a row takes up."""
        return 1 if self.in_rows else self.words(row.size)

    def taken(self) -> int:
        return sum(self.cost(row) for rows in self.held for row in rows)

    def loser(self, arrival: Row | None = None) -> int:
        """Return the stream that claims most above its share, the arrival counted with its own.

        It has a row to lose: one that is held and not monitored, or the arrival.
        """
        own = None if arrival is None else arrival.stream
        share = Fraction(self.limit, len(self.held))
        coming = 0 if arrival is None else self.cost(arrival)
        claims = [
            (sum(map(self.cost, rows)) + (s == own) * coming - share, s == own, -s)
            for s, rows in enumerate(self.held)
            if self.free(s) or s == own
        ]
        return -max(claims)[2]

    def evict(self, row: Row) -> None:
        self.held[row.stream].remove(row)
        self.counts[row.stream]["evicted"] += 1

    def first_to_go(self, row: Row) -> tuple[Any, int]:
        return (row.time if self.strategy == "fifo" else row.draw), row.arrival_number


def times_of(column: pa.ChunkedArray, unit: str | None) -> list[Any]:
    """Return times as numbers; timestamps in the unit that the join counts in."""
    if unit is None:
        return list(column.to_pylist())
    factor = PER_SECOND[unit] // PER_SECOND[column.type.unit]
    counts = column.cast("int64").to_pylist()
    return [None if count is None else count * factor for count in counts]

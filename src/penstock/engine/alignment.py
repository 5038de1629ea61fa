"""Streams out of step: which rows take part now, and which wait for the slowest stream.

All shards are told of every stream's progress, so they agree on the slowest one and its time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from penstock.engine.kernels.layout import NEVER
from penstock.engine.spool import Spool
from penstock.errors import SpoolError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from penstock.engine.arrays import Array, Mask
    from penstock.engine.intake import StreamCounters
    from penstock.engine.plan import Plan


@dataclass(frozen=True)
class Given:
    """Rows of one stream, and which of them may take part."""

    table: pa.Table
    times: Array
    good: Mask


class Alignment:
    """How far each stream has come, and what waits until the others have come as far.

    Parameters
    ----------
    plan
        The join.
    counters
        Of each stream; says how far it has come.
    waits
        Whether rows ahead of the slowest stream by more than `Plan.align` wait. With a window of
        rows they always do, and until no older row can come: all take part in time order.
    limit
        Bytes that may wait.
    """

    def __init__(
        self, plan: Plan, counters: Sequence[StreamCounters], *, waits: bool, limit: int
    ) -> None:
        self._plan = plan
        self.counters = counters
        self._align = plan.align if waits or plan.has_row_windows else None
        self._limit = limit
        self._ticks = [np.zeros(0, plan.time.dtype) for _ in plan.sides]  # that wait
        self._ended = False
        self.spool = Spool(plan)

    def greatest(self, s: int) -> int | float | None:
        """Return the time that a stream has come to, or was passed at; None if it had no rows."""
        counters = self.counters[s]
        if self._plan.sides[s].is_told:
            return counters.told
        times = [t for t in (counters.greatest, counters.passed) if t is not None]
        return max(times, default=None)

    def advance(self, reached: Sequence[int | float | None]) -> None:
        """Note the greatest time of each stream's new rows, and which streams are passed."""
        for counters, time in zip(self.counters, reached, strict=True):
            if time is not None and (counters.greatest is None or time > counters.greatest):
                counters.greatest = time
        known = [each.greatest for each in self.counters if each.greatest is not None]
        for side, counters in zip(self._plan.sides, self.counters, strict=True):
            if side.idle is None or not known:
                continue
            passed = max(known) - side.idle
            is_behind = counters.greatest is None or passed > counters.greatest
            if is_behind and (counters.passed is None or passed > counters.passed):
                counters.passed = passed

    def frontier(self) -> int | float | None:
        """Return the time that all streams have come to; None while one has had no rows."""
        times = [self.greatest(s) for s in range(len(self._plan.sides))]
        return None if None in times else min(time for time in times if time is not None)

    def _waiting_from(self) -> int | float | None:
        """Return the time from which on rows wait; None while a stream has had no rows."""
        frontier = self.frontier()
        if frontier is None or not self._plan.has_row_windows:
            return None if frontier is None else frontier + (self._align or 0)
        times = [self.greatest(s) for s in range(len(self._plan.sides))]
        # As `accept` has it: a row that is still to come is not older than this.
        return min(
            time - side.lateness
            for time, side in zip(times, self._plan.sides, strict=True)
            if time is not None
        )

    @property
    def waits(self) -> bool:
        """Whether rows ahead of the slowest stream wait."""
        return self._align is not None

    def times(self, s: int) -> dict[str, Any]:
        """Return how far a stream has come, for `StreamMetrics`; the same in all shards."""
        latest = self.counters[s].greatest
        if latest is None:
            return {}
        known = [each.greatest for each in self.counters if each.greatest is not None]
        bound, unit = self._waiting_from(), self._plan.time.units_per_second or 1
        waits = self._align is not None and not self._ended
        oldest = latest if bound is None else bound
        return {
            "latest": float(latest / unit),
            "behind": float((max(known) - latest) / unit),
            "waiting_age": float((latest - oldest) / unit) if waits and latest >= oldest else None,
        }

    def steps(
        self, given: list[Given], ticks: Sequence[Array], *, last: bool
    ) -> Iterator[tuple[list[Given], list[Array]]]:
        """Yield the rows that take part now, and the ticks of their streams, step by step.

        Parameters
        ----------
        given
            The rows of a batch, for each stream.
        ticks
            Of each stream's progress in all shards.
        last
            Whether no rows will follow: then none wait.
        """
        self._ended = last
        frontier = self.frontier()
        ticks = [self._with_passing(s, each, frontier) for s, each in enumerate(ticks)]
        if self._align is None and not self.spool:
            yield given, ticks
            return
        bound: int | float | None = None
        if self._align is not None and not last:
            waiting_from = self._waiting_from()
            bound = NEVER if waiting_from is None else waiting_from
        if len(list(self.spool.steps(bound))) > 1:
            # Rows of the batch take their turns among those that have waited.
            given = [self._put(s, each, each.good) for s, each in enumerate(given)]
        elif bound is not None:
            given = [
                self._put(s, each, each.good & (each.times >= bound))
                for s, each in enumerate(given)
            ]
        self._check_size()
        self._ticks = [np.concatenate(both) for both in zip(self._ticks, ticks, strict=True)]
        for step in list(self.spool.steps(bound)):
            released = [self._with_spooled(s, each, step) for s, each in enumerate(given)]
            self.spool.reach(step)
            yield released, [self._take_ticks(s, step) for s in range(len(given))]
            given = [_nothing_of(each) for each in given]

    def _with_passing(self, s: int, ticks: Array, frontier: float | None) -> Array:
        """Add a tick to those of a stream that the others have passed."""
        counters = self.counters[s]
        if counters.passed is None or counters.passed != self.greatest(s) or frontier is None:
            return ticks
        tick = min(counters.passed, frontier)
        return np.sort(np.append(ticks, np.array(tick, ticks.dtype)))

    def _put(self, s: int, given: Given, waits: Mask) -> Given:
        """Let some rows wait; return which of the others may take part."""
        if not waits.any():
            return given
        self.spool.add(s, given.table, given.times, waits)
        return Given(given.table, given.times, given.good & ~waits)

    def _with_spooled(self, s: int, given: Given, bound: float | None) -> Given:
        """Return rows together with those that have waited until now."""
        waited = self.spool.release(s, bound)
        if waited is None:
            return given
        times, good = self._plan.time.read(waited.column(self._plan.sides[s].time))
        if not given.good.any():
            return Given(waited, times, good)
        return Given(
            pa.concat_tables([waited, given.table]),
            np.concatenate([times, given.times]),
            np.concatenate([good, given.good]),
        )

    def _take_ticks(self, s: int, bound: float | None) -> Array:
        """Return a stream's ticks before a time, in order; later ones wait."""
        ticks = np.sort(self._ticks[s])
        count = ticks.size if bound is None else int(np.searchsorted(ticks, bound))
        self._ticks[s] = ticks[count:]
        return ticks[:count]

    def _check_size(self) -> None:
        if self.spool.size <= self._limit:
            return
        names = [side.name for side in self._plan.sides]
        waiting = max(range(len(names)), key=lambda s: sum(c.size for c in self.spool.chunks[s]))
        come = [NEVER if t is None else t for t in map(self.greatest, range(len(names)))]
        slowest = come.index(min(come))
        idle = f'with idle= for stream "{names[slowest]}", so that it is no longer waited for'
        ways = f"or {idle}" if self._plan.has_row_windows else f'{idle}, or with align="off"'
        raise SpoolError(
            f'rows of stream "{names[waiting]}" that wait for stream "{names[slowest]}" must fit '
            f"into spool={self._plan.spec.spool!r}, {self._limit:,} bytes in each shard; got "
            f'{self.spool.size:,} bytes; bring "{names[slowest]}" up to date, or restart with a '
            f"larger spool=, {ways}"
        )

    def save(self) -> dict[str, Any]:
        """Return what a restart needs, besides the chunks of the spool."""
        return {"ticks": [each.tolist() for each in self._ticks], "spool": self.spool.save()}

    def restore(self, saved: Mapping[str, Any]) -> None:
        """Go on where the saved one stopped."""
        self._ticks = [np.array(each, self._plan.time.dtype) for each in saved["ticks"]]
        self.spool.restore(saved["spool"])


def _nothing_of(given: Given) -> Given:
    return Given(given.table.slice(0, 0), given.times[:0], given.good[:0])

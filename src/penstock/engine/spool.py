"""Rows that are ahead of the slowest stream: packed, and outside of memory until others get there.

They wait in time order, in chunks of a few megabytes that are written once: when only a part of one
has taken part, what is left of it is known by the time up to which rows have. On Spark the chunks
are in the state store; a replay keeps them, packed unless they are small.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from penstock.engine.added_columns import fitted
from penstock.engine.identity import content_hashes
from penstock.engine.ipc import from_ipc, to_ipc
from penstock.engine.sizes import row_sizes, table_size
from penstock.engine.wide import runs, take

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from penstock.engine.arrays import Array, Mask
    from penstock.engine.plan import Plan

# Bytes of a chunk, before it is packed.
_CHUNK_BYTES = 4 << 20
# Packed bytes that come back into memory at a time.
_STEP_BYTES = 32 << 20
# Bytes of chunks that are packed only when they are saved.
_SMALL = 64 << 10
# Packed bytes that stay at hand although they have been saved: the last rows of a micro-batch as a
# rule, which are wanted again in the next.
_AT_HAND = 4 << 20


@dataclass
class Chunk:
    """Some rows of one stream that wait, in time order."""

    serial: int
    least: int | float  # time
    greatest: int | float
    rows: int
    size: int  # packed, unless it is small
    data: bytes | None  # packed; None if it is small, or has been saved and is not at hand
    left: pa.Table | None = None  # a small one; what is left of one once a part has been released


class Spool:
    """The rows of all streams that wait.

    Attributes
    ----------
    fetch
        Returns the data of a saved chunk by its name; to be set where chunks are saved.
    reached
        Rows before this time have taken part; None if none has.
    """

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._serials = 0
        self.chunks: list[list[Chunk]] = [[] for _ in plan.sides]
        self.fetch: Callable[[str], bytes] | None = None
        self.reached: int | float | None = None

    def __bool__(self) -> bool:
        """Return whether any rows wait."""
        return any(self.chunks)

    @property
    def size(self) -> int:
        """Packed bytes that wait."""
        return sum(chunk.size for chunks in self.chunks for chunk in chunks)

    def rows(self, s: int) -> int:
        """Return how many rows of a stream wait."""
        return sum(chunk.rows for chunk in self.chunks[s])

    def oldest(self, s: int) -> int | float | None:
        """Return the least time among a stream's rows that wait; None if there are none."""
        return min((chunk.least for chunk in self.chunks[s]), default=None)

    def add(self, s: int, table: pa.Table, times: Array, mask: Mask) -> None:
        """Let some rows of a table wait."""
        waiting, times = _in_order(take([table], np.flatnonzero(mask), table.nbytes), times[mask])
        size = table_size(waiting)
        cuts = [(0, times.size)]
        if size > _CHUNK_BYTES:
            cuts = runs(row_sizes(waiting), _CHUNK_BYTES, times.size)
        for start, stop in cuts:
            rows = waiting.slice(start, stop - start)
            first, last = times[start].item(), times[stop - 1].item()
            chunk = Chunk(self._serials, first, last, stop - start, size, None, rows)
            if size > _SMALL:
                chunk.data, chunk.left = to_ipc(rows), None
                chunk.size = len(chunk.data)
            self.chunks[s].append(chunk)
            self._serials += 1

    def steps(self, bound: float | None) -> Iterator[int | float | None]:
        """Yield the times up to which to go, one after the other, the last of them `bound`.

        So much comes back into memory at a time as there is room for, whatever has waited.
        """
        due = [
            (chunk.least, chunk.size)
            for chunks in self.chunks
            for chunk in chunks
            if bound is None or chunk.least < bound
        ]
        size = 0
        for least, own in sorted(due):
            is_later = self.reached is None or least > self.reached
            if size and size + own > _STEP_BYTES and is_later:
                yield least
                size = 0
            size += own
        yield bound

    def release(self, s: int, bound: float | None) -> pa.Table | None:
        """Return a stream's rows before a time (all for None), which wait no longer; None if none.

        `reach` must follow, once all streams' rows have been asked for.
        """
        parts, left = [], []
        for chunk in self.chunks[s]:
            if bound is not None and chunk.least >= bound:
                left.append(chunk)
                continue
            table = chunk.left
            if table is None:
                table = from_ipc(self.data(s, chunk))
            times, _ = self._plan.time.read(table.column(self._plan.sides[s].time))
            start = 0 if self.reached is None else int(np.searchsorted(times, self.reached))
            stop = times.size if bound is None else int(np.searchsorted(times, bound))
            parts.append(table.slice(start, stop - start))
            if stop < times.size:
                chunk.rows, chunk.least = times.size - stop, times[stop].item()
                chunk.left = table.slice(stop)
                left.append(chunk)
        self.chunks[s] = left
        if not parts:
            return None
        schema = self._plan.sides[s].schema
        return pa.concat_tables([fitted(part, schema) for part in parts])

    def reach(self, bound: float | None) -> None:
        """Note that all rows before a time have been released."""
        if bound is not None:
            self.reached = bound

    def data(self, s: int, chunk: Chunk) -> bytes:
        """Return the packed rows of a chunk."""
        if chunk.data is None and chunk.left is not None:
            chunk.data = to_ipc(chunk.left)
        if chunk.data is not None:
            return chunk.data
        assert self.fetch is not None  # a saved chunk can be fetched  # noqa: S101
        return self.fetch(self.name(s, chunk))

    def name(self, s: int, chunk: Chunk) -> str:
        """Return the name under which a chunk is saved."""
        return f"spool/{self._plan.sides[s].name}/{chunk.serial}"

    def forget_saved(self) -> None:
        """Let go of what has been saved, but for the little that is likely to be wanted at once."""
        if self.fetch is None or self.size <= _AT_HAND:
            return
        for chunks in self.chunks:
            for chunk in chunks:
                chunk.data = chunk.left = None

    def save(self) -> dict[str, Any]:
        """Return what a restart needs besides the chunks."""
        return {
            "serials": self._serials,
            "reached": self.reached,
            "chunks": [
                [[c.serial, c.least, c.greatest, c.rows, c.size] for c in chunks]
                for chunks in self.chunks
            ],
        }

    def restore(self, saved: Mapping[str, Any]) -> None:
        """Go on where the saved one stopped."""
        self._serials = saved["serials"]
        self.reached = saved["reached"]
        names = ("serial", "least", "greatest", "rows", "size")
        self.chunks = [
            [Chunk(**dict(zip(names, each, strict=True)), data=None) for each in chunks]
            for chunks in saved["chunks"]
        ]


def _in_order(table: pa.Table, times: Array) -> tuple[pa.Table, Array]:
    """Return rows in time order, among equals by what they hold: what is saved follows from rows.

    >>> table, times = _in_order(pa.table({"x": [1, 2, 3]}), np.array([5, 3, 4]))
    >>> table.column("x").to_pylist(), times.tolist()
    ([2, 3, 1], [3, 4, 5])
    """
    order = np.argsort(times, kind="stable")
    ordered = times[order]
    if np.any(ordered[1:] == ordered[:-1]):
        order = np.lexsort((content_hashes(table), times))
    elif np.all(times[1:] > times[:-1]):
        return table, times
    return take([table], order, table.nbytes), ordered

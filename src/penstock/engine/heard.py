"""How far the streams have come, for all shards to hear.

A shard that gets none of a stream's rows would otherwise never know that time goes on, and keep
the other streams' rows for ever. And whether a time is too far ahead to be believed must be decided
by all of a stream's rows, not by the few that one shard gets.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from penstock.engine.ipc import from_ipc, to_ipc

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from penstock.engine.arrays import Array, Integers
    from penstock.engine.intake import Watch
    from penstock.engine.plan import Plan


@dataclass(frozen=True)
class Heard:
    """Which cells of a time grid one stream's rows of a batch are in, and how many are in each.

    On a grid, so that any cut into batches moves clocks at the same times.
    """

    times: Array  # beginnings of the cells, in order
    latest: Array  # the greatest time in each
    counts: Integers
    rows: int  # that came in all, those without a usable time included

    def before(self, bound: float | None) -> Array:
        """Give the times before a bound, all if there is none."""
        return self.times if bound is None else self.times[self.times < bound]

    def latest_before(self, bound: float | None) -> int | float | None:
        """Give the greatest time in the cells that begin before a bound; None if there are none."""
        cells = self.before(bound).size
        return self.latest[cells - 1].item() if cells else None

    def to_bytes(self) -> bytes:
        """Give it as Arrow IPC, for `from_bytes`."""
        table = pa.table([self.times, self.latest, self.counts], names=["time", "latest", "count"])
        return to_ipc(table.replace_schema_metadata({"rows": str(self.rows)}))

    @staticmethod
    def from_bytes(data: bytes) -> Heard:
        """Read what `to_bytes` has given."""
        table = from_ipc(data)
        times, latest, counts = (table[name].to_numpy() for name in ("time", "latest", "count"))
        return Heard(times, latest, counts, int(table.schema.metadata[b"rows"]))


def silence(plan: Plan) -> Heard:
    """Give what is heard of a stream of which nothing came."""
    nothing = np.zeros(0, plan.time.dtype)
    return Heard(nothing, nothing, np.zeros(0, np.int64), 0)


def hear(plan: Plan, s: int, table: pa.Table) -> Heard:
    """Give what a batch tells of a stream's time."""
    side = plan.sides[s]
    times, good = plan.time.read(table.column(side.time))
    times = np.sort(times[good])
    cell = plan.tick(s)
    cells, first, counts = np.unique(times // cell, return_index=True, return_counts=True)
    # The first row's time where rounding has put the cell's beginning after it.
    starts = np.minimum(cells * cell, times[first])
    return Heard(starts, times[first + counts - 1], counts, table.num_rows)


def together(parts: Sequence[Heard]) -> Heard:
    """Put together what parts of a stream's batch tell; there must be at least one."""
    if len(parts) == 1:
        return parts[0]
    times = np.concatenate([part.times for part in parts])
    starts, cell = np.unique(times, return_inverse=True)
    order = np.argsort(cell, kind="stable")
    firsts = np.searchsorted(cell[order], np.arange(starts.size))
    latest, counts = (
        np.concatenate([getattr(part, name) for part in parts])[order]
        for name in ("latest", "counts")
    )
    if starts.size:
        latest, counts = np.maximum.reduceat(latest, firsts), np.add.reduceat(counts, firsts)
    return Heard(starts, latest, counts, sum(part.rows for part in parts))


def hear_all(plan: Plan, tables: Mapping[str, pa.Table]) -> list[Heard]:
    """Give what a batch tells of each stream's time."""
    return [
        hear(plan, s, tables[side.name]) if side.name in tables else silence(plan)
        for s, side in enumerate(plan.sides)
    ]


def too_far_ahead(heard: Heard, most: float, watch: Watch) -> float | None:
    """Give the time from which on a stream's rows are too far ahead; None if none are.

    Rows are too far ahead if there is a gap of more than `most` before them. They are set aside,
    so that one wrong clock cannot expire a window. But if they are more than the rows before the
    gap (in this batch, or in the last one, and with those set aside since), then it is the stream
    that has moved on, and they are taken.
    """
    if not heard.times.size:
        return None
    first = heard.times[0].item() if watch.reached is None else watch.reached
    # A row older than that is late, or in order, but no gap begins at it.
    known = np.maximum(heard.times, first)
    gaps = np.flatnonzero(np.diff(known, prepend=first) > most)
    ends = np.concatenate(([0], np.cumsum(heard.counts)))
    rows = int(ends[-1])
    start = 0  # rows before the run that the stream is believed to be at
    for gap in gaps.tolist():
        before, beyond = int(ends[gap]) - start, rows - int(ends[gap])
        if beyond + watch.ahead <= max(before, watch.accepted):
            watch.ahead = beyond if before else watch.ahead + beyond
            watch.accepted = before or watch.accepted
            if before:
                watch.reached = max(first, heard.times[gap - 1].item())
            return heard.times[gap].item()
        start, watch.accepted, watch.ahead = int(ends[gap]), 0, 0
    watch.accepted, watch.ahead = rows - start, 0
    watch.reached = max(first, heard.times[-1].item())
    return None

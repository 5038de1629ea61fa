"""How far each stream's time has come in a batch: sent to every shard.

A shard may get none of a stream's rows. Without this it would not know that time has passed, and
would keep the other streams' rows for ever. Whether a time is too far ahead must also be decided
from all of a stream's rows, not from the few that one shard gets.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from penstock.engine.ipc import from_ipc, to_ipc

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from penstock.engine.arrays import Array, Integers
    from penstock.engine.intake import StreamCounters
    from penstock.engine.plan import Plan


@dataclass(frozen=True)
class StreamProgress:
    """The cells of a time grid that one stream's rows of a batch fall in.

    The grid makes clocks advance at the same times however the stream is cut into batches.
    """

    times: Array  # start of each cell, in order
    latest: Array  # greatest time in each cell
    counts: Integers  # rows in each cell
    rows: int  # all rows of the batch, also those without a usable time
    told: int | float | None = None  # time before which the source has no more rows, if it says so

    def before(self, bound: float | None) -> Array:
        """Return the times before a bound; all of them if the bound is None."""
        return self.times if bound is None else self.times[self.times < bound]

    def latest_before(self, bound: float | None) -> int | float | None:
        """Return the greatest time in the cells that start before a bound, None without any."""
        cells = self.before(bound).size
        return self.latest[cells - 1].item() if cells else None

    def to_bytes(self) -> bytes:
        """Return it as Arrow IPC, for `from_bytes`."""
        table = pa.table([self.times, self.latest, self.counts], names=["time", "latest", "count"])
        said = {"rows": self.rows} | ({} if self.told is None else {"told": self.told})
        return to_ipc(table.replace_schema_metadata({n: json.dumps(v) for n, v in said.items()}))

    @staticmethod
    def from_bytes(data: bytes) -> StreamProgress:
        """Read what `to_bytes` returned."""
        table = from_ipc(data)
        times, latest, counts = (table[name].to_numpy() for name in ("time", "latest", "count"))
        said = {name: json.loads(value) for name, value in table.schema.metadata.items()}
        return StreamProgress(times, latest, counts, said[b"rows"], said.get(b"told"))


def no_progress(plan: Plan) -> StreamProgress:
    """Return the progress of a stream without rows."""
    nothing = np.zeros(0, plan.time.dtype)
    return StreamProgress(nothing, nothing, np.zeros(0, np.int64), 0)


def progress_of(plan: Plan, s: int, table: pa.Table) -> StreamProgress:
    """Return the progress of a stream in a batch."""
    side = plan.sides[s]
    times, good = plan.time.read(table.column(side.time))
    times = np.sort(times[good])
    cell = plan.tick(s)
    cells, first, counts = np.unique(times // cell, return_index=True, return_counts=True)
    # The first row's time, where rounding has put the start of the cell after it.
    starts = np.minimum(cells * cell, times[first])
    return StreamProgress(starts, times[first + counts - 1], counts, table.num_rows)


def combine_progress(parts: Sequence[StreamProgress]) -> StreamProgress:
    """Combine the progress of the parts of a stream's batch; there must be at least one."""
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
    told = [part.told for part in parts if part.told is not None]
    rows = sum(part.rows for part in parts)
    return StreamProgress(starts, latest, counts, rows, min(told, default=None))


def progress_of_all(plan: Plan, tables: Mapping[str, pa.Table]) -> list[StreamProgress]:
    """Return the progress of each stream in a batch."""
    return [
        progress_of(plan, s, tables[side.name]) if side.name in tables else no_progress(plan)
        for s, side in enumerate(plan.sides)
    ]


def too_far_ahead(
    stream_progress: StreamProgress, most: float, counters: StreamCounters
) -> float | None:
    """Return the time from which a stream's rows are too far ahead; None if none are.

    Rows are too far ahead if there is a gap of more than `most` before them. They are set aside,
    so that one wrong clock cannot expire a window. The rows before the gap are counted in this
    batch or in the last one. If there are more rows after the gap, counting those set aside since,
    then the stream itself has moved on, and they are accepted.
    """
    if not stream_progress.times.size:
        return None
    first = stream_progress.times[0].item() if counters.reached is None else counters.reached
    # A row older than that may be late or in order, but no gap begins at it.
    known = np.maximum(stream_progress.times, first)
    gaps = np.flatnonzero(np.diff(known, prepend=first) > most)
    ends = np.concatenate(([0], np.cumsum(stream_progress.counts)))
    rows = int(ends[-1])
    start = 0  # rows before the run in which the stream is taken to be
    for gap in gaps.tolist():
        before, beyond = int(ends[gap]) - start, rows - int(ends[gap])
        if beyond + counters.ahead <= max(before, counters.accepted):
            counters.ahead = beyond if before else counters.ahead + beyond
            counters.accepted = before or counters.accepted
            if before:
                counters.reached = max(first, stream_progress.times[gap - 1].item())
            return stream_progress.times[gap].item()
        start, counters.accepted, counters.ahead = int(ends[gap]), 0, 0
    counters.accepted, counters.ahead = rows - start, 0
    counters.reached = max(first, stream_progress.times[-1].item())
    return None

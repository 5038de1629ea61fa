"""Each stream's rows in time order.

The rows of a batch get their places before they are dealt with (PENDING), merged among the rows
that are held already, so that the loop never has to search for a place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.engine.kernels.jit import kernel
from penstock.engine.kernels.layout import NOTHING, PENDING, Memory

if TYPE_CHECKING:
    from penstock.engine.arrays import Array, Indices


@kernel
def pack(memory: Memory, stream: int, into: Indices, base: int) -> None:
    """Move a stream's queue to `into[base:]` without its gaps."""
    streams = memory.streams
    queue = memory.queue
    rows = memory.rows
    old = streams[stream]["base"]
    at = 0
    for i in range(old + streams[stream]["head"], old + streams[stream]["tail"]):
        row = queue[i]
        if row >= 0:
            into[base + at] = row
            rows[row]["place"] = at
            at += 1
    streams[stream]["base"] = base
    streams[stream]["head"] = 0
    streams[stream]["newest"] = at - 1
    streams[stream]["tail"] = at


@kernel
def make_places(memory: Memory, stream: int, times: Array, places: Indices) -> None:
    """Find the places of a stream's coming rows (in time order) in its queue.

    Rows that are held and are newer than the first of them move up; among equal times the rows
    that are held come first. The queue must have room for `times.size` more.
    """
    streams = memory.streams
    rows = memory.rows
    queue = memory.queue
    base = streams[stream]["base"]
    read = streams[stream]["tail"] - 1
    head = streams[stream]["head"]
    write = read + times.size
    streams[stream]["tail"] = write + 1
    n = times.size - 1
    while n >= 0:
        while read >= head and queue[base + read] < 0:
            # A gap: keep it, so that the places below need not move.
            queue[base + write] = NOTHING
            read -= 1
            write -= 1
        if read >= head and rows[queue[base + read]]["time"] > times[n]:
            row = queue[base + read]
            queue[base + write] = row
            rows[row]["place"] = write
            read -= 1
        else:
            queue[base + write] = PENDING
            places[n] = write
            n -= 1
        write -= 1
    newest = streams[stream]["tail"] - 1
    while newest >= head and queue[base + newest] < 0:
        newest -= 1
    streams[stream]["newest"] = newest

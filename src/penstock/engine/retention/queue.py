"""The oldest row leaves first: the queue of a stream's rows knows it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from penstock.engine.kernels.jit import inner, wide
from penstock.engine.kernels.layout import NOTHING, PENDING, Memory

if TYPE_CHECKING:
    from penstock.engine.arrays import Integers


class QueueArrays(NamedTuple):
    """What is known of the streams' queues."""

    first: Integers  # first[s]: rows before this place are all monitored


def make(streams: int) -> QueueArrays:
    """Return the arrays of a join of so many streams."""
    return QueueArrays(np.zeros(streams, np.int64))


@inner
def enter(memory: Memory, row: int, stream: int, grade: int) -> None:
    """Let a row be one of those that may leave."""
    first = memory.retained.queue.first
    first[stream] = min(first[stream], memory.rows[row]["place"])


@inner
def oldest(memory: Memory, stream: int, before: int) -> int:
    """Return a stream's oldest row that may leave, of a place below `before`, or NOTHING."""
    streams = memory.streams
    rows = memory.rows
    queue = memory.queue
    base = streams[stream]["base"]
    first = max(memory.retained.queue.first[stream], streams[stream]["head"])
    stop = min(streams[stream]["tail"], before)
    while first < stop:
        row = queue[base + first]
        if row == PENDING or (row != NOTHING and rows[row]["monitored"] == NOTHING):
            break
        first += 1
    memory.retained.queue.first[stream] = first
    # Beyond a row that is still to come there can be rows of an earlier batch that are newer.
    for at in range(first, stop):
        row = queue[base + at]
        if row >= 0 and rows[row]["monitored"] == NOTHING:
            return wide(row)
    return wide(NOTHING)

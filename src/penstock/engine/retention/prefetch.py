"""Prefetch the rows that leave next, as far as an order knows which these are.

Reading changes nothing; `engine.kernels.prefetch` says what it is good for.
"""

from __future__ import annotations

from penstock.engine.kernels.by_type import by_retention
from penstock.engine.kernels.jit import inner, wide
from penstock.engine.kernels.layout import COUNT, HEAD, Memory
from penstock.engine.retention.retained import Ordered, Queued, Sampled


@inner
def _read_neighbours(memory: Memory, row: int, stream: int) -> int:
    """Read what is touched when a row leaves: its slot, and its neighbour in the chain."""
    slot = memory.rows[row]["slot"]
    before = memory.rows[row]["prev"]
    # Two fields of the slot, as they may lie in two lines of the cache.
    read = memory.slots[slot, COUNT] + memory.slots[slot, HEAD + stream]
    return read + memory.rows[before]["next"] if before >= 0 else read


@inner
def _read_queue(memory: Memory, stream: int, first: int, count: int) -> int:
    """Read rows of a stream in time order, their slots, and their neighbours in the chains."""
    base = memory.streams[stream]["base"]
    read = 0
    for place in range(base + first, base + min(first + count, memory.streams[stream]["tail"])):
        if memory.queue[place] >= 0:
            read += _read_neighbours(memory, wide(memory.queue[place]), stream)
    return read


@inner
def _read_oldest(memory: Memory, stream: int, count: int) -> int:
    first = max(memory.retained.queue.first[stream], memory.streams[stream]["head"])
    return _read_queue(memory.of_any_kind, stream, first, count)


@inner
def _read_lowest(memory: Memory, stream: int, count: int) -> int:
    heap = memory.retained.heap
    common = memory.of_any_kind
    read = 0
    for at in range(min(count, heap.sizes[stream])):
        read += _read_neighbours(common, wide(heap.lines[stream, at]), stream)
    return read + _read_queue(common, stream, memory.streams[stream]["head"], count)


@by_retention({Queued: _read_oldest, Ordered: _read_lowest, Sampled: _read_lowest})
def prefetch_leaving(memory: Memory, stream: int, count: int) -> int:
    """Read the rows that will expire next, and be evicted next, as far as these are known.

    Returns the sum of what was read, so that it is really read.
    """
    return _read_queue(memory.of_any_kind, stream, memory.streams[stream]["head"], count)

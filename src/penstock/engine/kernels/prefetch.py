"""Prefetch into the processor's cache what the next arrivals will need.

A window of a million rows is in main memory, and each step from slot to row to row waits for it.
For one arrival these waits follow one another. Those of different arrivals are independent, and
the processor overlaps them. So the loop first reads what a few dozen arrivals will need, and then
finds it in the cache. Reading changes nothing: a row that has changed since is read again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.engine.kernels.by_type import by_retention
from penstock.engine.kernels.index import find
from penstock.engine.kernels.jit import inner, wide
from penstock.engine.kernels.layout import COUNT, HEAD, NOTHING, Memory
from penstock.engine.retention.retained import Ordered, Queued, Sampled

if TYPE_CHECKING:
    from penstock.engine.arrays import Array
    from penstock.engine.kernels.results import Results

# Rows of a chain that are prefetched after its first.
_FURTHER = 4


@inner
def read_neighbours(memory: Memory, row: int, stream: int) -> int:
    """Read what is touched when a row leaves: its slot, and its neighbour in the chain."""
    slot = memory.rows[row]["slot"]
    before = memory.rows[row]["prev"]
    # Two fields of the slot, as they may lie in two lines of the cache.
    read = memory.slots[slot, COUNT] + memory.slots[slot, HEAD + stream]
    return read + memory.rows[before]["next"] if before >= 0 else read


@inner
def prefetch(memory: Memory, arrivals: Array, start: int, stop: int, results: Results) -> None:
    """Find the slots of the next arrivals' keys, and read the rows that they will touch."""
    _read_rows(memory.of_any_kind, arrivals, start, stop, results)
    read = 0
    for s in range(memory.streams.size):
        # As many rows leave a window in the long run as come into it.
        coming = 0
        for i in range(start, stop):
            coming += arrivals[i]["stream"] == s
        read += _read_leaving(memory, s, coming)
    results.read[0] += read


@inner
def _read_rows(memory: Memory, arrivals: Array, start: int, stop: int, results: Results) -> None:
    """Find the slots of keys, and read the rows that arrivals will find."""
    rows = memory.rows
    slots = memory.slots
    prefetched = results.prefetched
    cursor = results.cursor
    count = stop - start
    read = 0
    for i in range(count):
        prefetched[i] = find(memory, arrivals[start + i]["key_word"], wide(0))
    for i in range(count):
        slot = prefetched[i]
        cursor[i] = NOTHING
        if slot != NOTHING:
            stream = arrivals[start + i]["stream"]
            cursor[i] = slots[slot, HEAD + memory.order[stream, 0]]
            own = slots[slot, HEAD + stream]
            if own != NOTHING:
                read += rows[own]["prev"]
    for _ in range(_FURTHER + 1):
        for i in range(count):
            if cursor[i] != NOTHING:
                cursor[i] = rows[cursor[i]]["next"]
    results.read[0] += read


@inner
def _read_queue(memory: Memory, stream: int, first: int, count: int) -> int:
    """Read rows of a stream in time order, their slots, and their neighbours in the chains."""
    base = memory.streams[stream]["base"]
    read = 0
    for place in range(base + first, base + min(first + count, memory.streams[stream]["tail"])):
        if memory.queue[place] >= 0:
            read += read_neighbours(memory, wide(memory.queue[place]), stream)
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
        read += read_neighbours(common, wide(heap.lines[stream, at]), stream)
    return read + _read_queue(common, stream, memory.streams[stream]["head"], count)


@by_retention({Queued: _read_oldest, Ordered: _read_lowest, Sampled: _read_lowest})
def _read_leaving(memory: Memory, stream: int, count: int) -> int:
    """Read the rows that will expire next, and be evicted next, as far as these are known."""
    return _read_queue(memory.of_any_kind, stream, memory.streams[stream]["head"], count)

"""The lowest priority first: one indexed binary heap per stream.

Rows are ordered by (priority, birth), a total order: which row is the lowest does not depend on
the history of the heap, so a restored heap evicts the same rows as one that was never saved.
"""

from __future__ import annotations

from penstock.engine.kernels.jit import inner, kernel, rare, wide
from penstock.engine.kernels.layout import NOTHING, WATCHED, Memory


@inner
def _below(memory: Memory, a: int, b: int) -> bool:
    """Say whether row a leaves before row b."""
    pa = memory.rows[a]["priority"]
    pb = memory.rows[b]["priority"]
    if pa != pb:
        return pa < pb
    return memory.rows[a]["birth"] < memory.rows[b]["birth"]


@inner
def _rise(memory: Memory, stream: int, at: int) -> int:
    rows = memory.rows
    heaps = memory.heaps
    row = heaps[stream, at]
    while at > 0:
        parent = (at - 1) >> 1
        if not _below(memory, row, heaps[stream, parent]):
            break
        heaps[stream, at] = heaps[stream, parent]
        rows[heaps[stream, at]]["heap"] = at
        at = parent
    heaps[stream, at] = row
    rows[row]["heap"] = at
    return at


@inner
def _sink(memory: Memory, stream: int, at: int, size: int) -> None:
    rows = memory.rows
    heaps = memory.heaps
    row = heaps[stream, at]
    while True:
        child = 2 * at + 1
        if child >= size:
            break
        if child + 1 < size and _below(memory, heaps[stream, child + 1], heaps[stream, child]):
            child += 1
        if not _below(memory, heaps[stream, child], row):
            break
        heaps[stream, at] = heaps[stream, child]
        rows[heaps[stream, at]]["heap"] = at
        at = child
    heaps[stream, at] = row
    rows[row]["heap"] = at


@inner
def push(memory: Memory, stream: int, row: int, size: int) -> None:
    """Add a row to a heap that holds `size` rows."""
    memory.heaps[stream, size] = row
    _rise(memory, stream, size)


@inner
def remove(memory: Memory, stream: int, row: int, size: int) -> None:
    """Take any row out of a heap that holds `size` rows."""
    at = wide(memory.rows[row]["heap"])
    last = size - 1
    heaps = memory.heaps
    moved = heaps[stream, last]
    memory.rows[row]["heap"] = NOTHING
    if at == last:
        return
    heaps[stream, at] = moved
    memory.rows[moved]["heap"] = at
    if _rise(memory, stream, at) == at:
        _sink(memory, stream, at, last)


@inner
def place(memory: Memory, stream: int, row: int, size: int) -> None:
    """Find the place of a row whose priority has changed."""
    at = wide(memory.rows[row]["heap"])
    if _rise(memory, stream, at) == at:
        _sink(memory, stream, at, size)


@rare
def order(memory: Memory, stream: int, size: int) -> None:
    """Make a heap of the rows that stand in its line in any order."""
    for at in range(size):
        memory.rows[memory.heaps[stream, at]]["heap"] = at
    for at in range(size // 2 - 1, -1, -1):
        _sink(memory, stream, at, size)


@kernel
def rebuild(memory: Memory, stream: int) -> None:
    """Order a stream's rows anew, after their priorities have changed."""
    record = memory.streams[stream]
    size = 0
    for place in range(record["base"] + record["head"], record["base"] + record["tail"]):
        row = memory.queue[place]
        if row >= 0 and memory.rows[row]["heap"] > WATCHED:
            memory.heaps[stream, size] = row
            size += 1
    order(memory, stream, size)

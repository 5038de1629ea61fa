"""The lowest priority first: one indexed binary heap per stream.

Rows are ordered by (priority, birth), a total order: which row is the lowest does not depend on
the history of the heap, so a restored heap evicts the same rows as one that was never saved.
"""

from __future__ import annotations

from numba import njit

from penstock.engine.kernels.layout import NOTHING, Memory


@njit(cache=True)
def _below(memory: Memory, a: int, b: int) -> bool:
    """Say whether row a leaves before row b."""
    pa = memory.rows["priority"][a]
    pb = memory.rows["priority"][b]
    if pa != pb:
        return pa < pb
    return memory.rows["birth"][a] < memory.rows["birth"][b]


@njit(cache=True)
def _rise(memory: Memory, stream: int, at: int) -> int:
    heap = memory.heaps[stream]
    place = memory.rows["heap"]
    row = heap[at]
    while at > 0:
        parent = (at - 1) >> 1
        if not _below(memory, row, heap[parent]):
            break
        heap[at] = heap[parent]
        place[heap[at]] = at
        at = parent
    heap[at] = row
    place[row] = at
    return at


@njit(cache=True)
def _sink(memory: Memory, stream: int, at: int, size: int) -> None:
    heap = memory.heaps[stream]
    place = memory.rows["heap"]
    row = heap[at]
    while True:
        child = 2 * at + 1
        if child >= size:
            break
        if child + 1 < size and _below(memory, heap[child + 1], heap[child]):
            child += 1
        if not _below(memory, heap[child], row):
            break
        heap[at] = heap[child]
        place[heap[at]] = at
        at = child
    heap[at] = row
    place[row] = at


@njit(cache=True)
def push(memory: Memory, stream: int, row: int, size: int) -> None:
    """Add a row to a heap that holds `size` rows."""
    memory.heaps[stream, size] = row
    _rise(memory, stream, size)


@njit(cache=True)
def remove(memory: Memory, stream: int, row: int, size: int) -> None:
    """Take any row out of a heap that holds `size` rows."""
    heap = memory.heaps[stream]
    at = memory.rows["heap"][row]
    last = size - 1
    moved = heap[last]
    memory.rows["heap"][row] = NOTHING
    if at == last:
        return
    heap[at] = moved
    memory.rows["heap"][moved] = at
    if _rise(memory, stream, at) == at:
        _sink(memory, stream, at, last)

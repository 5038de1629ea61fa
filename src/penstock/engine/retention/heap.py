"""The lowest key first: indexed binary heaps of rows.

Rows are ordered by (key, number of arrival), a total order: which row is the lowest does not
depend on the history of the heap, so a restored heap evicts the same rows as one that was never
saved. The key is the rating of a row, or what another kind of retention makes of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from penstock.engine.kernels.jit import inner, kernel, rare, wide
from penstock.engine.kernels.layout import NOTHING, Memory

if TYPE_CHECKING:
    from penstock.engine.arrays import Floats, Indices, Integers


class HeapArrays(NamedTuple):
    """Heaps of rows, one in each line."""

    lines: Indices  # lines[line, place]: the row
    sizes: Integers  # sizes[line]: its rows
    keys: Floats  # keys[row]: the lowest leaves first
    places: Indices  # places[row]: in its line
    favours_held: Integers  # one element: whether an arrival as low as the lowest row goes


def make(lines: int) -> HeapArrays:
    """Return so many empty heaps, with room for no row."""
    return HeapArrays(
        np.zeros((lines, 0), np.int32),
        np.zeros(lines, np.int64),
        np.zeros(0),
        np.zeros(0, np.int32),
        np.zeros(1, np.int64),
    )


def grown(heap: HeapArrays, size: int) -> HeapArrays:
    """Return the heaps with room for so many rows."""
    before = heap.keys.size
    lines = np.zeros((heap.lines.shape[0], size), np.int32)
    lines[:, :before] = heap.lines
    keys, places = np.zeros(size), np.zeros(size, np.int32)
    keys[:before], places[:before] = heap.keys, heap.places
    return heap._replace(lines=lines, keys=keys, places=places)


@inner
def _below(memory: Memory, a: int, b: int) -> bool:
    """Return whether row a leaves before row b."""
    keys = memory.retained.heap.keys
    if keys[a] != keys[b]:
        return keys[a] < keys[b]
    return memory.rows[a]["arrival_number"] < memory.rows[b]["arrival_number"]


@inner
def _rise(memory: Memory, line: int, at: int) -> int:
    lines = memory.retained.heap.lines
    places = memory.retained.heap.places
    row = lines[line, at]
    while at > 0:
        parent = (at - 1) >> 1
        if not _below(memory, row, lines[line, parent]):
            break
        lines[line, at] = lines[line, parent]
        places[lines[line, at]] = at
        at = parent
    lines[line, at] = row
    places[row] = at
    return at


@inner
def _sink(memory: Memory, line: int, at: int, size: int) -> None:
    lines = memory.retained.heap.lines
    places = memory.retained.heap.places
    row = lines[line, at]
    while True:
        child = 2 * at + 1
        if child >= size:
            break
        if child + 1 < size and _below(memory, lines[line, child + 1], lines[line, child]):
            child += 1
        if not _below(memory, lines[line, child], row):
            break
        lines[line, at] = lines[line, child]
        places[lines[line, at]] = at
        at = child
    lines[line, at] = row
    places[row] = at


@inner
def push(memory: Memory, line: int, row: int) -> None:
    """Add a row to a heap, by its key."""
    heap = memory.retained.heap
    size = heap.sizes[line]
    heap.lines[line, size] = row
    heap.sizes[line] = size + 1
    _rise(memory, line, size)


@inner
def remove(memory: Memory, line: int, row: int) -> None:
    """Take any row out of a heap."""
    heap = memory.retained.heap
    at = wide(heap.places[row])
    last = heap.sizes[line] - 1
    heap.sizes[line] = last
    moved = heap.lines[line, last]
    heap.places[row] = NOTHING
    if at == last:
        return
    heap.lines[line, at] = moved
    heap.places[moved] = at
    if _rise(memory, line, at) == at:
        _sink(memory, line, at, last)


@inner
def move(memory: Memory, line: int, row: int) -> None:
    """Find the place of a row whose key has changed."""
    at = wide(memory.retained.heap.places[row])
    if _rise(memory, line, at) == at:
        _sink(memory, line, at, memory.retained.heap.sizes[line])


@rare
def order(memory: Memory, line: int) -> None:
    """Make a heap of the rows that stand in its line in any order."""
    heap = memory.retained.heap
    size = heap.sizes[line]
    for at in range(size):
        heap.places[heap.lines[line, at]] = at
    for at in range(size // 2 - 1, -1, -1):
        _sink(memory, line, at, size)


@inner
def lowest(memory: Memory, line: int) -> int:
    """Return the row with the lowest key, or NOTHING."""
    heap = memory.retained.heap
    return wide(heap.lines[line, 0]) if heap.sizes[line] > 0 else wide(NOTHING)


# --- The steps of a kind of retention with a heap for each stream


@inner
def begin(memory: Memory, row: int, key: float) -> None:
    """Note the key of a row."""
    memory.retained.heap.keys[row] = key


@inner
def enter(memory: Memory, row: int, stream: int, grade: int) -> None:
    """Let a row be one of those that may leave."""
    push(memory, stream, row)


@inner
def leave(memory: Memory, row: int, stream: int) -> None:
    """Take a row out of its stream's heap."""
    remove(memory, stream, row)


@inner
def first_to_go(memory: Memory, stream: int, before: int) -> int:
    """Return a stream's row with the lowest key, or NOTHING."""
    return lowest(memory, stream)


@inner
def is_lower(memory: Memory, rating: float, victim: int) -> bool:
    """Return whether an arrival with a rating goes rather than the row of the lowest."""
    key = memory.retained.heap.keys[victim]
    if rating < key:
        return True
    return bool(memory.retained.heap.favours_held[0] != 0 and rating == key)


@inner
def yields(memory: Memory, arrival: np.void, stream: int, victim: int) -> bool:
    """Return whether an arrival goes rather than the row of the lowest rating."""
    return is_lower(memory, arrival["rating"], victim)


@kernel
def rebuild(memory: Memory, line: int, rows: Integers, keys: Floats) -> None:
    """Order a stream's rows again by other keys; monitored ones only note theirs."""
    heap = memory.retained.heap
    size = 0
    for at in range(rows.size):
        row = rows[at]
        heap.keys[row] = keys[at]
        if memory.rows[row]["monitored"] == NOTHING:
            heap.lines[line, size] = row
            size += 1
    heap.sizes[line] = size
    order(memory, line)

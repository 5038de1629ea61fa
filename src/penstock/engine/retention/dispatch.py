"""The steps of all kinds of retention: the one place that tells them apart in the loop."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.engine.kernels.jit import inner, wide
from penstock.engine.kernels.layout import NOTHING, Memory
from penstock.engine.retention import grid, heap, ijoin, queue
from penstock.engine.retention import residence_priority as merits
from penstock.engine.retention.kinds import GRID, HEAP, IJOIN, QUEUE, SAMPLE

if TYPE_CHECKING:
    import numpy as np

    from penstock.engine.kernels.results import Results


@inner
def begin(memory: Memory, row: int, key: float) -> None:
    """Note what a row comes with: its rating, or what was made of it."""
    kind = memory.rule[0]["retention"]
    if kind == HEAP or kind == SAMPLE:
        memory.retained.heap.keys[row] = key
    elif kind == IJOIN:
        merits.begin(memory, row, key)


@inner
def enter(memory: Memory, row: int, stream: int, grade: int) -> None:
    """Let a row be one of those that may leave."""
    kind = memory.rule[0]["retention"]
    if kind == QUEUE:
        queue.enter(memory, row, stream)
    elif kind == HEAP or kind == SAMPLE:
        heap.push(memory, stream, row)
    elif kind == GRID:
        grid.enter(memory, row, stream, grade)
    elif kind == IJOIN:
        ijoin.enter(memory, row, stream)


@inner
def leave(memory: Memory, row: int, stream: int) -> None:
    """Take a row out of the order: it leaves memory, or is monitored from now on."""
    kind = memory.rule[0]["retention"]
    if kind == HEAP or kind == SAMPLE:
        heap.remove(memory, stream, row)
    elif kind == GRID:
        grid.leave(memory, row, stream)
    elif kind == IJOIN:
        ijoin.leave(memory, row, stream)


@inner
def matched(memory: Memory, kind: int, row: int) -> None:
    """Note a match of a row that has waited, monitored or not."""
    if kind == IJOIN:
        ijoin.note_match(memory, row)


@inner
def emitted(memory: Memory, kind: int, arrival: np.void, results: Results, at: int) -> None:
    """Note a result, before the matches of its members are."""
    if kind == IJOIN and memory.retained.ijoin.residences[0]["scheme"] == merits.ADAPTIVE:
        merits.note_quality(memory, arrival["rating"], results, at)


@inner
def first_to_go(memory: Memory, stream: int, before: int) -> int:
    """Return the row of a stream that leaves first, or NOTHING.

    `before` is a place in the stream's queue: an arrival that would itself be older than all rows
    that may leave is the first to go.
    """
    kind = memory.rule[0]["retention"]
    if kind == QUEUE:
        return queue.oldest(memory, stream, before)
    if memory.streams[stream]["held"] == memory.streams[stream]["monitored"]:
        return NOTHING
    if kind == GRID:
        return grid.lowest(memory, stream)
    if kind == IJOIN:
        return ijoin.first_to_go(memory, stream)
    return heap.lowest(memory, stream)


@inner
def yields(memory: Memory, arrival: np.void, stream: int, victim: int) -> bool:
    """Return whether an arrival goes rather than the row of its stream that leaves first."""
    kind = memory.rule[0]["retention"]
    if kind == HEAP:
        return heap.yields(memory, arrival["rating"], victim)
    if kind == GRID:
        return grid.is_lower(memory, stream, arrival["time"], wide(arrival["grade"]), victim)
    return False

"""The steps that most kinds of retention take in their own way.

Those of one or two kinds are in `prefetch`, `room`, `row_windows` and `shrinking`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.engine.kernels.by_type import by_retention
from penstock.engine.kernels.layout import NOTHING, Memory
from penstock.engine.retention import grid, heap, ijoin, queue
from penstock.engine.retention import residence_priority as merits
from penstock.engine.retention.retained import Graded, Ordered, Queued, Residing, Sampled

if TYPE_CHECKING:
    import numpy as np

    from penstock.engine.kernels.results import Results


@by_retention({Ordered: heap.begin, Sampled: heap.begin, Residing: merits.begin})
def begin(memory: Memory, row: int, key: float) -> None:
    """Note what a row comes with: its rating, or what follows from it."""


@by_retention(
    {
        Queued: queue.enter,
        Ordered: heap.enter,
        Sampled: heap.enter,
        Graded: grid.enter,
        Residing: ijoin.enter,
    }
)
def enter(memory: Memory, row: int, stream: int, grade: int) -> None:
    """Let a row be one of those that may leave."""


@by_retention({Ordered: heap.leave, Sampled: heap.leave, Graded: grid.leave, Residing: ijoin.leave})
def leave(memory: Memory, row: int, stream: int) -> None:
    """Take a row out of the order: it leaves memory, or is monitored from now on."""


@by_retention({Residing: ijoin.note_match})
def matched(memory: Memory, row: int) -> None:
    """Note a match of a row that has waited, monitored or not."""


@by_retention({Residing: merits.noted_in})
def noted_in(memory: Memory) -> Memory:
    """Return what results are noted in: only one kind of retention notes them in its own way."""
    return memory.of_any_kind


@by_retention({Residing: merits.note_result})
def emitted(memory: Memory, arrival: np.void, results: Results, at: int) -> None:
    """Note a result, before the matches of its members are."""


@by_retention(
    {
        Queued: queue.oldest,
        Ordered: heap.first_to_go,
        Sampled: heap.first_to_go,
        Graded: grid.first_to_go,
        Residing: ijoin.first_to_go,
    }
)
def first_to_go(memory: Memory, stream: int, before: int) -> int:
    """Return the row of a stream that leaves first, or NOTHING.

    `before` is a place in the stream's queue: an arrival that would itself be older than all rows
    that may leave is the first to go.
    """
    return NOTHING


@by_retention({Ordered: heap.yields, Graded: grid.yields})
def yields(memory: Memory, arrival: np.void, stream: int, victim: int) -> bool:
    """Return whether an arrival goes rather than the row of its stream that leaves first."""
    return False


@by_retention({Graded: grid.average})
def average_grade(memory: Memory) -> int:
    """Return the grade of an average row."""
    return 0

"""The arrays of all kinds of retention: those that are not in use are empty."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from penstock.engine.retention import grid, heap, ijoin, queue, sample

if TYPE_CHECKING:
    from penstock.engine.arrays import DType
    from penstock.engine.retention.residence_priority import IjoinArrays


class Retained(NamedTuple):
    """One group of arrays for each kind; two kinds are made of heaps."""

    queue: queue.QueueArrays
    heap: heap.HeapArrays
    grid: grid.GridArrays
    sample: sample.SampleArrays
    ijoin: IjoinArrays


def unused(time: DType, streams: int) -> Retained:
    """Return the arrays of a join that retains all rows."""
    return Retained(
        queue.make(streams),
        heap.make(0),
        grid.make(streams, 1, 0),
        sample.make(),
        ijoin.make(time, streams),
    )

"""The arrays of each kind of retention: their type says to the compiled loop which kind it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from penstock.engine.retention.grid import GridArrays
    from penstock.engine.retention.heap import HeapArrays
    from penstock.engine.retention.queue import QueueArrays
    from penstock.engine.retention.residence_priority import IjoinArrays
    from penstock.engine.retention.sample import SampleArrays


class KeepAll(NamedTuple):
    """The exact join's: no row leaves before its time."""


class Queued(NamedTuple):
    """The oldest row leaves first."""

    queue: QueueArrays


class Ordered(NamedTuple):
    """The row of the lowest rating leaves first: a heap for each stream."""

    heap: HeapArrays


class Graded(NamedTuple):
    """The row of the lowest score leaves first."""

    grid: GridArrays


class Sampled(NamedTuple):
    """Rows leave a sample; a heap for each stream."""

    heap: HeapArrays
    sample: SampleArrays


class Residing(NamedTuple):
    """The row of the lowest residence priority leaves first: two heaps for each stream."""

    heap: HeapArrays
    ijoin: IjoinArrays

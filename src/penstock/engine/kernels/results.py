"""Where results go: one reference to a payload row per stream, and the result's time."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from penstock.engine.arrays import Array, DType, Floats, Indices, Integers

# Tuples for which the loop looks ahead at a time: see `prefetch`.
_AHEAD = 64
# Results that are turned into Arrow at a time: enough to make the cost per result small, few
# enough to bound the memory that a join with very many results takes.
ENOUGH = 1 << 19


class Results(NamedTuple):
    """Results that the loop has produced and nobody has taken yet."""

    refs: Integers  # refs[i, s]: the row of stream s in result i
    times: Array
    members: Indices  # members[i, depth]: the rows that waited for it; only where it is noted
    weights: Floats  # how many results each stands for, and what it was chosen with;
    clusters: Integers  # only of a sample
    produced: Integers  # one element: how many there are
    prefetched: Integers  # of the coming tuples: their slots, and rows that they will touch
    cursor: Integers
    read: Integers  # one element, the sum of what was read ahead: so that it is really read


def make_results(streams: int, time: DType, size: int = 1024) -> Results:
    """Allocate room for so many results."""
    return Results(
        np.empty((size, streams), np.int64),
        np.empty(size, time),
        np.empty((size, streams - 1), np.int32),
        np.empty(size),
        np.empty(size, np.int64),
        np.zeros(1, np.int64),
        np.empty(_AHEAD, np.int64),
        np.empty(_AHEAD, np.int64),
        np.zeros(1, np.int64),
    )


def grown(results: Results) -> Results:
    """Give the same results with room for twice as many."""
    size = results.times.size
    larger = make_results(results.refs.shape[1], results.times.dtype, 2 * size)
    larger.refs[:size] = results.refs
    larger.times[:size] = results.times
    larger.members[:size] = results.members
    larger.weights[:size] = results.weights
    larger.clusters[:size] = results.clusters
    larger.produced[:] = results.produced
    return larger

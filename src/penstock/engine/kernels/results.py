"""Where results go: one reference to a payload row per stream, and the result's time."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from penstock.engine.arrays import Array, DType, Floats, Indices, Integers

# Rows for which the loop prefetches at a time: see `prefetch`.
PREFETCHED = 64
# Fields of `Results` with one entry for each result.
_COLUMNS = 7
# Results that are turned into Arrow at a time: enough to make the cost per result small, few
# enough to bound the memory that a join with very many results takes.
ENOUGH = 1 << 19


class Results(NamedTuple):
    """Results that the loop has produced and that have not been taken yet."""

    refs: Integers  # refs[i, s]: the row of stream s in result i
    times: Array
    members: Indices  # members[i, depth]: the rows that waited for it; only where it is noted
    weights: Floats  # of a sample: how many results each stands for,
    clusters: Integers  # and what it was drawn with
    stands_for: Floats  # how many results each shows there are, 0 if no monitored row waited for it
    witnesses: Integers  # the arrival number of that row
    produced: Integers  # one element: how many there are
    prefetched: Integers  # of the coming rows: their slots, and rows that they will touch
    cursor: Integers
    read: Integers  # one element, the sum of what was prefetched: so that it is really read


def make_results(
    streams: int,
    time: DType,
    size: int = 1024,
    *,
    has_weights: bool = True,
    has_witnesses: bool = True,
) -> Results:
    """Allocate room for so many results; what is not asked for takes none."""
    weights = size if has_weights else 0
    witnesses = size if has_witnesses else 0
    return Results(
        np.empty((size, streams), np.int64),
        np.empty(size, time),
        np.empty((size, streams - 1), np.int32),
        np.empty(weights),
        np.empty(weights, np.int64),
        np.empty(witnesses),
        np.empty(witnesses, np.int64),
        np.zeros(1, np.int64),
        np.empty(PREFETCHED, np.int64),
        np.empty(PREFETCHED, np.int64),
        np.zeros(1, np.int64),
    )


def grown(results: Results) -> Results:
    """Return the same results with room for twice as many."""
    size = results.times.size
    larger = make_results(
        results.refs.shape[1],
        results.times.dtype,
        2 * size,
        has_weights=results.weights.size > 0,
        has_witnesses=results.witnesses.size > 0,
    )
    for old, new in zip(results[:_COLUMNS], larger[:_COLUMNS], strict=True):
        new[: old.shape[0]] = old
    larger.produced[:] = results.produced
    return larger

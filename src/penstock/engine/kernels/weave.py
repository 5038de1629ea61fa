"""Merges several streams, each in time order, into one sequence of arrivals."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from penstock.engine.kernels.jit import kernel
from penstock.engine.kernels.layout import NO_KEY, TICK

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from penstock.engine.arrays import Array, Indices, Integers, Mask


@kernel
def weave(
    times: Array,
    starts: Integers,
    at: Integers,
    out: Integers,
    streams: npt.NDArray[np.int16],
) -> None:
    """Merge runs of one array; among equal times the earlier run comes first.

    `times[starts[s]:starts[s + 1]]` is run s. `at` is scratch space: a copy of the starts.
    Writes each arrival's index in `times` to `out`, and its run to `streams`.
    """
    runs = at.size
    for i in range(out.size):
        first = -1
        for run in range(runs):
            if at[run] < starts[run + 1] and (first < 0 or times[at[run]] < times[at[first]]):
                first = run
        out[i] = at[first]
        streams[i] = first
        at[first] += 1


class RowColumns(NamedTuple):
    """What rows arrive with: those of the first stream, then of the second, and so on."""

    key_words: Integers
    values: Array
    refs: Integers
    places: Indices
    has_key: Mask


@kernel
def write_arrivals(
    arrivals: Array,
    count: int,
    order: Integers,
    runs: npt.NDArray[np.int16],
    times: Array,
    rows: RowColumns,
) -> None:
    """Write the records of arrivals of `count` streams, which are 0, in the order found by `weave`.

    The runs are the streams' ticks, then their rows; `times` has those of both. One pass: the
    records do not fit into the cache, and each would be fetched again for each column.
    """
    ticks = times.size - rows.refs.size
    for i in range(order.size):
        arrival = arrivals[i]
        arrival["time"] = times[order[i]]
        if runs[i] < count:
            arrival["stream"] = runs[i]
            arrival["blank"] = TICK
            continue
        at = order[i] - ticks
        arrival["stream"] = runs[i] - count
        arrival["key_word"] = rows.key_words[at]
        arrival["value"] = rows.values[at]
        arrival["ref"] = rows.refs[at]
        arrival["place"] = rows.places[at]
        arrival["blank"] = 0 if rows.has_key[at] else NO_KEY

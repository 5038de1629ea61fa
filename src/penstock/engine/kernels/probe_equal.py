"""Probe and emit for equal keys: all windows share the row's slot, each with its own chain.

The windows are probed one after another in the order that the settings give; a partial result
carries what its next member must go with (the shape of GrubJoin's m-way join).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from penstock.engine.kernels.jit import inner, wide
from penstock.engine.kernels.layout import COUNT, HEAD, NOTHING, Memory
from penstock.engine.kernels.monitoring import note
from penstock.engine.kernels.sub_windows import is_probed, probes_parts

if TYPE_CHECKING:
    from penstock.engine.arrays import Array, DType, Integers
    from penstock.engine.kernels.results import Results


class Partial(NamedTuple):
    """A partial result: what is bound at each depth (depth d has d + 1 members)."""

    row: Integers  # the next candidate of this depth's window
    newest: Array  # greatest time of the members so far
    time: Array  # by stream: the member's time and reference
    ref: Integers
    held: Integers  # by depth: the row that is bound
    faced: Integers  # by depth: rows that were there to be compared, and those that fitted
    found: Integers


def make_partial(streams: int, time: DType) -> Partial:
    """Allocate the space for a join of so many streams."""
    return Partial(
        np.zeros(streams, np.int64),
        np.zeros(streams, time),
        np.zeros(streams, time),
        np.zeros(streams, np.int64),
        np.zeros(streams, np.int64),
        np.zeros(streams, np.int64),
        np.zeros(streams, np.int64),
    )


@inner
def count_pairs(memory: Memory, arrival: np.void, faced: Integers, found: Integers) -> None:
    """Add what a probe of whole windows has counted at each depth."""
    if probes_parts(arrival):
        return
    stream = wide(arrival["stream"])
    for step in range(memory.order.shape[1]):
        pair = memory.pairs[stream, memory.order[stream, step]]
        pair["faced"] += faced[step]
        pair["found"] += found[step]


@inner
def still_in_windows(memory: Memory, times: Array, stream: int, depth: int, now: float) -> bool:
    """Return whether the arriving row and all that is bound to it are in their windows at a time.

    Differences, not sums, are compared with the windows: with floating-point times these are not
    the same, and `newer - older <= window` is what is promised.
    """
    streams = memory.streams
    if now - times[stream] > streams[stream]["window"]:
        return False
    for step in range(depth):
        bound = memory.order[stream, step]
        if now - times[bound] > streams[bound]["window"]:
            return False
    return True


@inner
def probe_equal(
    memory: Memory,
    partial: Partial,
    arrival: np.void,
    slot: int,
    results: Results,
) -> bool:
    """Append all results of one arriving row; if they do not fit, none, and return False."""
    rows = memory.rows
    slots = memory.slots
    streams = memory.streams
    stream = wide(arrival["stream"])
    order = memory.order
    last = order.shape[1] - 1
    if slot == NOTHING or slots[slot, COUNT] == 0:
        return True
    for step in range(last + 1):
        other = order[stream, step]
        if slots[slot, HEAD + other] == NOTHING:
            return True
        # Counted apart until all results have found room: a row that is given back leaves no trace.
        partial.faced[step] = 0
        partial.found[step] = 0
    compared = 0
    count = results.produced[0]
    notes = memory.rule[0]["notes"] != 0
    in_parts = probes_parts(arrival)
    partial.ref[stream] = arrival["ref"]
    partial.newest[0] = arrival["time"]
    partial.time[stream] = arrival["time"]
    partial.row[0] = slots[slot, HEAD + order[stream, 0]]
    partial.faced[0] = streams[order[stream, 0]]["held"]
    depth = wide(0)
    while depth >= 0:
        row = partial.row[depth]
        if row == NOTHING:
            depth -= 1
            continue
        other = order[stream, depth]
        partial.row[depth] = rows[row]["next"]
        compared += 1
        time = rows[row]["time"]
        newest = partial.newest[depth]
        if time <= newest:
            if newest - time > streams[other]["window"]:
                continue
        elif not still_in_windows(memory, partial.time, stream, depth, time):
            continue
        if in_parts and not is_probed(memory, stream, other, arrival["time"] - time):
            continue
        partial.found[depth] += 1
        partial.ref[other] = rows[row]["ref"]
        partial.held[depth] = row
        partial.time[other] = time
        newest = max(newest, time)
        if depth == last:
            if count == results.times.size:
                return False
            results.times[count] = newest
            for s in range(results.refs.shape[1]):
                results.refs[count, s] = partial.ref[s]
            if notes:
                for d in range(last + 1):
                    results.members[count, d] = partial.held[d]
            count += 1
        else:
            depth += 1
            partial.newest[depth] = newest
            partial.row[depth] = slots[slot, HEAD + order[stream, depth]]
            partial.faced[depth] += streams[order[stream, depth]]["held"]
    count_pairs(memory, arrival, partial.faced, partial.found)
    if notes:
        note(memory, arrival, results, results.produced[0], count)
    rule = memory.rule[0]
    rule["compared"] += compared
    rule["produced"] += count - results.produced[0]
    results.produced[0] = count
    return True

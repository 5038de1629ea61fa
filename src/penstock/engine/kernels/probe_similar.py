"""Probe and emit for `Similar`: the neighbours of an arriving row are known when its turn comes.

They were found for a block of arrivals at a time (`engine.neighbours`), among the rows in memory
and the rows of the same batch. Here those are left out that have left memory meanwhile, that are
still to come or that were never inserted, and neighbours of several streams are put together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from penstock.engine.kernels.distances import Vectors, is_near
from penstock.engine.kernels.jit import inner, wide
from penstock.engine.kernels.monitoring import note
from penstock.engine.kernels.probe_equal import count_pairs, still_in_windows
from penstock.engine.kernels.sub_windows import is_probed, probes_parts, rows_probed

if TYPE_CHECKING:
    from penstock.engine.arrays import Array, DType, Integers
    from penstock.engine.kernels.layout import Memory
    from penstock.engine.kernels.results import Results


class Nearby(NamedTuple):
    """Vectors and neighbours, and a partial result (depth d has d + 1 members)."""

    known: Vectors
    neighbours: Integers  # places in the queue
    first: Integers  # one element: the arrival that `bounds` begin with
    bounds: Integers  # bounds[arrival, depth]: where its neighbours begin and end
    next: Integers  # by depth: the next candidate
    newest: Array  # greatest time of the members so far
    time: Array  # by stream: the member's time and reference
    ref: Integers
    held: Integers  # by depth: the row that is bound, and its place in the queue
    place: Integers
    faced: Integers  # by depth: rows that were there to be compared, and those that fitted
    found: Integers
    checked: Integers  # by depth: comparisons of candidates with members
    # By stream that arrives and stream that is probed, in whole windows: rows that an arriving row
    # was compared with, each once however many partial results it has, and `checked`.
    effort: Integers


def make_nearby(streams: int, time: DType, vector: DType) -> Nearby:
    """Allocate the space for a join of so many streams, with no vectors yet."""
    return Nearby(
        Vectors(np.zeros((0, 0), vector), np.zeros(0), np.zeros(2)),
        np.zeros(0, np.int64),
        np.zeros(1, np.int64),
        np.zeros((0, streams - 1, 2), np.int64),
        np.zeros(streams, np.int64),
        np.zeros(streams, time),
        np.zeros(streams, time),
        np.zeros(streams, np.int64),
        np.zeros(streams, np.int64),
        np.zeros(streams, np.int64),
        np.zeros(streams, np.int64),
        np.zeros(streams, np.int64),
        np.zeros(streams, np.int64),
        np.zeros((streams, streams, 2), np.int64),
    )


@inner
def _is_near_all(nearby: Nearby, depth: int, place: int) -> bool:
    """Return whether a candidate is near the members so far; the arriving row is known to be."""
    for step in range(depth):  # noqa: SIM110 -- Numba has no generators
        if not is_near(nearby.known, nearby.place[step], place):
            return False
    return True


@inner
def _count_effort(memory: Memory, nearby: Nearby, arrival: np.void, reached: int) -> None:
    """Add the comparisons of a probe of whole windows, by hop."""
    if probes_parts(arrival):
        return
    stream = wide(arrival["stream"])
    for step in range(reached + 1):
        other = memory.order[stream, step]
        nearby.effort[stream, other, 0] += memory.streams[other]["held"]
        nearby.effort[stream, other, 1] += nearby.checked[step]


@inner
def probe_similar(
    memory: Memory,
    nearby: Nearby,
    arrival: np.void,
    slot: int,
    results: Results,
) -> bool:
    """Append all results of one arriving row; if they do not fit, none, and return False.

    Counted are the comparisons of the row with the window that it probes first, with the next one
    if it found something there, and so on, and those of candidates with each other.
    """
    rows = memory.rows
    streams = memory.streams
    stream = wide(arrival["stream"])
    order = memory.order
    last = order.shape[1] - 1
    count = results.produced[0]
    notes = memory.rule[0]["notes"] != 0
    in_parts = probes_parts(arrival)
    bounds = nearby.bounds[arrival["key_word"] - nearby.first[0]]
    for step in range(last + 1):
        if streams[order[stream, step]]["held"] == 0:
            return True
        # Counted apart until all results have found room: a row that is given back leaves no trace.
        nearby.faced[step] = 0
        nearby.found[step] = 0
        nearby.checked[step] = 0
    compared = rows_probed(memory, arrival, wide(order[stream, 0]))
    nearby.faced[0] = streams[order[stream, 0]]["held"]
    nearby.ref[stream] = arrival["ref"]
    nearby.newest[0] = arrival["time"]
    nearby.time[stream] = arrival["time"]
    nearby.next[0] = bounds[0, 0]
    reached = wide(0)
    depth = wide(0)
    while depth >= 0:
        if nearby.next[depth] == bounds[depth, 1]:
            depth -= 1
            continue
        other = order[stream, depth]
        place = nearby.neighbours[nearby.next[depth]]
        nearby.next[depth] += 1
        row = wide(memory.queue[place])
        if row < 0:
            continue
        time = rows[row]["time"]
        newest = nearby.newest[depth]
        if time <= newest:
            if newest - time > streams[other]["window"]:
                continue
        elif not still_in_windows(memory, nearby.time, stream, depth, time):
            continue
        if in_parts and not is_probed(memory, stream, other, arrival["time"] - time):
            continue
        compared += depth
        nearby.checked[depth] += depth
        if not _is_near_all(nearby, depth, place):
            continue
        nearby.found[depth] += 1
        nearby.ref[other] = rows[row]["ref"]
        nearby.held[depth] = row
        nearby.place[depth] = place
        nearby.time[other] = time
        newest = max(newest, time)
        if depth == last:
            if count == results.times.size:
                return False
            results.times[count] = newest
            for s in range(results.refs.shape[1]):
                results.refs[count, s] = nearby.ref[s]
            if notes:
                for d in range(last + 1):
                    results.members[count, d] = nearby.held[d]
            count += 1
        else:
            depth += 1
            nearby.newest[depth] = newest
            nearby.next[depth] = bounds[depth, 0]
            nearby.faced[depth] += streams[order[stream, depth]]["held"]
            if depth > reached:
                reached = depth
                compared += rows_probed(memory, arrival, wide(order[stream, depth]))
    count_pairs(memory, arrival, nearby.faced, nearby.found)
    _count_effort(memory, nearby, arrival, reached)
    if notes:
        note(memory, arrival, results, results.produced[0], count)
    rule = memory.rule[0]
    rule["compared"] += compared
    rule["produced"] += count - results.produced[0]
    results.produced[0] = count
    return True

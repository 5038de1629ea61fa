"""Rows leave by residence priority: importance times matches per age, less a penalty for idleness.

Between two matches of a row its priority only falls. So a heap ordered by what each row's will be
at a time to come, the horizon, has lower bounds of what they are until then: the walk that looks
for the lowest ends where bounds are above what it has found. A row that matches is worth more than
its bound says, never less, so it can stay where it is until the walk comes by. When the horizon is
reached, or as many rows were looked at as there are, bounds are computed again. Which row leaves
does not depend on the bounds, so they are not saved.

Of each stream there are two heaps: of the rows that are mature, and of the others. The second is
put in order only when there are no mature ones, as the others leave only then. A row that has not
matched is in neither: of those the oldest has the lowest priority, and the queue knows it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from penstock.engine.kernels.clock import latest
from penstock.engine.kernels.jit import inner, kernel, rare, wide
from penstock.engine.kernels.layout import NEVER, NOTHING, Memory
from penstock.engine.retention import heap
from penstock.engine.retention import residence_priority as merits
from penstock.engine.retention.residence_priority import (
    RIPE,
    SCRATCH,
    SUCCESSIVE,
    UNMATCHED,
    YOUNG,
    IjoinArrays,
)

if TYPE_CHECKING:
    from penstock.engine.arrays import DType, Floats, Integers

# What rounding may add to a bound.
_SLACK: Final = 1e-12
# Rows that are looked at before bounds are computed again, however few there are.
_FEW: Final = 32
# Rows whose merits are fetched together.
_AT_ONCE: Final = 16
# Bounds are to hold for so much of a life at first; then for as long as proves right.
_FIRST_STEP: Final = 2.0**-10


def make(time: DType, streams: int) -> IjoinArrays:
    """Return the arrays for so many streams, with room for no row."""
    residences = np.zeros(streams, merits.residence_type(time))
    residences["horizon"] = NEVER
    return IjoinArrays(
        np.zeros(0, merits.merit_type(time)),
        residences,
        np.zeros((2, SCRATCH), np.int32),
        np.zeros(1),
    )


def grown(arrays: IjoinArrays, size: int) -> IjoinArrays:
    """Return the arrays with room for so many rows."""
    larger = np.zeros(size, arrays.merits.dtype)
    larger[: arrays.merits.size] = arrays.merits
    return arrays._replace(merits=larger)


@inner
def _shift(memory: Memory, stream: int, time: float) -> float:
    """Compute the penalty for the time from when bounds were found until another time.

    The penalties of all unproductive rows grow alike. So what bounds bound is the priority plus
    this, of which the penalty is a constant.
    """
    record = memory.retained.ijoin.residences[stream]
    return record["penalty"] * ((time - record["began"]) / record["life"])


@inner
def _bound(memory: Memory, row: int, stream: int) -> float:
    """Compute what a row's priority, shifted, will not be below until the horizon."""
    record = memory.retained.ijoin.residences[stream]
    last = memory.retained.ijoin.merits[row]["last"]
    earned = merits.earned(memory, row, stream, record["horizon"])
    is_unproductive = (record["horizon"] - last) / record["life"] >= record["unproductivity"]
    shift = _shift(memory, stream, last if is_unproductive else record["computed_at"])
    bound = earned + shift
    if merits.is_fixed(memory, row, stream):
        shift = _shift(memory, stream, record["computed_at"])
        bound = min(bound, merits.fixed(memory, row, stream) + shift)
    return bound - _SLACK * (earned + abs(shift) + abs(bound))


@inner
def _note_bound(memory: Memory, row: int, stream: int) -> None:
    memory.retained.heap.keys[row] = _bound(memory, row, stream)
    memory.retained.ijoin.merits[row]["is_loose"] = 0


# --- Rows come, match, mature and go


@inner
def _join_ripe(memory: Memory, row: int, stream: int) -> None:
    """Put a row among the mature of its stream."""
    memory.retained.ijoin.merits[row]["standing"] = RIPE
    _note_bound(memory, row, stream)
    heap.push(memory, stream, row)


@inner
def _join_young(memory: Memory, row: int, stream: int) -> None:
    """Put a row among those of its stream that are not mature."""
    record = memory.retained.ijoin.residences[stream]
    young = stream + memory.streams.size
    memory.retained.ijoin.merits[row]["standing"] = YOUNG
    if record["is_ordered"]:
        _note_bound(memory, row, stream)
        heap.push(memory, young, row)
    else:
        heaps = memory.retained.heap
        heaps.lines[young, heaps.sizes[young]] = row
        heaps.places[row] = heaps.sizes[young]
        heaps.sizes[young] += 1


@inner
def leave(memory: Memory, row: int, stream: int) -> None:
    """Take a row out of its heap."""
    record = memory.retained.ijoin.residences[stream]
    young = stream + memory.streams.size
    if memory.retained.ijoin.merits[row]["standing"] == UNMATCHED:
        return
    if memory.retained.ijoin.merits[row]["standing"] == RIPE:
        heap.remove(memory, stream, row)
    elif record["is_ordered"]:
        heap.remove(memory, young, row)
    else:
        heaps = memory.retained.heap
        heaps.sizes[young] -= 1
        last = heaps.lines[young, heaps.sizes[young]]
        heaps.lines[young, heaps.places[row]] = last
        heaps.places[last] = heaps.places[row]
        heaps.places[row] = NOTHING


@inner
def _is_mature(memory: Memory, row: int, stream: int, now: float) -> bool:
    record = memory.retained.ijoin.residences[stream]
    came = memory.retained.ijoin.merits[row]["came"]
    return (now - came) / record["life"] > record["maturity"]


@inner
def _join_heap(memory: Memory, row: int, stream: int) -> None:
    """Put a row that has matched into its heap."""
    if _is_mature(memory, row, stream, latest(memory)):
        _join_ripe(memory, row, stream)
    else:
        record = memory.retained.ijoin.residences[stream]
        record["ripened"] = min(record["ripened"], memory.rows[row]["place"])
        _join_young(memory, row, stream)


@inner
def enter(memory: Memory, row: int, stream: int, grade: int) -> None:
    """Let a row that is not monitored, or no longer, be one of those that may leave."""
    record = memory.retained.ijoin.residences[stream]
    place = memory.rows[row]["place"]
    memory.streams[stream]["newest"] = max(memory.streams[stream]["newest"], place)
    if memory.retained.ijoin.merits[row]["matches"] > 0.0:
        _join_heap(memory, row, stream)
    else:
        memory.retained.ijoin.merits[row]["standing"] = UNMATCHED
        record["unmatched"] = min(record["unmatched"], place)


@inner
def note_match(memory: Memory, row: int) -> None:
    """Note a match of a row that has waited."""
    stream = wide(memory.rows[row]["stream"])
    record = memory.retained.ijoin.residences[stream]
    merit = memory.retained.ijoin.merits[row]
    if record["scheme"] != SUCCESSIVE:
        merits.note_computed(memory, row, stream)
    now = latest(memory)
    is_first = merit["matches"] == 0.0
    if now != merit["last"]:
        idle = (now - merit["last"]) / record["life"]
        merit["matches"] *= np.exp(-record["decay"] * idle)
        merit["last"] = now
        merit["is_loose"] = 1
    merit["matches"] += 1.0
    if is_first and _is_unmatched(memory, row):
        _join_heap(memory, row, stream)


@inner
def _ripen(memory: Memory, stream: int, now: float) -> None:
    """Move the rows that have matured to their heap."""
    record = memory.streams[stream]
    residence = memory.retained.ijoin.residences[stream]
    place = max(residence["ripened"], record["head"])
    while place <= record["newest"]:
        row = wide(memory.queue[record["base"] + place])
        if row >= 0:
            if not _is_mature(memory, row, stream, now):
                break
            is_free = memory.rows[row]["monitored"] == NOTHING
            if is_free and memory.retained.ijoin.merits[row]["standing"] == YOUNG:
                leave(memory, row, stream)
                _join_ripe(memory, row, stream)
        place += 1
    residence["ripened"] = place


# --- Which row leaves


@inner
def _order(memory: Memory, stream: int, line: int) -> None:
    """Make a heap of rows by their bounds."""
    heaps = memory.retained.heap
    for first in range(0, heaps.sizes[line], _AT_ONCE):
        stop = min(first + _AT_ONCE, heaps.sizes[line])
        # Writing does not wait for what is not in the cache, and fetches it for the bounds.
        for at in range(first, stop):
            memory.retained.ijoin.merits[heaps.lines[line, at]]["is_loose"] = 0
        for at in range(first, stop):
            row = wide(heaps.lines[line, at])
            heaps.keys[row] = _bound(memory, row, stream)
    heap.order(memory, line)


@rare
def bound_again(memory: Memory, stream: int, of_mature: bool) -> None:  # noqa: FBT001
    """Compute the bounds of a stream's rows again: of the mature, or of the others.

    For longer than last time if that proved right, and for less if too many were looked at.
    """
    now = latest(memory)
    record = memory.retained.ijoin.residences[stream]
    if now > record["horizon"]:
        least = _FIRST_STEP * record["life"]
        record["step"] = min(max(2.0 * record["step"], least), record["life"])
    else:
        record["step"] = min(record["step"], float(now - record["began"]))
    record["horizon"] = now + record["step"]
    record["began"] = now
    record["visited"] = 0
    record["is_ordered"] = not of_mature
    if record["is_ordered"]:
        _order(memory, stream, stream + memory.streams.size)
    else:
        _order(memory, stream, stream)


@inner
def _is_before(memory: Memory, value: float, row: int, other_value: float, other: int) -> bool:
    """Return whether a row leaves before another: by its value, then the one that came first."""
    if value != other_value:
        return value < other_value
    return memory.rows[row]["arrival_number"] < memory.rows[other]["arrival_number"]


@inner
def _is_unmatched(memory: Memory, row: int) -> bool:
    return (
        row >= 0
        and memory.rows[row]["monitored"] == NOTHING
        and memory.retained.ijoin.merits[row]["standing"] == UNMATCHED
    )


@inner
def _oldest_unmatched(memory: Memory, stream: int) -> int:
    """Return the oldest row of a stream that has not matched and may leave, or NOTHING."""
    record = memory.streams[stream]
    residence = memory.retained.ijoin.residences[stream]
    place = max(residence["unmatched"], record["head"])
    while place <= record["newest"]:
        if _is_unmatched(memory, wide(memory.queue[record["base"] + place])):
            break
        place += 1
    residence["unmatched"] = place
    return memory.queue[record["base"] + place] if place <= record["newest"] else NOTHING


@rare
def _lowest_unmatched(memory: Memory, stream: int, now: float, only_mature: bool) -> int:  # noqa: FBT001
    """Return the row of the lowest priority of those that have not matched, by looking at all.

    Only where they came since priorities were computed: theirs is their importance.
    """
    record = memory.streams[stream]
    found = wide(NOTHING)
    first = memory.retained.ijoin.residences[stream]["unmatched"]
    for place in range(first, record["newest"] + 1):
        row = wide(memory.queue[record["base"] + place])
        if not _is_unmatched(memory, row):
            continue
        if only_mature and not _is_mature(memory, row, stream, now):
            break
        value = merits.valued(memory, row, stream)
        if found == NOTHING or _is_before(
            memory, value, row, merits.valued(memory, found, stream), found
        ):
            found = row
    return found


@inner
def _lowest(memory: Memory, stream: int, line: int, found: int) -> int:
    """Return the row of the lowest priority: of a heap that is ordered by bounds, or `found`."""
    keys = memory.retained.heap.keys
    size = memory.retained.heap.sizes[line]
    heaps = memory.retained.heap.lines
    walk = memory.retained.ijoin.scratch[0]
    loose = memory.retained.ijoin.scratch[1]
    visited = 0
    shift = _shift(memory, stream, memory.retained.ijoin.residences[stream]["computed_at"])
    lowest = 0.0
    if found != NOTHING:
        lowest = merits.valued(memory, found, stream)
    matched = 0
    pending = 0
    if size > 0:
        walk[0] = 0
        pending = 1
    while pending > 0:
        pending -= 1
        at = walk[pending]
        row = wide(heaps[line, at])
        bound = keys[row] - shift
        if found != NOTHING and not _is_before(memory, bound, row, lowest, found):
            continue
        visited += 1
        value = merits.settled(memory, row, stream)
        if found == NOTHING or _is_before(memory, value, row, lowest, found):
            found = row
            lowest = value
        if memory.retained.ijoin.merits[row]["is_loose"] and matched < SCRATCH:
            loose[matched] = row
            matched += 1
        child = 2 * at + 1
        if child + 1 < size:
            # The lower one is looked at first: it comes last.
            first = wide(heaps[line, child])
            second = wide(heaps[line, child + 1])
            swap = _is_before(memory, keys[first], first, keys[second], second)
            walk[pending] = child + 1 if swap else child
            walk[pending + 1] = child if swap else child + 1
            pending += 2
        elif child < size:
            walk[pending] = child
            pending += 1
    for each in range(matched):
        row = wide(loose[each])
        _note_bound(memory, row, stream)
        heap.move(memory, line, row)
    memory.retained.ijoin.residences[stream]["visited"] += visited
    return found


@inner
def first_to_go(memory: Memory, stream: int, before: int) -> int:
    """Return the row of a stream that leaves first, or NOTHING."""
    if memory.streams[stream]["held"] == memory.streams[stream]["monitored"]:
        return wide(NOTHING)
    return wide(_first_of_some(memory, stream))


@rare
def _first_of_some(memory: Memory, stream: int) -> int:
    """Return the row of a stream that leaves first: of the mature, or of all if none is."""
    record = memory.retained.ijoin.residences[stream]
    now = latest(memory)
    merits.compute(memory, stream, now)
    _ripen(memory, stream, now)
    found = _oldest_unmatched(memory, stream)
    is_mature = found != NOTHING and _is_mature(memory, found, stream, now)
    sizes = memory.retained.heap.sizes
    some_mature = sizes[stream] > 0 or is_mature
    if found != NOTHING and some_mature and not is_mature:
        found = NOTHING
    if found != NOTHING and merits.is_fixed(memory, found, stream):
        found = _lowest_unmatched(memory, stream, now, some_mature)
    line, is_ready = stream, True
    if not some_mature:
        line = stream + memory.streams.size
        is_ready = record["is_ordered"] != 0
    if not is_ready or now > record["horizon"] or record["visited"] > sizes[line] + _FEW:
        bound_again(memory, stream, some_mature)
    return _lowest(memory, stream, line, found)


@kernel
def set_importance(memory: Memory, stream: int, rows: Integers, importance: Floats) -> None:
    """Let all rows of a stream matter as much as is said from now on."""
    for at in range(rows.size):
        row = rows[at]
        memory.retained.ijoin.merits[row]["importance"] = importance[at]
        if _is_unmatched(memory, row) and memory.retained.ijoin.merits[row]["matches"] > 0.0:
            _join_heap(memory, row, stream)  # after a restart it is known only now
    bound_again(memory, stream, memory.retained.heap.sizes[stream] > 0)

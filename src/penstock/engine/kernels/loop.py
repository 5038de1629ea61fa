"""The five steps, row by row: admit, probe, emit, insert, evict."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.engine.kernels.gate import charge, charge_arrival, go_on, leave_out
from penstock.engine.kernels.jit import inner, kernel, rare, wide
from penstock.engine.kernels.layout import (
    IN_PARTS,
    LAGS,
    NO_KEY,
    NOT_ADMITTED,
    NOT_INSERTED,
    NOT_PROBED,
    NOTHING,
    UNSEEN,
    Memory,
)
from penstock.engine.kernels.probing import prefetch_next, probe, slot_of_key
from penstock.engine.kernels.removal import remove
from penstock.engine.kernels.results import ENOUGH
from penstock.engine.retention.room import keep_drawn, take_in
from penstock.engine.retention.row_windows import leave_behind

if TYPE_CHECKING:
    from penstock.engine.arrays import Array
    from penstock.engine.kernels.probe_equal import Partial
    from penstock.engine.kernels.probe_range import Ranges
    from penstock.engine.kernels.probe_similar import Nearby
    from penstock.engine.kernels.results import Results


@inner
def expire(memory: Memory, stream: int) -> None:
    """Remove a stream's rows that no row still to come can join."""
    streams = memory.streams
    rows = memory.rows
    queue = memory.queue
    # A row of another stream still to come has a time of at least `horizon`.
    horizon = streams[stream]["horizon"]
    window = streams[stream]["window"]
    base = streams[stream]["base"]
    head = streams[stream]["head"]
    tail = streams[stream]["tail"]
    # A PENDING place ends the walk: what comes after it is not older than the present, and the
    # horizon is never beyond the present by more than when those rows were looked at last.
    while head < tail:
        row = wide(queue[base + head])
        if row >= 0:
            if horizon - rows[row]["time"] <= window:
                break
            remove(memory, row)
            streams[stream]["expired"] += 1
        elif row != NOTHING:
            break
        head += 1
    streams[stream]["head"] = head


@inner
def advance(memory: Memory, stream: int, time: float) -> None:
    """Move a stream's clock forward and expire what this lets go."""
    streams = memory.streams
    if time <= streams[stream]["clock"]:
        return
    streams[stream]["clock"] = time
    for other in range(streams.size):
        if other == stream:
            continue
        horizon = time - streams[stream]["lateness"]
        for third in range(streams.size):
            if third != other:
                horizon = min(horizon, streams[third]["clock"] - streams[third]["lateness"])
        if horizon > streams[other]["horizon"]:
            streams[other]["horizon"] = horizon
            expire(memory, other)


@rare
def _count_shed(memory: Memory, stream: int, actions: int) -> None:
    """Count an arrival that leaves out a step under its cause.

    One that could not be inserted any more is counted when that is known.
    """
    record = memory.streams[stream]
    if actions & NOT_ADMITTED:
        record["not_admitted"] += 1
    elif actions & (NOT_PROBED | IN_PARTS):
        record["not_probed"] += 1  # or not in full
    if actions & UNSEEN:
        record["unseen"] += 1


@kernel
def join(
    memory: Memory,
    probing: Partial | Ranges | Nearby,
    arrivals: Array,
    start: int,
    stop: int,
    results: Results,
) -> int:
    """Take arrivals[start:stop] through the five steps; return the first not yet dealt with.

    Stops early, between two rows, once there are enough results, or when the next row's results
    do not fit: then that row is as if it had not come.
    """
    rule = memory.rule[0]
    streams = memory.streams
    sheds = rule["sheds"] != 0
    notes_lags = rule["notes"] & LAGS != 0
    for at in range(start, stop):
        prefetch_next(memory, probing, arrivals, at, start, stop, results)
        arrival = arrivals[at]
        stream = wide(arrival["stream"])
        actions = wide(arrival["actions"])
        place = streams[stream]["base"] + arrival["place"]
        advance(memory, stream, arrival["time"])
        leave_behind(memory, arrival, stream)
        if sheds:
            go_on(memory, arrival["time"])
        if arrival["blank"]:
            if arrival["blank"] == NO_KEY:
                rule["arrivals"] += 1
                memory.queue[place] = NOTHING
                if sheds:
                    charge_arrival(memory)
            continue
        compared = rule["compared"]
        inserted = streams[stream]["inserted"]
        if sheds:
            actions = leave_out(memory, arrival, at, actions)
        if actions & NOT_ADMITTED:
            rule["arrivals"] += 1
            rule["found"] = 0
            memory.queue[place] = NOTHING
            _count_shed(memory, stream, actions)
            charge(memory, arrival, at, compared, inserted)
            continue
        before = results.produced[0]
        slot = slot_of_key(memory, probing, arrival, at - start, results)
        if not actions & NOT_PROBED and not probe(memory, probing, arrival, slot, results):
            return at
        if notes_lags and not actions & (NOT_PROBED | IN_PARTS):
            streams[stream]["whole_compared"] += rule["compared"] - compared
        if actions != 0:
            _count_shed(memory, stream, actions)
        if rule["emits_drawn"]:
            keep_drawn(memory, results, before)
        found = results.produced[0] - before
        rule["found"] = found
        streams[stream]["found"] += found
        number = rule["arrivals"]
        rule["arrivals"] = number + 1
        if streams[stream]["horizon"] - arrival["time"] > streams[stream]["window"]:
            # No row still to come can join it: it has done its part by probing.
            streams[stream]["expired"] += 1
            memory.queue[place] = NOTHING
        elif actions & NOT_INSERTED:
            streams[stream]["not_inserted"] += 1
            memory.queue[place] = NOTHING
        elif not take_in(memory, arrival, slot, number):
            streams[stream]["dropped"] += 1
            streams[stream]["ended"] += 1
            memory.queue[place] = NOTHING
        if sheds:
            charge(memory, arrival, at, compared, inserted)
        if results.produced[0] >= ENOUGH:
            return at + 1
    return stop

"""The five steps, tuple by tuple: admit, probe, emit, insert, evict."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.engine.kernels import grid, heap, lots, merits, residence
from penstock.engine.kernels.buckets import bucket_of, slot_of, sub_of
from penstock.engine.kernels.index import find, find_or_create, link
from penstock.engine.kernels.jit import NO, inner, kernel, rare, wide
from penstock.engine.kernels.layout import (
    EQUAL,
    EVICT_BY_LOT,
    EVICT_BY_RESIDENCE,
    EVICT_BY_SCORE,
    EVICT_LOWEST,
    EVICT_NOBODY,
    EVICT_OLDEST,
    NO_KEY,
    NOTHING,
    Memory,
)
from penstock.engine.kernels.prefetch import prefetch
from penstock.engine.kernels.probe_equal import Partial, probe_equal
from penstock.engine.kernels.probe_range import Ranges, probe_range
from penstock.engine.kernels.queue import oldest
from penstock.engine.kernels.removal import evict, remove
from penstock.engine.kernels.results import ENOUGH
from penstock.engine.kernels.watch import is_chosen, keep_to_quota, watch

if TYPE_CHECKING:
    import numpy as np

    from penstock.engine.arrays import Array, Integers
    from penstock.engine.kernels.results import Results


@inner
def expire(memory: Memory, stream: int) -> None:
    """Remove a stream's rows that no tuple still to come can join."""
    streams = memory.streams
    rows = memory.rows
    queue = memory.queue
    # A tuple of another stream still to come has a time of at least `horizon`.
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


@inner
def _most_over_share(memory: Memory, newcomer: int, limit: int) -> int:
    """Give the stream that claims most above its share, the newcomer counted with its own.

    It has rows that may go, unless it is the newcomer's.
    """
    streams = memory.streams
    most = newcomer
    excess = 0.0
    if newcomer != NOTHING:
        excess = streams[newcomer]["held"] + 1 - limit * streams[newcomer]["share"]
    for stream in range(streams.size):
        over = streams[stream]["held"] - limit * streams[stream]["share"]
        if stream == newcomer or streams[stream]["held"] == streams[stream]["watched"]:
            continue
        if most == NOTHING or over > excess:
            most = stream
            excess = over
    return most


@inner
def _first_to_go(memory: Memory, stream: int, before: int) -> int:
    """Give the row of a stream that leaves first, or NOTHING."""
    streams = memory.streams
    if memory.rule[0]["evict"] == EVICT_OLDEST:
        return oldest(memory, stream, before)
    if streams[stream]["held"] == streams[stream]["watched"]:
        return NOTHING
    if memory.rule[0]["evict"] == EVICT_BY_SCORE:
        return grid.lowest(memory, stream)
    if memory.rule[0]["evict"] == EVICT_BY_RESIDENCE:
        return residence.first_to_go(memory, stream)
    return memory.heaps[stream, 0]


@rare
def _shrink_to(memory: Memory, limit: int) -> None:
    """Evict what is too much, where the limit itself has fallen."""
    rule = memory.rule[0]
    while rule["held"] > limit:
        if rule["held"] == rule["watched"]:
            rule["quota"] = rule["watched"] - 1
            keep_to_quota(memory)
        if rule["evict"] == EVICT_BY_LOT:
            lots.lower(memory, lots.first_to_go(memory))
            continue
        stream = _most_over_share(memory, wide(NOTHING), limit)
        evict(memory, _first_to_go(memory, stream, memory.queue.size))


@inner
def _make_room(memory: Memory, arrival: np.void, watched: bool) -> bool:  # noqa: FBT001
    """Evict a row if there is no room; give False if the newcomer is itself the one to go.

    One that is to be watched does not go while there is another that may.
    """
    rule = memory.rule[0]
    newcomer = wide(arrival["stream"])
    if rule["held"] < arrival["limit"]:
        return True
    stream = _most_over_share(memory, newcomer, arrival["limit"])
    before = arrival["place"] if stream == newcomer and not watched else memory.queue.size
    victim = _first_to_go(memory, stream, before)
    if victim == NOTHING and watched:
        stream = _most_over_share(memory, wide(NOTHING), arrival["limit"])
        if stream != NOTHING:
            victim = _first_to_go(memory, stream, before)
    if victim == NOTHING:
        return False
    if stream == newcomer and not watched:
        if rule["evict"] == EVICT_LOWEST:
            lowest = memory.rows[victim]["priority"]
            if arrival["priority"] < lowest:
                return False
            if rule["favours_old"] and arrival["priority"] == lowest:
                return False
        elif rule["evict"] == EVICT_BY_SCORE and grid.is_lower(
            memory, stream, arrival["time"], wide(arrival["grade"]), victim
        ):
            return False
    evict(memory, victim)
    return True


@inner
def insert(memory: Memory, arrival: np.void, slot: int, birth: int, watched: bool) -> int:  # noqa: FBT001
    """Put a tuple into memory, at its place in every structure; give its row."""
    rows = memory.rows
    rule = memory.rule[0]
    streams = memory.streams
    stream = wide(arrival["stream"])
    row = rule["free_row"]
    if row != NOTHING:
        rule["free_row"] = rows[row]["next"]
    else:
        row = rule["fresh_row"]
        rule["fresh_row"] = row + 1
    rows[row]["time"] = arrival["time"]
    rows[row]["value"] = arrival["value"]
    rows[row]["ref"] = arrival["ref"]
    rows[row]["priority"] = arrival["priority"]
    rows[row]["birth"] = birth
    rows[row]["stream"] = stream
    rows[row]["place"] = arrival["place"]
    rows[row]["matches"] = 0
    rows[row]["heap"] = NOTHING
    memory.queue[streams[stream]["base"] + arrival["place"]] = row
    streams[stream]["head"] = min(streams[stream]["head"], arrival["place"])
    if slot == NOTHING:
        if rule["kind"] == EQUAL:
            slot = find_or_create(memory, arrival["key_word"], wide(0))
        else:
            bucket = bucket_of(memory, arrival["value"])
            slot = slot_of(memory, bucket, sub_of(memory, arrival["time"]))
    link(memory, row, slot, stream)
    if rule["evict"] == EVICT_BY_RESIDENCE:
        merits.begin(memory, row, arrival["priority"])
    if watched:
        watch(memory, row, arrival["draw"])
    else:
        streams[stream]["first"] = min(streams[stream]["first"], arrival["place"])
        if rule["evict"] == EVICT_LOWEST or rule["evict"] == EVICT_BY_LOT:
            heap.push(memory, stream, row, streams[stream]["held"] - streams[stream]["watched"])
        elif rule["evict"] == EVICT_BY_SCORE:
            grid.enter(memory, row, stream, wide(arrival["grade"]))
        elif rule["evict"] == EVICT_BY_RESIDENCE:
            residence.enter(memory, row, stream)
    streams[stream]["held"] += 1
    streams[stream]["inserted"] += 1
    rule["held"] += 1
    streams[stream]["held_most"] = max(streams[stream]["held_most"], streams[stream]["held"])
    if rule["held"] > rule["held_most"]:
        rule["held_most"] = rule["held"]
        for each in range(streams.size):
            streams[each]["held_at_most"] = streams[each]["held"]
    return row


@inner
def _draw_in(memory: Memory, arrival: np.void, slot: int, birth: int) -> bool:
    """Insert a tuple if it is drawn, for all its matches or for the first one that is chosen.

    Where memory is full the sampling fraction falls, until someone, perhaps the newcomer, is in
    the sample no more. Rows that are watched stay, whether they are in it or not.
    """
    rule = memory.rule[0]
    lot = lots.draw(memory, arrival)
    watched = rule["by_match"] != 0 and is_chosen(memory, arrival["draw"])
    if lots.is_out(memory, lot) and not watched:
        return False
    while rule["held"] >= arrival["limit"]:
        victim = lots.first_to_go(memory)
        if victim == NOTHING:
            return False
        if not watched and lot.ratio > -memory.rows[victim]["priority"]:
            lot = lots.draw_again(memory, lot)
        else:
            lots.lower(memory, victim)
        if lots.is_out(memory, lot) and not watched:
            return False
    arrival["priority"] = lots.OUT if lots.is_out(memory, lot) else -lot.ratio
    row = insert(memory, arrival, slot, birth, watched)
    lots.note_lot(memory, row, lot)
    return True


@inner
def take_in(memory: Memory, arrival: np.void, slot: int, birth: int) -> bool:
    """Insert a tuple if there is room or if another leaves for it; say whether it was."""
    if memory.rule[0]["evict"] == EVICT_BY_LOT:
        return _draw_in(memory, arrival, slot, birth)
    watched = is_chosen(memory, arrival["draw"])
    if not _make_room(memory, arrival, watched):
        return False
    insert(memory, arrival, slot, birth, watched)
    return True


@kernel
def join(
    memory: Memory,
    partial: Partial,
    ranges: Ranges,
    arrivals: Array,
    start: int,
    stop: int,
    results: Results,
) -> int:
    """Take arrivals[start:stop] through the five steps; give the first not yet dealt with.

    Stops early, between two tuples, once there are enough results, or when the next tuple's
    results do not fit: then that tuple is as if it had not come.
    """
    rule = memory.rule[0]
    streams = memory.streams
    prefetched = results.prefetched
    equal = rule["kind"] == EQUAL
    first = start
    for at in range(start, stop):
        if equal and (at - start) % prefetched.size == 0:
            first = at
            prefetch(memory, arrivals, at, min(at + prefetched.size, stop), results)
        arrival = arrivals[at]
        stream = wide(arrival["stream"])
        place = streams[stream]["base"] + arrival["place"]
        advance(memory, stream, arrival["time"])
        if arrival["blank"]:
            if arrival["blank"] == NO_KEY:
                rule["births"] += 1
                memory.queue[place] = NOTHING
            continue
        slot = NOTHING
        before = results.produced[0]
        if equal:
            slot = prefetched[at - first]
            if slot == NOTHING:
                slot = find(memory, arrival["key_word"], wide(0))
            fits = probe_equal(memory, partial, arrival, slot, results)
        else:
            fits = probe_range(memory, ranges, arrival, results)
        if not fits:
            return at
        if rule["evict"] == EVICT_BY_LOT:
            lots.sift(memory, results, before)
        rule["found"] = results.produced[0] - before
        birth = rule["births"]
        rule["births"] = birth + 1
        if rule["evict"] != EVICT_NOBODY and rule["held"] > arrival["limit"]:
            _shrink_to(memory, arrival["limit"])
        if streams[stream]["horizon"] - arrival["time"] > streams[stream]["window"]:
            # No tuple still to come can join it: it has done its part by probing.
            streams[stream]["expired"] += 1
            memory.queue[place] = NOTHING
        elif rule["evict"] == EVICT_NOBODY:
            insert(memory, arrival, slot, birth, NO)
        elif not take_in(memory, arrival, slot, birth):
            streams[stream]["dropped"] += 1
            streams[stream]["ended"] += 1
            memory.queue[place] = NOTHING
        if results.produced[0] >= ENOUGH:
            return at + 1
    return stop


@kernel
def refill(memory: Memory, arrivals: Array, births: Integers) -> None:
    """Put rows back into an empty memory, in the order in which they once came."""
    for at in range(arrivals.size):
        insert(memory, arrivals[at], wide(NOTHING), births[at], NO)

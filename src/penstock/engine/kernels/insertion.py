"""A row is put into memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.engine.kernels.buckets import bucket_of, slot_of, sub_of
from penstock.engine.kernels.index import find_or_create, link
from penstock.engine.kernels.jit import NO, inner, kernel, wide
from penstock.engine.kernels.layout import EQUAL, METERS, NOTHING, Memory
from penstock.engine.kernels.metering import begin_metering
from penstock.engine.kernels.monitoring import monitor
from penstock.engine.retention import dispatch

if TYPE_CHECKING:
    import numpy as np

    from penstock.engine.arrays import Array, Integers


@inner
def _place(memory: Memory, arrival: np.void, slot: int, number: int) -> int:
    """Write a row into a free place, its queue and its chain; return the place."""
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
    rows[row]["likeliness"] = arrival["likeliness"]
    rows[row]["arrival_number"] = number
    rows[row]["stream"] = stream
    rows[row]["place"] = arrival["place"]
    rows[row]["matches"] = 0
    rows[row]["monitored"] = NOTHING
    memory.queue[streams[stream]["base"] + arrival["place"]] = row
    streams[stream]["head"] = min(streams[stream]["head"], arrival["place"])
    if slot == NOTHING:
        if rule["kind"] == EQUAL:
            slot = find_or_create(memory, arrival["key_word"], wide(0))
        else:
            bucket = bucket_of(memory, arrival["value"])
            slot = slot_of(memory, bucket, sub_of(memory, arrival["time"]))
    link(memory, row, slot, stream)
    return row


@inner
def _count(memory: Memory, arrival: np.void, row: int) -> None:
    """Count a row as held."""
    rule = memory.rule[0]
    streams = memory.streams
    stream = wide(arrival["stream"])
    if rule["has_costs"]:
        memory.costs[row] = arrival["cost"]
        streams[stream]["taken"] += arrival["cost"]
        rule["taken"] += arrival["cost"]
        rule["taken_most"] = max(rule["taken_most"], rule["taken"])
    if rule["notes"] & METERS:
        begin_metering(memory, row)
    streams[stream]["held"] += 1
    streams[stream]["inserted"] += 1
    rule["held"] += 1
    streams[stream]["held_most"] = max(streams[stream]["held_most"], streams[stream]["held"])
    if rule["held"] > rule["held_most"]:
        rule["held_most"] = rule["held"]
        for each in range(streams.size):
            streams[each]["held_at_most"] = streams[each]["held"]


@inner
def insert(
    memory: Memory,
    arrival: np.void,
    slot: int,
    number: int,
    monitored: bool,  # noqa: FBT001
    key: float,
) -> int:
    """Put a row into memory, at its place in every structure; return its place.

    `key` is what it is kept in order by: its rating, or what follows from it.
    """
    common = memory.of_any_kind
    row = _place(common, arrival, slot, number)
    dispatch.begin(memory, row, key)
    if monitored:
        monitor(common, row, arrival)
    else:
        dispatch.enter(memory, row, wide(arrival["stream"]), wide(arrival["grade"]))
    _count(common, arrival, row)
    return row


@kernel
def refill(memory: Memory, arrivals: Array, numbers: Integers) -> None:
    """Put rows back into an empty memory, in the order in which they once came."""
    for at in range(arrivals.size):
        arrival = arrivals[at]
        insert(memory, arrival, wide(NOTHING), numbers[at], NO, arrival["rating"])

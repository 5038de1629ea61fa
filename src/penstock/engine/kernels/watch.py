"""Watched rows: a random few that stay for their whole lives, whatever the strategy says.

Each tuple has a draw, and who draws below a threshold is watched. When more are watched than may
be, the threshold falls to the greatest draw among them, and who has it becomes a row like others.
So a row's chance of being watched until now is the least threshold since it came, whatever the
others drew, and 1 / chance is how many tuples it stands for (priority sampling with equal sizes;
the estimates are unbiased, and errors of different rows are uncorrelated).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.engine.kernels import grid, heap, merits, residence
from penstock.engine.kernels.jit import inner, kernel, rare, wide
from penstock.engine.kernels.layout import (
    ADAPTIVE,
    EVICT_BY_LOT,
    EVICT_BY_RESIDENCE,
    EVICT_BY_SCORE,
    EVICT_LOWEST,
    MOST_MATCHES,
    NOTHING,
    WATCHED,
    Memory,
)

if TYPE_CHECKING:
    import numpy as np

    from penstock.engine.kernels.results import Results


@rare
def expose(memory: Memory, at: int, until: float) -> None:
    """Count the time that a watched row has lived since it was last counted."""
    entry = memory.watched[at]
    row = memory.rows[entry["row"]]
    stream = row["stream"]
    span = memory.grids[stream]["span"]
    parts = memory.grids[stream]["parts"]
    if until <= entry["since"]:
        return
    start = max((entry["since"] - row["time"]) / span, 0.0)
    stop = min((until - row["time"]) / span, float(parts))
    entry["since"] = until
    part = int(start)
    while part < stop:
        length = min(stop, part + 1.0) - max(start, float(part))
        memory.exposed[stream, part] += length / entry["chance"]
        part += 1


@rare
def dismiss(memory: Memory, at: int) -> None:
    """Take a row off the list of those that are watched."""
    rule = memory.rule[0]
    watched = memory.watched
    row = watched[at]["row"]
    memory.rows[row]["heap"] = NOTHING
    memory.streams[memory.rows[row]["stream"]]["watched"] -= 1
    last = rule["watched"] - 1
    rule["watched"] = last
    if at != last:
        watched[at] = watched[last]
        memory.rows[watched[at]["row"]]["heap"] = WATCHED - at


@rare
def retire(memory: Memory, at: int) -> None:
    """Take a row that leaves memory off the list, with the last of its life counted."""
    stream = memory.rows[memory.watched[at]["row"]]["stream"]
    expose(memory, at, max(memory.streams[stream]["horizon"], memory.watched[at]["since"]))
    dismiss(memory, at)


@rare
def release(memory: Memory, at: int, grade: int) -> None:
    """Make a watched row one like others, which may be evicted."""
    rule = memory.rule[0]
    row = memory.watched[at]["row"]
    stream = wide(memory.rows[row]["stream"])
    streams = memory.streams
    others = streams[stream]["held"] - streams[stream]["watched"]
    retire(memory, at)
    streams[stream]["first"] = min(streams[stream]["first"], memory.rows[row]["place"])
    if rule["evict"] == EVICT_LOWEST or rule["evict"] == EVICT_BY_LOT:
        heap.push(memory, stream, row, others)
    elif rule["evict"] == EVICT_BY_SCORE:
        grid.enter(memory, row, stream, grade)
    elif rule["evict"] == EVICT_BY_RESIDENCE:
        residence.enter(memory, row, stream)


@rare
def _lower(memory: Memory, threshold: float) -> None:
    """Let the threshold fall: release who draws no less, and note the others' chances."""
    rule = memory.rule[0]
    watched = memory.watched
    rule["threshold"] = threshold
    for at in range(rule["watched"] - 1, -1, -1):
        if watched[at]["draw"] >= threshold:
            # Its grade as a newcomer's of the middle: it is graded again when rows are.
            release(memory, at, memory.grids[0]["cells"] // memory.grids[0]["ages"] // 2)
        else:
            watched[at]["chance"] = min(watched[at]["chance"], threshold)


@inner
def is_chosen(memory: Memory, draw: float) -> bool:
    """Say whether a newcomer is to be watched; make room for it among the watched."""
    rule = memory.rule[0]
    if draw >= rule["threshold"] or rule["quota"] == 0:
        return False
    return rule["watched"] < rule["quota"] or _is_below_others(memory, draw)


@rare
def _is_below_others(memory: Memory, draw: float) -> bool:
    """Lower the threshold until there is room; say whether the newcomer still draws below it."""
    rule = memory.rule[0]
    while rule["watched"] >= rule["quota"]:
        greatest = draw
        for at in range(rule["watched"]):
            greatest = max(greatest, memory.watched[at]["draw"])
        _lower(memory, greatest)
        if draw >= greatest:
            return False
    return True


@kernel
def keep_to_quota(memory: Memory) -> None:
    """Release rows until no more are watched than may be, where the quota itself has fallen."""
    rule = memory.rule[0]
    while rule["watched"] > rule["quota"]:
        greatest = 0.0
        for at in range(rule["watched"]):
            greatest = max(greatest, memory.watched[at]["draw"])
        _lower(memory, greatest)


@rare
def watch(memory: Memory, row: int, draw: float) -> None:
    """Put a row that has just been inserted on the list of those that are watched."""
    rule = memory.rule[0]
    at = rule["watched"]
    rule["watched"] = at + 1
    entry = memory.watched[at]
    entry["row"] = row
    entry["draw"] = draw
    entry["chance"] = rule["threshold"]
    entry["since"] = memory.rows[row]["time"]
    entry["matches"] = 0
    entry["counted"] = 0
    entry["likeliness"] = memory.rows[row]["priority"]
    entry["cover"] = 0.0
    entry["batch_cover"] = 0.0
    memory.rows[row]["heap"] = WATCHED - at
    memory.streams[memory.rows[row]["stream"]]["watched"] += 1


@inner
def note(memory: Memory, arrival: np.void, results: Results, start: int, stop: int) -> None:
    """Note results with the rows that waited for them, and what the watched ones tell."""
    rows = memory.rows
    members = results.members
    weighs = memory.rule[0]["weighs"] != 0
    by_residence = memory.rule[0]["evict"] == EVICT_BY_RESIDENCE
    adaptive = by_residence and memory.residences[0]["scheme"] == ADAPTIVE
    for at in range(start, stop):
        if weighs:
            results.weights[at] = 0.0
        if adaptive:
            merits.note_quality(memory, arrival["priority"], results, at)
        for one in range(members.shape[1]):
            row = wide(members[at, one])
            if by_residence:
                residence.note_match(memory, row)
            if rows[row]["matches"] < MOST_MATCHES:
                rows[row]["matches"] += 1
            if rows[row]["heap"] <= WATCHED:
                _note_watched(memory, arrival["time"], row)
                if weighs:
                    results.weights[at] = (
                        1.0 / memory.watched[WATCHED - rows[row]["heap"]]["chance"]
                    )
                    results.clusters[at] = rows[row]["birth"]


@inner
def add_to_gauge(memory: Memory, stream: int, entry: np.void, weight: float) -> None:
    """Add a result of a row to the estimate of all results of its stream, and to its variance.

    `entry` is what is kept of the row's results so far; `weight` is 1 / its chance.
    """
    gauge = memory.gauges[stream]
    gauge["total"] += weight
    gauge["batch_total"] += weight
    # Var(sum of I_t / p_t) = sum of (1/p_t - 1) + 2 sum over s < t of (1/p_s - 1), as a row that is
    # there at t was at s; each term is estimated by itself times 1 / p_t.
    gauge["variance"] += weight * (weight - 1.0 + 2.0 * entry["cover"])
    gauge["batch_variance"] += weight * (weight - 1.0 + 2.0 * entry["batch_cover"])
    entry["cover"] += weight - 1.0
    entry["batch_cover"] += weight - 1.0


@rare
def _note_watched(memory: Memory, time: float, row: int) -> None:
    """Note a result of a watched row."""
    stream = wide(memory.rows[row]["stream"])
    record = memory.grids[stream]
    entry = memory.watched[WATCHED - memory.rows[row]["heap"]]
    weight = 1.0 / entry["chance"]
    entry["matches"] += 1
    part = int(max((time - memory.rows[row]["time"]) / record["span"], 0.0))
    memory.matched[stream, min(part, record["parts"] - 1)] += weight
    if memory.streams.size > 2:
        return  # one of many that waited: whether the others had stayed, nobody knows
    add_to_gauge(memory, stream, entry, weight)


@kernel
def begin_batch(memory: Memory) -> None:
    """Forget what the batch before has shown."""
    for at in range(memory.rule[0]["watched"]):
        memory.watched[at]["batch_cover"] = 0.0
    for stream in range(memory.gauges.size):
        memory.gauges[stream]["batch_total"] = 0.0
        memory.gauges[stream]["batch_variance"] = 0.0


@kernel
def expose_all(memory: Memory, stream: int, until: float) -> None:
    """Count the time that all watched rows of a stream have lived."""
    for at in range(memory.rule[0]["watched"]):
        if memory.rows[memory.watched[at]["row"]]["stream"] == stream:
            expose(memory, at, until)


@kernel
def watch_again(memory: Memory, at: int, row: int) -> None:
    """Have a row that was put back into memory be the one of an entry that was put back."""
    rule = memory.rule[0]
    stream = wide(memory.rows[row]["stream"])
    streams = memory.streams
    if rule["evict"] == EVICT_LOWEST or rule["evict"] == EVICT_BY_LOT:
        heap.remove(memory, stream, row, streams[stream]["held"] - streams[stream]["watched"])
    elif rule["evict"] == EVICT_BY_SCORE:
        grid.leave(memory, row, stream)
    elif rule["evict"] == EVICT_BY_RESIDENCE:
        residence.leave(memory, row, stream)
    memory.watched[at]["row"] = row
    memory.rows[row]["heap"] = WATCHED - at
    streams[stream]["watched"] += 1
    rule["watched"] = max(rule["watched"], at + 1)

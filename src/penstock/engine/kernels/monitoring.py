"""Monitored rows: a random few that stay for their whole lives, whatever the strategy says.

Each row has a draw, and rows that draw below a threshold are monitored. When more are monitored
than may be, the threshold falls to the greatest draw among them, and the row that has it becomes a
row like others. So a row's chance of being monitored until now is the least threshold since it
came, whatever the others drew, and 1 / chance is how many rows it stands for (priority sampling
with equal sizes; the estimates are unbiased, and errors of different rows are uncorrelated).

Where a decision sheds arrivals by lot, a result was found with the chance that its row was
inserted times the chance that the arrival probed: it stands for 1 / that many more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.engine.kernels.jit import inner, kernel, rare, wide
from penstock.engine.kernels.layout import (
    BY_COUNT,
    FITS,
    LAGS,
    METERS,
    MOST_MATCHES,
    NOTES,
    NOTHING,
    Memory,
)
from penstock.engine.kernels.metering import add_found, meter
from penstock.engine.kernels.sub_windows import chance_to_reach, note_lags
from penstock.engine.retention import dispatch

if TYPE_CHECKING:
    import numpy as np

    from penstock.engine.kernels.results import Results


@rare
def expose(memory: Memory, at: int, until: float) -> None:
    """Count the time that a monitored row has lived since it was last counted."""
    entry = memory.monitored[at]
    row = memory.rows[entry["row"]]
    stream = row["stream"]
    span = memory.lives[stream]["span"]
    parts = memory.lives[stream]["parts"]
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
    """Take a row off the list of those that are monitored."""
    rule = memory.rule[0]
    monitored = memory.monitored
    row = monitored[at]["row"]
    memory.rows[row]["monitored"] = NOTHING
    memory.streams[memory.rows[row]["stream"]]["monitored"] -= 1
    last = rule["monitored"] - 1
    rule["monitored"] = last
    if at != last:
        monitored[at] = monitored[last]
        memory.rows[monitored[at]["row"]]["monitored"] = at


@rare
def retire(memory: Memory, at: int) -> None:
    """Take a row that leaves memory off the list, with the last of its life counted."""
    stream = memory.rows[memory.monitored[at]["row"]]["stream"]
    expose(memory, at, max(memory.streams[stream]["horizon"], memory.monitored[at]["since"]))
    dismiss(memory, at)


@rare
def release(memory: Memory, at: int, grade: int) -> None:
    """Make a monitored row one like others, which may be evicted."""
    row = memory.monitored[at]["row"]
    retire(memory.of_any_kind, at)
    dispatch.enter(memory, row, wide(memory.rows[row]["stream"]), grade)


@rare
def _lower(memory: Memory, threshold: float) -> None:
    """Let the threshold fall: release rows that draw no less, and note the others' chances."""
    rule = memory.rule[0]
    monitored = memory.monitored
    rule["threshold"] = threshold
    for at in range(rule["monitored"] - 1, -1, -1):
        if monitored[at]["draw"] >= threshold:
            release(memory, at, wide(dispatch.average_grade(memory)))  # until rows are graded again
        else:
            monitored[at]["chance"] = min(monitored[at]["chance"], threshold)


@inner
def is_chosen(memory: Memory, draw: float) -> bool:
    """Return whether an arrival is to be monitored; make room for it among the monitored rows."""
    rule = memory.rule[0]
    if draw >= rule["threshold"] or rule["quota"] == 0:
        return False
    return rule["monitored"] < rule["quota"] or _is_below_others(memory, draw)


@rare
def _is_below_others(memory: Memory, draw: float) -> bool:
    """Lower the threshold until there is room; return whether the arrival still draws below it."""
    rule = memory.rule[0]
    while rule["monitored"] >= rule["quota"]:
        greatest = draw
        for at in range(rule["monitored"]):
            greatest = max(greatest, memory.monitored[at]["draw"])
        _lower(memory, greatest)
        if draw >= greatest:
            return False
    return True


@kernel
def keep_to_quota(memory: Memory) -> None:
    """Release rows until no more are monitored than may be: the quota itself has fallen."""
    rule = memory.rule[0]
    while rule["monitored"] > rule["quota"]:
        greatest = 0.0
        for at in range(rule["monitored"]):
            greatest = max(greatest, memory.monitored[at]["draw"])
        _lower(memory, greatest)


@rare
def monitor(memory: Memory, row: int, arrival: np.void) -> None:
    """Put a row that has just been inserted on the list of those that are monitored."""
    rule = memory.rule[0]
    at = rule["monitored"]
    rule["monitored"] = at + 1
    entry = memory.monitored[at]
    entry["row"] = row
    entry["draw"] = arrival["draw"]
    entry["chance"] = rule["threshold"]
    entry["insert_weight"] = rule["insert_weight"]
    entry["since"] = memory.rows[row]["time"]
    entry["matches"] = 0
    entry["counted"] = 0
    entry["likeliness"] = memory.rows[row]["likeliness"]
    # One draw admits it with what it has found and with what will be found in it.
    own = (1.0 - rule["admit_chance"]) * rule["stands_for"]
    entry["cover"] = own
    entry["batch_cover"] = own
    entry["part"] = 0.0
    entry["batch_part"] = 0.0
    memory.rows[row]["monitored"] = at
    memory.streams[memory.rows[row]["stream"]]["monitored"] += 1


@inner
def note(memory: Memory, arrival: np.void, results: Results, start: int, stop: int) -> None:
    """Note results with the rows that waited for them, and what the monitored ones show."""
    common = memory.of_any_kind
    notes = memory.rule[0]["notes"]
    if notes & METERS and start < stop:
        if not notes & BY_COUNT:
            meter(common, arrival, results, start, stop)
        elif notes & FITS:
            add_found(common, results, start, stop)
    if notes & LAGS:
        note_lags(common, arrival, results, start, stop)
    if not notes & NOTES:
        return
    rows = memory.rows
    members = results.members
    weighs = memory.rule[0]["weighs"] != 0
    own = squares = 0.0
    outside = outside_squares = 0.0
    for at in range(start, stop):
        if weighs:
            results.stands_for[at] = 0.0
        dispatch.emitted(memory, arrival, results, at)
        for one in range(members.shape[1]):
            row = wide(members[at, one])
            dispatch.matched(memory, row)
            if rows[row]["matches"] < MOST_MATCHES:
                rows[row]["matches"] += 1
            if rows[row]["monitored"] != NOTHING:
                weight = _note_monitored(common, arrival, row)
                own += weight
                squares += weight * weight
                if chance_to_reach(common, arrival, row) < 1.0:
                    outside += weight
                    outside_squares += weight * weight
                if weighs:
                    results.stands_for[at] = weight
                    results.witnesses[at] = rows[row]["arrival_number"]
    if own > 0.0 and memory.rule[0]["sheds"] != 0 and memory.streams.size == 2:
        shared = own * own - squares
        _note_arrival(common, arrival, own, shared, outside * outside - outside_squares)


@rare
def _note_arrival(
    memory: Memory, arrival: np.void, own: float, pairs: float, outside: float
) -> None:
    """Note what an arrival's results stand for, whose monitored rows waited: one draw for all.

    `pairs` is what pairs of them stand for, and `outside` what those do that are both outside of
    the parts of windows that are probed anyway. What each result varies by itself is noted already.
    """
    rule = memory.rule[0]
    rule["stands_for"] = own
    shared = (1.0 - rule["probe_chance"]) * pairs
    shared += rule["probe_chance"] * (1.0 - rule["whole_chance"]) * outside
    gauge = memory.gauges[wide(arrival["stream"])]
    gauge["variance"] += shared
    gauge["batch_variance"] += shared
    gauge["fourth"] += shared * shared
    gauge["batch_fourth"] += shared * shared


@inner
def add_to_gauge(
    memory: Memory, stream: int, entry: np.void, weight: float, row_weight: float
) -> None:
    """Add a result of a row to the estimate of all results of its stream, and to its variance.

    `entry` is what is kept of the row's results so far; `weight` is 1 / the result's chance, and
    `row_weight` is 1 / its row's.
    """
    gauge = memory.gauges[stream]
    gauge["total"] += weight
    gauge["batch_total"] += weight
    # Var(sum of I_t / p_t) = sum of (1/p_t - 1) + 2 sum over s < t of (1/p_s - 1), as a row that is
    # there at t was at s; each term is estimated by itself times 1 / the chance of both results.
    gauge["variance"] += weight * (weight - 1.0 + 2.0 * entry["cover"])
    gauge["batch_variance"] += weight * (weight - 1.0 + 2.0 * entry["batch_cover"])
    covered = weight * (1.0 - 1.0 / row_weight)
    entry["cover"] += covered
    entry["batch_cover"] += covered


@inner
def _note_part(memory: Memory, stream: int, entry: np.void, weight: float) -> None:
    """Note what a result of a monitored row adds to the row's part of the variance.

    The squares of the parts say on how many rows the variance rests (`statistics.recall`).
    """
    gauge = memory.gauges[stream]
    before, batch_before = entry["part"], entry["batch_part"]
    after = before + weight * (weight - 1.0 + 2.0 * entry["cover"])
    batch_after = batch_before + weight * (weight - 1.0 + 2.0 * entry["batch_cover"])
    entry["part"] = after
    entry["batch_part"] = batch_after
    gauge["fourth"] += after * after - before * before
    gauge["batch_fourth"] += batch_after * batch_after - batch_before * batch_before


@rare
def _note_monitored(memory: Memory, arrival: np.void, row: int) -> float:
    """Note a result of a monitored row; return for how many it stands."""
    stream = wide(memory.rows[row]["stream"])
    record = memory.lives[stream]
    entry = memory.monitored[memory.rows[row]["monitored"]]
    probe_weight = memory.rule[0]["probe_weight"] / chance_to_reach(memory, arrival, row)
    row_weight = entry["insert_weight"] / entry["chance"]
    entry["matches"] += 1
    part = int(max((arrival["time"] - memory.rows[row]["time"]) / record["span"], 0.0))
    part = min(part, record["parts"] - 1)
    memory.matched[stream, part] += probe_weight / entry["chance"]
    # Of more streams it is one of many that waited: whether the others had stayed is not known.
    if memory.streams.size == 2:
        _note_part(memory, stream, entry, row_weight * probe_weight)
        add_to_gauge(memory, stream, entry, row_weight * probe_weight, row_weight)
    return row_weight * probe_weight


@kernel
def begin_batch(memory: Memory) -> None:
    """Forget what the batch before has shown."""
    for at in range(memory.rule[0]["monitored"]):
        memory.monitored[at]["batch_cover"] = 0.0
        memory.monitored[at]["batch_part"] = 0.0
    for stream in range(memory.gauges.size):
        memory.gauges[stream]["batch_total"] = 0.0
        memory.gauges[stream]["batch_variance"] = 0.0
        memory.gauges[stream]["batch_fourth"] = 0.0


@kernel
def expose_all(memory: Memory, stream: int, until: float) -> None:
    """Count the time that all monitored rows of a stream have lived."""
    for at in range(memory.rule[0]["monitored"]):
        if memory.rows[memory.monitored[at]["row"]]["stream"] == stream:
            expose(memory, at, until)


@kernel
def monitor_again(memory: Memory, at: int, row: int) -> None:
    """Have a row that was put back into memory be the one of an entry that was put back."""
    rule = memory.rule[0]
    stream = wide(memory.rows[row]["stream"])
    dispatch.leave(memory, row, stream)
    memory.monitored[at]["row"] = row
    memory.rows[row]["monitored"] = at
    memory.streams[stream]["monitored"] += 1
    rule["monitored"] = max(rule["monitored"], at + 1)

"""Probe and emit for `Within`, `Band` and `Compare`: chains of value buckets and time slices.

Rows are indexed by (value bucket, time slice). A partial result has the ranges of times and of
values that its next member may have, and only the chains in those ranges are read. `Compare` has
one bucket: nearly every pair is a result there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from penstock.engine.kernels.buckets import bucket_of, slot_of, sub_of
from penstock.engine.kernels.jit import inner, wide
from penstock.engine.kernels.layout import (
    COMPARE,
    GREATER_OR_EQUAL,
    HEAD,
    LESS,
    LESS_OR_EQUAL,
    NOTHING,
    UNEQUAL,
    WITHIN,
    Memory,
)
from penstock.engine.kernels.monitoring import note
from penstock.engine.kernels.probe_equal import count_pairs, still_in_windows
from penstock.engine.kernels.sub_windows import is_probed, is_reached, probes_parts

if TYPE_CHECKING:
    from penstock.engine.arrays import Array, DType, Integers
    from penstock.engine.kernels.results import Results


class Ranges(NamedTuple):
    """A partial result: its members and ranges at each depth (depth d has d + 1 members)."""

    in_parts: Integers  # one element: whether the arriving row probes parts of windows
    row: Integers  # the next candidate
    bucket: Integers  # the chain it is in, and the last one to read
    last_bucket: Integers
    sub: Integers
    first_sub: Integers
    last_sub: Integers
    newest: Array  # greatest time of the members so far
    until: Array  # greatest time that a further member may have, up to rounding
    time: Array  # by stream: the member's time
    least: Array  # least and greatest value of the members so far
    greatest: Array
    value: Array  # by place in the predicate's chain of streams
    bound: Integers  # by place in the chain: the depth at which it is bound
    ref: Integers  # by stream
    held: Integers  # by depth: the row that is bound
    faced: Integers  # by depth: rows that were there to be compared, and those that fitted
    found: Integers


def make_ranges(streams: int, time: DType, value: DType) -> Ranges:
    """Allocate the space for a join of so many streams."""
    return Ranges(
        np.zeros(1, np.int64),
        *(np.zeros(streams, np.int64) for _ in range(6)),
        *(np.zeros(streams, time) for _ in range(3)),
        *(np.zeros(streams, value) for _ in range(3)),
        *(np.zeros(streams, np.int64) for _ in range(5)),
    )


@inner
def _plus(memory: Memory, value: float, change: float) -> float:
    """Add, limited to the least and greatest value of the type."""
    rule = memory.rule[0]
    # Compared before adding: an overflow of signed whole numbers is undefined.
    if change > 0 and value > rule["top"] - change:
        return rule["top"]
    if change < 0 and value < rule["bottom"] - change:
        return rule["bottom"]
    return value + change


@inner
def _value_range(memory: Memory, ranges: Ranges, depth: int, chain: int) -> tuple[float, float]:
    """Return the range of the values that the chain's next member may have, a little too wide."""
    rule = memory.rule[0]
    low = rule["low"]
    high = rule["high"]
    slack = rule["slack"]
    if rule["kind"] == WITHIN:
        # All pairwise within `high`: at least greatest - high, at most least + high.
        greatest = ranges.greatest[depth]
        least = ranges.least[depth]
        return (
            _plus(memory, greatest, -high) - slack * abs(greatest) - slack * high,
            _plus(memory, least, high) + slack * abs(least) + slack * high,
        )
    # Band: low <= y - x <= high between neighbours, so k low <= y - x <= k high at distance k.
    first = rule["bottom"]
    final = rule["top"]
    for place in range(ranges.bound.size):
        if ranges.bound[place] > depth:
            continue
        steps = chain - place
        value = ranges.value[place]
        near = far = value
        for _ in range(abs(steps)):
            near = _plus(memory, near, low if steps > 0 else -high)
            far = _plus(memory, far, high if steps > 0 else -low)
        # Term by term: the sum of two large floats could be infinite.
        margin = slack * abs(value) + abs(steps) * (slack * abs(low) + slack * abs(high))
        first = max(first, near - margin)
        final = min(final, far + margin)
    return first, final


@inner
def _is_above(memory: Memory, x: float, change: float, y: float) -> bool:
    """Return whether y - x > change: for floats by their difference, for whole numbers exactly."""
    rule = memory.rule[0]
    if rule["last_bucket"] > 0:
        return y - x > change
    if change > 0 and x > rule["top"] - change:
        return False
    if change < 0 and x < rule["bottom"] - change:
        return True
    return y > x + change


@inner
def _is_at_least(memory: Memory, x: float, change: float, y: float) -> bool:
    """Return whether y - x >= change: for floats by difference, for whole numbers exactly."""
    rule = memory.rule[0]
    if rule["last_bucket"] > 0:
        return y - x >= change
    if change > 0 and x > rule["top"] - change:
        return False
    if change < 0 and x < rule["bottom"] - change:
        return True
    return y >= x + change


@inner
def _holds(memory: Memory, x: float, y: float) -> bool:
    """Return whether the condition holds between a chain's neighbours x and y."""
    rule = memory.rule[0]
    if rule["kind"] != COMPARE:
        return _is_at_least(memory, x, rule["low"], y) and not _is_above(memory, x, rule["high"], y)
    operator = rule["operator"]
    if operator == LESS:
        return x < y
    if operator == LESS_OR_EQUAL:
        return x <= y
    if operator == UNEQUAL:
        return x != y
    if operator == GREATER_OR_EQUAL:
        return x >= y
    return x > y


@inner
def _fits(memory: Memory, ranges: Ranges, depth: int, chain: int, value: float) -> bool:
    """Return whether a candidate's value meets the condition with the members so far."""
    if memory.rule[0]["kind"] == WITHIN:
        least = min(ranges.least[depth], value)
        return not _is_above(
            memory, least, memory.rule[0]["high"], max(ranges.greatest[depth], value)
        )
    before = chain > 0 and ranges.bound[chain - 1] <= depth
    if before and not _holds(memory, ranges.value[chain - 1], value):
        return False
    if chain + 1 < ranges.bound.size and ranges.bound[chain + 1] <= depth:
        return _holds(memory, value, ranges.value[chain + 1])
    return True


@inner
def _head(memory: Memory, ranges: Ranges, stream: int, depth: int, other: int) -> int:
    """Return the first row of the chain that a depth is at; NOTHING if it is not probed."""
    if ranges.in_parts[0] != 0 and memory.span[0] != 0:
        youngest = ranges.time[stream] - (ranges.sub[depth] + 1) * memory.span[0]
        if not is_reached(memory, stream, other, youngest, youngest + memory.span[0]):
            return wide(NOTHING)
    return memory.slots[slot_of(memory, ranges.bucket[depth], ranges.sub[depth]), HEAD + other]


@inner
def _open(memory: Memory, ranges: Ranges, stream: int, depth: int, other: int) -> None:
    """Go to the first chain of a window that the next member can be in."""
    streams = memory.streams
    if memory.rule[0]["kind"] == COMPARE:
        ranges.bucket[depth] = 0
        ranges.last_bucket[depth] = 0
    else:
        first, final = _value_range(memory, ranges, depth, streams[other]["chain"])
        ranges.bucket[depth] = bucket_of(memory, first)
        ranges.last_bucket[depth] = bucket_of(memory, final)
    oldest = ranges.newest[depth] - streams[other]["window"]
    newest = ranges.newest[depth]
    until = ranges.until[depth]
    # Rounding errors of these bounds, relative and absolute: 0 for whole numbers.
    slack = memory.span[1]
    margin = memory.span[2]
    ranges.first_sub[depth] = sub_of(memory, oldest - slack * abs(newest) - margin)
    ranges.last_sub[depth] = sub_of(memory, until + slack * abs(until) + margin)
    ranges.sub[depth] = ranges.first_sub[depth]
    ranges.row[depth] = NOTHING
    if ranges.bucket[depth] <= ranges.last_bucket[depth]:
        ranges.row[depth] = _head(memory, ranges, stream, depth, other)


@inner
def _advance(memory: Memory, ranges: Ranges, stream: int, depth: int, other: int) -> bool:
    """Go to the next chain that has rows; return whether there is one."""
    while ranges.row[depth] == NOTHING:
        if ranges.sub[depth] < ranges.last_sub[depth]:
            ranges.sub[depth] += 1
        elif ranges.bucket[depth] < ranges.last_bucket[depth]:
            ranges.bucket[depth] += 1
            ranges.sub[depth] = ranges.first_sub[depth]
        else:
            return False
        ranges.row[depth] = _head(memory, ranges, stream, depth, other)
    return True


@inner
def _bind(memory: Memory, ranges: Ranges, stream: int) -> None:
    """Record the depth at which each place of the predicate's chain becomes bound."""
    streams = memory.streams
    ranges.bound[streams[stream]["chain"]] = 0
    for step in range(memory.order.shape[1]):
        ranges.bound[streams[memory.order[stream, step]]["chain"]] = step + 1


@inner
def probe_range(
    memory: Memory,
    ranges: Ranges,
    arrival: np.void,
    slot: int,
    results: Results,
) -> bool:
    """Append all results of one arriving row; if they do not fit, append none and return False."""
    rows = memory.rows
    streams = memory.streams
    stream = wide(arrival["stream"])
    order = memory.order
    last = order.shape[1] - 1
    compared = 0
    count = results.produced[0]
    notes = memory.rule[0]["notes"] != 0
    in_parts = probes_parts(arrival)
    ranges.in_parts[0] = 1 if in_parts else 0
    for step in range(last + 1):
        other = order[stream, step]
        if streams[other]["held"] == 0:
            return True
        # Counted apart until all results have found room: a row that is given back leaves no trace.
        ranges.faced[step] = 0
        ranges.found[step] = 0
    _bind(memory, ranges, stream)
    ranges.ref[stream] = arrival["ref"]
    ranges.value[streams[stream]["chain"]] = arrival["value"]
    ranges.least[0] = arrival["value"]
    ranges.greatest[0] = arrival["value"]
    ranges.newest[0] = arrival["time"]
    ranges.time[stream] = arrival["time"]
    ranges.until[0] = arrival["time"] + streams[stream]["window"]
    depth = wide(0)
    _open(memory, ranges, stream, depth, order[stream, 0])
    ranges.faced[0] = streams[order[stream, 0]]["held"]
    while depth >= 0:
        other = order[stream, depth]
        if not _advance(memory, ranges, stream, depth, other):
            depth -= 1
            continue
        row = ranges.row[depth]
        ranges.row[depth] = rows[row]["next"]
        compared += 1
        time = rows[row]["time"]
        newest = ranges.newest[depth]
        if time <= newest:
            if newest - time > streams[other]["window"]:
                continue
        elif not still_in_windows(memory, ranges.time, stream, depth, time):
            continue
        if in_parts and not is_probed(memory, stream, other, arrival["time"] - time):
            continue
        value = rows[row]["value"]
        chain = streams[other]["chain"]
        if not _fits(memory, ranges, depth, chain, value):
            continue
        if bucket_of(memory, value) != ranges.bucket[depth]:
            continue  # of another bucket in the same chain, which may be read in its own turn
        ranges.found[depth] += 1
        ranges.ref[other] = rows[row]["ref"]
        ranges.held[depth] = row
        ranges.time[other] = time
        newest = max(newest, time)
        if depth == last:
            if count == results.times.size:
                return False
            results.times[count] = newest
            for s in range(results.refs.shape[1]):
                results.refs[count, s] = ranges.ref[s]
            if notes:
                for d in range(last + 1):
                    results.members[count, d] = ranges.held[d]
            count += 1
        else:
            depth += 1
            ranges.newest[depth] = newest
            ranges.until[depth] = min(ranges.until[depth - 1], time + streams[other]["window"])
            ranges.value[chain] = value
            ranges.least[depth] = min(ranges.least[depth - 1], value)
            ranges.greatest[depth] = max(ranges.greatest[depth - 1], value)
            _open(memory, ranges, stream, depth, order[stream, depth])
            ranges.faced[depth] += streams[order[stream, depth]]["held"]
    count_pairs(memory, arrival, ranges.faced, ranges.found)
    if notes:
        note(memory, arrival, results, results.produced[0], count)
    rule = memory.rule[0]
    rule["compared"] += compared
    rule["produced"] += count - results.produced[0]
    results.produced[0] = count
    return True

"""A random sample of the results, within the memory that there is.

Each row has drawn a ratio: a random number in [0, 1), divided by its size. It is in the sample as
long as its ratio is below the sampling fraction, so its chance is its size times the least fraction
since it came, at most 1. When memory is full the fraction falls to the greatest ratio there is, and
who has it leaves (priority sampling); that is why a result's weight is always 1 / its chance, how
often and however far the fraction has had to fall.

Where matches are chosen (UNIFORM) it is the same with each match: a row has skipped to its next
match whose draw is below the fraction, and has the draw of that one. When the fraction falls to it
the row skips on, and leaves if the match that it comes to is beyond those that it can expect.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from penstock.engine.kernels import heap
from penstock.engine.kernels.jit import inner, kernel, rare, wide
from penstock.engine.kernels.key_hash import combine_hash
from penstock.engine.kernels.layout import NO_MATCH, NOTHING, WATCHED, Memory
from penstock.engine.kernels.removal import evict
from penstock.engine.kernels.watch import add_to_gauge

if TYPE_CHECKING:
    from penstock.engine.kernels.results import Results

# The priority of a row that is held but not in the sample: the first to go.
OUT: Final = -np.inf
_UNIT: Final = 2.0**-53
_SHIFT: Final = np.uint64(11)
_LARGE: Final = 2.0**53


class Lot(NamedTuple):
    """What a newcomer has drawn."""

    ratio: float
    size: float
    expected: float
    key: np.int64
    next: np.int64
    limit: np.int64


@inner
def _skip(key: np.int64, fraction: float) -> tuple[np.int64, float, np.int64]:
    """Draw how far it is to the next match whose draw is below the fraction, and that draw.

    X ~ G(p), by inversion; the key follows from the one before.
    """
    key = combine_hash(key, np.int64(1))
    first = np.float64(np.uint64(key) >> _SHIFT) * _UNIT
    key = combine_hash(key, np.int64(2))
    second = np.float64(np.uint64(key) >> _SHIFT) * _UNIT
    steps = 1.0
    if fraction < 1.0:
        steps = min(1.0 + np.floor(np.log1p(-first) / np.log1p(-fraction)), float(NO_MATCH))
    return np.int64(steps), second * min(fraction, 1.0), key


@inner
def draw(memory: Memory, arrival: np.void) -> Lot:
    """Draw for a newcomer; `is_out` says whether it is in the sample."""
    rule = memory.rule[0]
    expected = arrival["priority"]
    if rule["by_match"]:
        limit = np.int64(min(expected, float(NO_MATCH - 1)))
        key = np.int64(arrival["draw"] * _LARGE)
        steps, ratio, key = _skip(key, rule["fraction"])
        return Lot(ratio, 1.0, expected, key, steps, limit)
    size = expected if rule["by_size"] else 1.0
    ratio = arrival["draw"] / size
    taken = np.int64(0) if ratio < rule["fraction"] else np.int64(NO_MATCH)
    return Lot(ratio, size, expected, np.int64(0), taken, np.int64(0))


@inner
def is_out(memory: Memory, lot: Lot) -> bool:
    """Say whether a newcomer is not to be in the sample.

    While all matches are wanted nobody leaves, however many it has had: memory suffices.
    """
    rule = memory.rule[0]
    if rule["by_match"] and rule["fraction"] >= 1.0:
        return False
    return bool(lot.next > lot.limit)


@inner
def draw_again(memory: Memory, lot: Lot) -> Lot:
    """Let the fraction fall to a newcomer's ratio, and see whether it is still wanted."""
    rule = memory.rule[0]
    rule["forced"] += 1
    rule["fraction"] = min(rule["fraction"], lot.ratio)
    if not rule["by_match"]:
        return Lot(lot.ratio, lot.size, lot.expected, lot.key, np.int64(NO_MATCH), lot.limit)
    steps, ratio, key = _skip(lot.key, rule["fraction"])
    further = np.int64(min(lot.next + steps, np.int64(NO_MATCH)))
    return Lot(ratio, lot.size, lot.expected, key, further, lot.limit)


@inner
def note_lot(memory: Memory, row: int, lot: Lot) -> None:
    """Note what a row that was taken in has drawn."""
    odds = memory.odds[row]
    odds["size"] = lot.size
    odds["least"] = memory.rule[0]["fraction"]
    odds["expected"] = lot.expected
    odds["key"] = lot.key
    odds["cover"] = 0.0
    odds["batch_cover"] = 0.0
    odds["batch"] = 0
    odds["seen"] = 0
    odds["next"] = NO_MATCH if is_out(memory, lot) else lot.next
    odds["limit"] = lot.limit


@inner
def first_to_go(memory: Memory) -> int:
    """Give the row with the greatest ratio, of all streams, or NOTHING."""
    streams = memory.streams
    first = NOTHING
    for stream in range(streams.size):
        if streams[stream]["held"] == streams[stream]["watched"]:
            continue
        row = wide(memory.heaps[stream, 0])
        if first == NOTHING or memory.rows[row]["priority"] < memory.rows[first]["priority"]:
            first = row
    return first


@rare
def lower(memory: Memory, row: int) -> None:
    """Let the fraction fall to the greatest ratio; who has it leaves, or skips to a later match."""
    rule = memory.rule[0]
    ratio = -memory.rows[row]["priority"]
    if ratio < rule["fraction"]:
        rule["forced"] += 1
        rule["fraction"] = ratio
    if not rule["by_match"]:
        evict(memory, row)
        return
    _skip_on(memory, row)


@inner
def _skip_on(memory: Memory, row: int) -> None:
    """Go on to the next match that is chosen; a row that has none to expect leaves."""
    rule = memory.rule[0]
    odds = memory.odds[row]
    if odds["next"] == NO_MATCH:
        evict(memory, row)
        return
    steps, ratio, key = _skip(odds["key"], rule["fraction"])
    further = min(odds["next"] + steps, np.int64(NO_MATCH))
    odds["key"] = key
    odds["next"] = further
    odds["least"] = rule["fraction"]
    is_watched = memory.rows[row]["heap"] <= WATCHED
    if further > odds["limit"] and rule["fraction"] < 1.0:
        odds["next"] = NO_MATCH
        if is_watched:
            memory.rows[row]["priority"] = OUT
        else:
            evict(memory, row)
        return
    if is_watched:
        memory.rows[row]["priority"] = -ratio
        return
    stream = wide(memory.rows[row]["stream"])
    others = memory.streams[stream]["held"] - memory.streams[stream]["watched"]
    heap.remove(memory, stream, row, others)
    memory.rows[row]["priority"] = -ratio
    heap.push(memory, stream, row, others - 1)


@inner
def _chance_of_match(memory: Memory, row: int) -> float:
    """Count a match; give the chance with which it was chosen, 0 if it was not."""
    odds = memory.odds[row]
    if odds["seen"] < NO_MATCH - 1:
        odds["seen"] += 1
    if odds["seen"] != odds["next"]:
        return 0.0
    fraction = min(odds["least"], memory.rule[0]["fraction"])
    # A watched row that has drawn too much since the fraction fell.
    is_in = -memory.rows[row]["priority"] < fraction
    _skip_on(memory, row)
    return min(fraction, 1.0) if is_in else 0.0


@inner
def sift(memory: Memory, results: Results, start: int) -> None:
    """Leave of the latest results those that are in the sample, with their weights and clusters."""
    rule = memory.rule[0]
    kept = start
    found = results.produced[0]
    for at in range(start, found):
        row = wide(results.members[at, 0])
        birth = memory.rows[row]["birth"]
        stream = wide(memory.rows[row]["stream"])
        if rule["by_match"]:
            chance = _chance_of_match(memory, row)
            if chance == 0.0:
                continue
            # Each was drawn by itself.
            birth = rule["produced"] - found + kept
        else:
            odds = memory.odds[row]
            chance = min(odds["size"] * min(odds["least"], rule["fraction"]), 1.0)
            _note_result(memory, row, stream, 1.0 / chance)
        results.times[kept] = results.times[at]
        for s in range(results.refs.shape[1]):
            results.refs[kept, s] = results.refs[at, s]
        results.weights[kept] = 1.0 / chance
        results.clusters[kept] = birth
        kept += 1
    rule["produced"] -= found - kept
    results.produced[0] = kept


@inner
def _note_result(memory: Memory, row: int, stream: int, weight: float) -> None:
    """Add a result of a sample of rows to the estimate of all results."""
    odds = memory.odds[row]
    batch = memory.rule[0]["batch"]
    if odds["batch"] != batch:
        odds["batch"] = batch
        odds["batch_cover"] = 0.0
    add_to_gauge(memory, stream, odds, weight)


@kernel
def note_fraction(memory: Memory) -> None:
    """Note the least fraction so far with every row, before it is raised for those to come."""
    rule = memory.rule[0]
    for stream in range(memory.streams.size):
        record = memory.streams[stream]
        for place in range(record["base"] + record["head"], record["base"] + record["tail"]):
            row = memory.queue[place]
            if row >= 0:
                memory.odds[row]["least"] = min(memory.odds[row]["least"], rule["fraction"])

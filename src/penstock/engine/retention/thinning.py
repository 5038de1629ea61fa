"""A sample becomes smaller: the fraction falls, and rows leave or skip matches.

Also how the matches that are found become results of the sample, each with its weight.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from penstock.engine.kernels.costs import cost_of, taken_by
from penstock.engine.kernels.insertion import insert
from penstock.engine.kernels.jit import inner, kernel, rare, wide
from penstock.engine.kernels.layout import NO_LIMIT, NOTHING, Memory
from penstock.engine.kernels.monitoring import add_to_gauge, is_chosen
from penstock.engine.kernels.removal import evict
from penstock.engine.retention import heap
from penstock.engine.retention.sample import (
    NO_MATCH,
    OUT,
    draw,
    draw_again,
    first_to_go,
    is_out,
    note_lot,
    skip,
)

if TYPE_CHECKING:
    from penstock.engine.kernels.results import Results


@rare
def lower(memory: Memory, row: int) -> None:
    """Let the fraction fall to the greatest ratio; its row leaves, or skips to a later match."""
    settings = memory.retained.sample.settings[0]
    ratio = -memory.retained.heap.keys[row]
    if ratio < settings["fraction"]:
        settings["forced"] += 1
        settings["fraction"] = ratio
    if not settings["by_match"]:
        evict(memory, row)
        return
    _skip_on(memory, row)


@kernel
def lower_to(memory: Memory, fraction: float) -> None:
    """Let the fraction fall to what was decided: rows that have drawn more leave, or skip on."""
    memory.retained.sample.settings[0]["fraction"] = fraction
    row = first_to_go(memory)
    while row != NOTHING and -memory.retained.heap.keys[row] >= fraction:
        lower(memory, row)
        row = first_to_go(memory)


@inner
def _skip_on(memory: Memory, row: int) -> None:
    """Go on to the next match that is chosen; a row that has none to expect leaves."""
    settings = memory.retained.sample.settings[0]
    odds = memory.retained.sample.odds[row]
    keys = memory.retained.heap.keys
    if odds["next"] == NO_MATCH:
        evict(memory, row)
        return
    steps, ratio, key = skip(odds["key"], settings["fraction"])
    further = min(odds["next"] + steps, np.int64(NO_MATCH))
    odds["key"] = key
    odds["next"] = further
    odds["least"] = settings["fraction"]
    is_monitored = memory.rows[row]["monitored"] != NOTHING
    if further > odds["limit"] and settings["fraction"] < 1.0:
        odds["next"] = NO_MATCH
        if is_monitored:
            keys[row] = OUT
        else:
            evict(memory, row)
        return
    if is_monitored:
        keys[row] = -ratio
        return
    stream = wide(memory.rows[row]["stream"])
    heap.remove(memory, stream, row)
    keys[row] = -ratio
    heap.push(memory, stream, row)


@inner
def draw_in(memory: Memory, arrival: np.void, slot: int, number: int) -> bool:
    """Insert a row if it is drawn, for all its matches or for the first one that is chosen.

    Where memory is full the sampling fraction falls, until some row, perhaps the arriving one, is
    in the sample no more. Monitored rows stay, whether they are in it or not.
    """
    rule = memory.rule[0]
    lot = draw(memory, arrival)
    by_match = memory.retained.sample.settings[0]["by_match"] != 0
    monitored = by_match and is_chosen(memory, arrival["draw"])
    if is_out(memory, lot) and not monitored:
        return False
    cost = cost_of(memory, arrival)
    if cost > rule["limit"]:
        return False  # or all would leave for nothing
    while taken_by(memory, rule) + cost > rule["limit"]:
        victim = first_to_go(memory)
        if victim == NOTHING:
            return False
        if not monitored and lot.ratio > -memory.retained.heap.keys[victim]:
            lot = draw_again(memory, lot)
        else:
            lower(memory, victim)
        if is_out(memory, lot) and not monitored:
            return False
    key = OUT if is_out(memory, lot) else -lot.ratio
    row = insert(memory, arrival, slot, number, monitored, key)
    note_lot(memory, row, lot)
    return True


@inner
def _chance_of_match(memory: Memory, row: int) -> float:
    """Count a match; return the chance with which it was chosen, 0 if it was not."""
    odds = memory.retained.sample.odds[row]
    if odds["seen"] < NO_MATCH - 1:
        odds["seen"] += 1
    if odds["seen"] != odds["next"]:
        return 0.0
    fraction = min(odds["least"], memory.retained.sample.settings[0]["fraction"])
    # A monitored row that has drawn too much since the fraction fell.
    is_in = -memory.retained.heap.keys[row] < fraction
    _skip_on(memory, row)
    return min(fraction, 1.0) if is_in else 0.0


@inner
def sift(memory: Memory, results: Results, start: int) -> None:
    """Leave of the latest results those that are in the sample, with their weights and clusters."""
    rule = memory.rule[0]
    settings = memory.retained.sample.settings[0]
    kept = start
    found = results.produced[0]
    for at in range(start, found):
        row = wide(results.members[at, 0])
        cluster = memory.rows[row]["arrival_number"]
        stream = wide(memory.rows[row]["stream"])
        if settings["by_match"]:
            chance = _chance_of_match(memory, row)
            if chance == 0.0:
                continue
            # Each was drawn by itself.
            cluster = rule["produced"] - found + kept
            if rule["limit"] == NO_LIMIT:
                _note_match(memory, stream, 1.0 / chance)
        else:
            odds = memory.retained.sample.odds[row]
            chance = min(odds["size"] * min(odds["least"], settings["fraction"]), 1.0)
            _note_result(memory, row, stream, 1.0 / chance)
        memory.retained.sample.whole[stream] += 1.0 / chance
        results.times[kept] = results.times[at]
        for s in range(results.refs.shape[1]):
            results.refs[kept, s] = results.refs[at, s]
        results.weights[kept] = 1.0 / chance
        results.clusters[kept] = cluster
        kept += 1
    rule["produced"] -= found - kept
    results.produced[0] = kept


@inner
def _note_match(memory: Memory, stream: int, weight: float) -> None:
    """Add a match that was drawn by itself to the estimate of all results.

    Only where memory is not limited: else monitored rows tell, also of matches that no row expects.
    """
    gauge = memory.gauges[stream]
    gauge["total"] += weight
    gauge["batch_total"] += weight
    gauge["variance"] += weight * (weight - 1.0)
    gauge["batch_variance"] += weight * (weight - 1.0)


@inner
def _note_result(memory: Memory, row: int, stream: int, weight: float) -> None:
    """Add a result of a sample of rows to the estimate of all results."""
    odds = memory.retained.sample.odds[row]
    batch = memory.rule[0]["batch"]
    if odds["batch"] != batch:
        odds["batch"] = batch
        odds["batch_cover"] = 0.0
    add_to_gauge(memory, stream, odds, weight, weight)

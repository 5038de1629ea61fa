"""What results stand for where rows are shed by lot, and nothing is evicted.

A result was found with the chance that each of its rows was inserted, times the chance that the
arrival probed; it stands for 1 / that many results of the exact join. The sum is unbiased (Horvitz
and Thompson), for any number of streams.

Its variance is a sum over rows: (1 - chance) times the square of what the row's results stand for,
as draws of different rows are independent. A result counts once for each of its rows there; what
it counts too often by itself is taken off again. Results that share two waiting rows or more count
too often as well, so with three streams the variance is rather too large than too small.

A row that was admitted by lot has one draw for the results that it finds as it arrives and for
those in which it waits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.engine.kernels.jit import rare, wide

if TYPE_CHECKING:
    import numpy as np

    from penstock.engine.kernels.layout import Memory
    from penstock.engine.kernels.results import Results


@rare
def meter(memory: Memory, arrival: np.void, results: Results, start: int, stop: int) -> None:
    """Add what an arrival's results stand for to the estimate of all results."""
    if start == stop:
        return
    shed = memory.shed
    members = results.members
    rule = memory.rule[0]
    batch = rule["batch"]
    probe_chance = rule["probe_chance"]
    total = 0.0
    variance = 0.0
    batch_variance = 0.0
    for at in range(start, stop):
        chance = probe_chance
        twice = 1.0 - probe_chance
        for one in range(members.shape[1]):
            inserted = shed[wide(members[at, one])]["chance"]
            chance *= inserted
            twice += 1.0 - inserted
        weight = 1.0 / chance
        total += weight
        # What a result counts for all its rows, less what it should count.
        twice -= 1.0 - chance
        variance -= twice * weight * weight
        batch_variance -= twice * weight * weight
        if weight == 1.0:
            continue
        for one in range(members.shape[1]):
            row = shed[wide(members[at, one])]
            if row["batch"] != batch:
                row["batch"] = batch
                row["batch_cover"] = 0.0
            missed = (1.0 - row["chance"]) * weight
            variance += missed * (weight + 2.0 * row["cover"])
            batch_variance += missed * (weight + 2.0 * row["batch_cover"])
            row["cover"] += weight
            row["batch_cover"] += weight
    rule["stands_for"] = total
    own = (1.0 - probe_chance) * total * total
    gauge = memory.gauges[wide(arrival["stream"])]
    gauge["total"] += total
    gauge["batch_total"] += total
    gauge["variance"] += variance + own
    gauge["batch_variance"] += batch_variance + own

"""What results stand for where rows are shed by lot, and nothing is evicted.

A row has three independent draws: it is admitted with chance a, and then it probes with chance p
and is inserted with chance n. So it finds results with chance x = a p, and results are found in it
with chance y = a n. A result was found with the chance x of its arrival times the y of each row
that waited. The sum of 1 / chance over the results that were found is an unbiased estimate of all
results (Horvitz and Thompson), for any number of streams, also if chances follow from earlier
draws. `kernels.step_weights` says where a weight is not quite 1 / chance.

Its variance is a sum over pairs of results. Pairs without a common row do not count. A pair with
weights w and v counts (1 - g) w v if it has one row in common, where g is

* x if the row is the arrival of both,
* y if it waited for both,
* a if it is the arrival of one and waited for the other, as these share the draw that admitted it.

Summed over pairs of results that were found, that is an unbiased estimate of the variance. Added up
by rows: where S is what a row has found stands for, and W what was found in it,

    (1 - x) S^2 + (1 - y) W^2 + 2 (1 - a) S W.

Where rows probe only parts of windows, and few probe whole ones, an arrival finds what is outside
of these parts with the smaller chance x q, and then finds the rest as well. So g is x q for a pair
of such results, and x for all other pairs of the arrival.

A result and itself have all rows in common and would count once for each: it is put right. For two
streams the variance is exact then. With more, two different results can have two rows in common;
they count (1 - g) + (1 - h) instead of 1 - g h. It is at most 2 - g - h over 1 - g h times too
much, and in small joins of three streams was 0 to 20 % in all.

The squares of the rows' parts are added up as well: they say on how many rows the variance rests
(`statistics.recall`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.engine.kernels.jit import inner, rare, wide
from penstock.engine.kernels.sub_windows import chance_to_find

if TYPE_CHECKING:
    import numpy as np

    from penstock.engine.kernels.layout import Memory
    from penstock.engine.kernels.results import Results


@inner
def begin_metering(memory: Memory, row: int) -> None:
    """Note the chance of a row that has just been inserted, and what it has found."""
    rule = memory.rule[0]
    shed = memory.shed[row]
    shed["chance"] = rule["insert_chance"]
    shed["weight"] = rule["insert_weight"]
    # (1 - y) (W^2 + 2 W S (1 - a) / (1 - y)): what it found counts as if it had been found in it,
    # as far as both have the same draw.
    own = 0.0
    if rule["insert_chance"] < 1.0:
        own = rule["stands_for"] * (1.0 - rule["admit_chance"]) / (1.0 - rule["insert_chance"])
    shed["cover"] = own
    shed["batch_cover"] = own
    shed["batch"] = rule["batch"]


@rare
def add_found(memory: Memory, results: Results, start: int, stop: int) -> None:
    """Add what an arrival's results stand for to the rows that waited, and to itself.

    As `meter` does, without the estimate of all results: that comes from counts of keys.
    """
    shed = memory.shed
    members = results.members
    rule = memory.rule[0]
    total = 0.0
    for at in range(start, stop):
        weight = rule["probe_weight"]
        for one in range(members.shape[1]):
            weight *= shed[wide(members[at, one])]["weight"]
        for one in range(members.shape[1]):
            shed[wide(members[at, one])]["cover"] += weight
        total += weight
    rule["stands_for"] = total


@rare
def meter(memory: Memory, arrival: np.void, results: Results, start: int, stop: int) -> None:
    """Add what an arrival's results stand for to the estimate of all results."""
    shed = memory.shed
    members = results.members
    rule = memory.rule[0]
    batch = rule["batch"]
    probe_chance = rule["probe_chance"]
    probe_weight = rule["probe_weight"]
    harvests = rule["sub_windows"] != 0
    total = 0.0
    outside = 0.0
    # Sums are written once for each arrival: this is the dearest step of a join that sheds.
    variance = 0.0
    fourth = 0.0
    batch_variance = 0.0
    batch_fourth = 0.0
    for at in range(start, stop):
        reach = 1.0
        if harvests:
            reach = chance_to_find(memory, arrival, results, at)
        chance = probe_chance * reach
        weight = probe_weight / reach
        twice = 1.0 - chance
        for one in range(members.shape[1]):
            row = shed[wide(members[at, one])]
            chance *= row["chance"]
            weight *= row["weight"]
            twice += 1.0 - row["chance"]
        total += weight
        if reach < 1.0:
            outside += weight
        if chance == 1.0:
            for one in range(members.shape[1]):
                shed[wide(members[at, one])]["cover"] += weight
            continue
        # What a result counts for all its rows, less what it should count.
        twice = (twice - (1.0 - chance)) * weight * weight
        variance -= twice
        batch_variance -= twice
        for one in range(members.shape[1]):
            row = shed[wide(members[at, one])]
            missed = 1.0 - row["chance"]
            cover = row["cover"]
            batch_cover = row["batch_cover"] if row["batch"] == batch else 0.0
            before = missed * cover**2
            batch_before = missed * batch_cover**2
            cover += weight
            batch_cover += weight
            row["batch"] = batch
            row["cover"] = cover
            row["batch_cover"] = batch_cover
            after = missed * cover**2
            batch_after = missed * batch_cover**2
            variance += after - before
            fourth += after**2 - before**2
            batch_variance += batch_after - batch_before
            batch_fourth += batch_after**2 - batch_before**2
    rule["stands_for"] = total
    own = (1.0 - probe_chance) * (total**2 - outside**2)
    own += (1.0 - probe_chance * rule["whole_chance"]) * outside**2
    gauge = memory.gauges[wide(arrival["stream"])]
    gauge["total"] += total
    gauge["batch_total"] += total
    gauge["variance"] += variance + own
    gauge["batch_variance"] += batch_variance + own
    gauge["fourth"] += fourth + own**2
    gauge["batch_fourth"] += batch_fourth + own**2

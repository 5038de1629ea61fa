"""Clocks of streams that are results of other joins: given by these joins, not read from the rows.

Results come in any order of time, and may not come for long. So the time of the newest one does not
say how far such a stream is. The join below knows from which time on it can still give results, and
sends that time with every micro-batch.

The loop lets rows of other streams expire by each stream's clock less its lateness. Here the
lateness of such a stream is set before every batch, so that the difference is that time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from penstock.engine.kernels.layout import TIME_LIMIT

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from penstock.engine.alignment import Alignment
    from penstock.engine.arrays import Array
    from penstock.engine.intake import StreamCounters
    from penstock.engine.plan import Plan

# Of a time in floats: more than what two roundings of a difference can change.
_ROUNDING = 2.0**-50


def settled_until(plan: Plan, alignment: Alignment) -> list[int | float | None]:
    """Return the time before which each stream of results has no more rows; None if unknown.

    To be called before a batch. Where rows wait for the slowest stream, those that wait count.
    """
    settled: list[int | float | None] = []
    for side, counters in zip(plan.sides, alignment.counters, strict=True):
        until = counters.told if side.is_told else None
        if until is not None and alignment.waits:
            frontier = alignment.frontier()
            until = None if frontier is None else min(until, frontier)
        settled.append(until)
    return settled


def wait_for_results(
    plan: Plan,
    streams: Array,
    counters: Sequence[StreamCounters],
    settled: Sequence[int | float | None],
    ticks: Sequence[Array],
) -> list[Array]:
    """Set the lateness of streams of results, for a batch of which the times are known.

    What was settled before the batch holds until its end: the batch has rows from then on. Returns
    the ticks of the streams' progress with one more for each of these: at its greatest time, so
    that the loop looks at what may expire, also if no results come.
    """
    ticked = list(ticks)
    for s, (side, each, until) in enumerate(zip(plan.sides, counters, settled, strict=True)):
        if not side.is_told:
            continue
        if until is None:
            streams["lateness"][s] = TIME_LIMIT
            continue
        each.greatest = until if each.greatest is None else max(each.greatest, until)
        lateness = each.greatest - until
        before = each.greatest - 1
        if plan.time.dtype.kind == "f":
            lateness += _ROUNDING * (abs(each.greatest) + abs(until))
            before = np.nextafter(each.greatest, -np.inf).item()
        streams["lateness"][s] = lateness
        streams["clock"][s] = min(streams["clock"][s].item(), before)
        ticked[s] = np.append(ticked[s], plan.time.dtype.type(each.greatest))
    return ticked


def note_source_clocks(
    plan: Plan, counters: Sequence[StreamCounters], told: Mapping[str, float]
) -> None:
    """Note how far the sources of streams have come, after a batch."""
    for side, each in zip(plan.sides, counters, strict=True):
        time = told.get(side.name)
        if side.is_told and time is not None and (each.told is None or time > each.told):
            each.told = plan.time.dtype.type(time).item()

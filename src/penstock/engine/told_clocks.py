"""Clocks of streams that are results of other joins: told by these joins, not read from the rows.

Results come in any order of time, and may not come for long. So the time of the newest one does not
say how far such a stream is. The join below knows from which time on it can still give results, and
says so with every micro-batch.

The loop lets rows of other streams expire by each stream's clock less its lateness. Here the
lateness of such a stream is set before every batch, so that the difference is what was told.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.engine.kernels.layout import TIME_LIMIT

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from penstock.engine.arrays import Array
    from penstock.engine.intake import StreamCounters
    from penstock.engine.plan import Plan

# Of a time in floats: more than what two roundings of a difference can change.
_ROUNDING = 2.0**-50


def wait_for_results(plan: Plan, streams: Array, counters: Sequence[StreamCounters]) -> None:
    """Set the lateness of streams that are told, for a batch of which the times are known.

    What was told before the batch holds until its end: the batch has rows from then on.
    """
    for s, (side, each) in enumerate(zip(plan.sides, counters, strict=True)):
        if not side.is_told:
            continue
        if each.told is None:
            streams["lateness"][s] = TIME_LIMIT
            continue
        each.greatest = each.told if each.greatest is None else max(each.greatest, each.told)
        streams["clock"][s] = max(streams["clock"][s], each.told)
        lateness = each.greatest - each.told
        if plan.time.dtype.kind == "f":
            lateness += _ROUNDING * (abs(each.greatest) + abs(each.told))
        streams["lateness"][s] = lateness


def note_told(plan: Plan, counters: Sequence[StreamCounters], told: Mapping[str, float]) -> None:
    """Note how far the sources of streams have come, after a batch."""
    for side, each in zip(plan.sides, counters, strict=True):
        time = told.get(side.name)
        if side.is_told and time is not None and (each.told is None or time > each.told):
            each.told = plan.time.dtype.type(time).item()

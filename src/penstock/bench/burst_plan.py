"""What is chosen for the burst by what was measured of the machine."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from penstock.bench.burst_load import FACTOR

if TYPE_CHECKING:
    from penstock.bench.burst_calibration import Speed

__all__ = ["HEADROOM", "Plan", "plan_of", "trigger_for"]

HEADROOM = 0.85
"""Share of a trigger that a micro-batch is to take: what is planned for 100 % is often late."""

# Seconds for every second of the burst that the exact join is to need, and at least.
_NEED, _LEAST_NEED = 2.75, 2.25
# Of the share of the processor, the part that steady streams may take: recall is to be 1 then.
_STEADY = 0.85
# Of a trigger, the part that a micro-batch without rows may take.
_EMPTY = 0.5


@dataclass(frozen=True)
class Plan:
    """What is chosen by the calibration.

    Attributes
    ----------
    trigger
        Seconds from one micro-batch to the next.
    rate
        Rows per second of each stream when it is steady.
    cpu
        Share of a core, in each shard: the trigger less the head room and what is not in the costs.
    fraction
        Of the rows in a sample: as many as the exact join can join in the burst.
    best_fraction
        The largest with which the burst fits: a sample has the square of it of the results.
    recall
        Of the burst, if all of the time goes into results: the most that any strategy can have.

    Examples
    --------
    >>> from penstock.bench.burst_calibration import Speed
    >>> plan_of(Speed(floor=0.25, arrival=1e-5, result=2.5e-6, shards=2))
    Plan(trigger=1, rate=4546, cpu=0.6, fraction=0.24, best_fraction=0.47, recall=0.16)
    """

    trigger: int
    rate: int
    cpu: float
    fraction: float
    best_fraction: float
    recall: float


def trigger_for(floor: float) -> int:
    """Return the seconds from one micro-batch to the next, if an empty one takes so long.

    One second, unless most of it would be gone before anything is joined.

    >>> trigger_for(0.2), trigger_for(0.6), trigger_for(1.3)
    (1, 2, 3)
    """
    return max(1, math.ceil(floor / _EMPTY))


def plan_of(speed: Speed, overhead: float | None = None) -> Plan:
    """Choose the load so that the exact join needs more than twice the time that it has.

    Parameters
    ----------
    speed
        Of the exact join.
    overhead
        Seconds that a micro-batch with the rows of one second takes beside its share of the
        processor; None if they are those of an empty one.
    """
    trigger = trigger_for(speed.floor)
    time_left = HEADROOM * trigger
    for_rows = 0.0 if overhead is None else max(0.0, overhead - speed.floor)
    cpu = round((time_left - speed.floor - trigger * for_rows) / trigger, 2)
    # What the burst needs is so many times what steady streams need.
    most = speed.floor / trigger + FACTOR * _STEADY * cpu
    need = max(_LEAST_NEED, min(_NEED, most))
    rate = math.ceil(speed.rate_within(need * trigger) / (FACTOR * trigger))
    rows = rate * FACTOR * trigger
    return Plan(
        trigger=trigger,
        rate=rate,
        cpu=cpu,
        fraction=round(speed.rate_within(time_left) / rows, 2),
        best_fraction=round(speed.fraction_within(time_left, rows), 2),
        recall=round(speed.recall_within(time_left, rows), 2),
    )

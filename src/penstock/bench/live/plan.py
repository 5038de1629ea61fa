"""What is chosen for a live benchmark by what was measured of the machine."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from penstock.errors import SessionError, must

if TYPE_CHECKING:
    from penstock.bench.live.speed import Speed

__all__ = ["HEADROOM", "Plan", "cpu_for", "trigger_for"]

HEADROOM = 0.85
"""Share of a trigger that a micro-batch is to take: what is planned for 100 % is often late."""

# Of a trigger, the part that a micro-batch without rows may take. With more, what is left for
# steady streams and for a burst of 2.6 times what can be joined is not enough for both.
_EMPTY = 0.25
# The least share of the processor that is worth a budget.
_LEAST_CPU = 0.05


@dataclass(frozen=True)
class Plan:
    """What is chosen by the calibration.

    Attributes
    ----------
    trigger
        Seconds from one micro-batch to the next.
    rate
        Rows per second of each stream.
    cpu
        Share of a core, in each shard: the trigger less the head room and what is not in the costs.
    """

    trigger: int
    rate: int
    cpu: float


def trigger_for(floor: float, least: int = 1) -> int:
    """Return the seconds from one micro-batch to the next, if an empty one takes so long.

    `least`, unless more than a quarter of it would be gone before anything is joined.

    >>> trigger_for(0.2), trigger_for(0.6), trigger_for(1.3), trigger_for(0.2, least=2)
    (1, 3, 6, 2)
    """
    return max(least, math.ceil(floor / _EMPTY))


def cpu_for(speed: Speed, for_rows: float, least_trigger: int = 1) -> float:
    """Return the share of a core that is left to a join with a budget.

    Parameters
    ----------
    speed
        Of the exact join.
    for_rows
        Seconds that the rows of one second take and that are in no costs: packing, the shuffle.
    least_trigger
        Seconds from one micro-batch to the next, at least.

    Raises
    ------
    SessionError
        If nothing is left of the trigger.

    Examples
    --------
    >>> from penstock.bench.live.speed import Speed
    >>> cpu_for(Speed(floor=0.25, row=1e-5, work=1e-6), for_rows=0.1)
    0.5
    """
    trigger = trigger_for(speed.floor, least_trigger)
    cpu = round((HEADROOM * trigger - speed.floor) / trigger - for_rows, 2)
    if cpu < _LEAST_CPU:
        hint = "run nothing else on this machine, or take a faster one"
        requirement = f"{_LEAST_CPU} s or more of each second"
        raise SessionError(must("what rows leave for a budget", requirement, cpu, hint))
    return cpu

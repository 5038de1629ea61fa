"""What is chosen for the burst by what was measured of the machine."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from penstock.bench.live.plan import HEADROOM, Plan, cpu_for, trigger_for

if TYPE_CHECKING:
    from penstock.bench.live.speed import Speed

__all__ = [
    "FACTOR",
    "RESULTS_PER_ROW",
    "BurstPlan",
    "plan_of",
    "results_per_row",
    "rows_within",
]

FACTOR = 5
"""How many times as many rows come in the burst."""

RESULTS_PER_ROW = 40.0
"""Rows of the other stream that an arriving row finds when windows are full, at least."""

# Of the work, the part that rows may take by themselves. A budget can give up results, but all rows
# have to come: where they take most of the time, no join keeps up. So they have enough results for
# that, though no more than the second number.
_ROWS_SHARE, _MOST_RESULTS = 0.06, 1_000.0
# Seconds for every second of the burst that the exact join is to need, and at least.
_NEED, _LEAST_NEED = 2.75, 2.6
# Of the share of the processor, the part that steady streams may take: recall is to be 1 then.
_STEADY = 0.85


@dataclass(frozen=True)
class BurstPlan(Plan):
    """What is chosen by the calibration; the rate is that of steady streams.

    Attributes
    ----------
    fraction
        Of the rows in a sample: as many as the exact join can join in the burst.
    best_fraction
        The largest with which the burst fits: a sample has the square of it of the results.
    recall
        Of the burst, if all of the time goes into results: the most that any strategy can have.
    """

    fraction: float
    best_fraction: float
    recall: float


def plan_of(speed: Speed, overhead: float | None = None) -> BurstPlan:
    """Choose the rate so that the exact join needs more than twice the time that it has.

    Parameters
    ----------
    speed
        Of the exact join.
    overhead
        Seconds that a micro-batch with the rows of one second takes beside its share of the
        processor; None if they are those of an empty one.

    Raises
    ------
    SessionError
        If nothing is left of the trigger.

    Examples
    --------
    >>> from penstock.bench.live.speed import Speed
    >>> plan_of(Speed(floor=0.25, row=5e-6, work=1.25e-6))
    BurstPlan(trigger=1, rate=4762, cpu=0.6, fraction=0.24, best_fraction=0.48, recall=0.2)
    """
    trigger = trigger_for(speed.floor)
    time_left = HEADROOM * trigger
    cpu = cpu_for(speed, 0.0 if overhead is None else max(0.0, overhead - speed.floor))
    # What the burst needs is so many times what steady streams need.
    most = speed.floor / trigger + FACTOR * _STEADY * cpu
    need = max(_LEAST_NEED, min(_NEED, most))
    rate = math.ceil(rows_within(speed, need * trigger) / (FACTOR * trigger))
    rows = rate * FACTOR * trigger
    return BurstPlan(
        trigger=trigger,
        rate=rate,
        cpu=cpu,
        fraction=round(rows_within(speed, time_left) / rows, 2),
        best_fraction=round(_fraction_within(speed, time_left, rows), 2),
        recall=round(_recall_within(speed, time_left, rows), 2),
    )


def results_per_row(speed: Speed) -> float:
    """Return how many results a row is to have, so that rows are a small part of the work.

    >>> from penstock.bench.live.speed import Speed
    >>> round(results_per_row(Speed(floor=0.2, row=1e-5, work=1e-6)))
    78
    """
    enough = speed.row / (2.0 * speed.work) * (1.0 / _ROWS_SHARE - 1.0)
    return min(max(RESULTS_PER_ROW, enough), _MOST_RESULTS)


def rows_within(speed: Speed, seconds: float) -> float:
    """Return how many rows of each stream can be joined in a micro-batch of that time.

    >>> from penstock.bench.live.speed import Speed
    >>> round(rows_within(Speed(floor=0.2, row=1e-5, work=1e-6), 0.8))
    3600
    """
    rows, results = _of_a_row(speed)
    return (seconds - speed.floor) / (rows + results)


def _recall_within(speed: Speed, seconds: float, rows: float) -> float:
    """Return the share of the results that fit, if all rows come: the most that can be had.

    All results cost the same. So it does not depend on which ones are given up.
    """
    row, results = _of_a_row(speed)
    return ((seconds - speed.floor) / rows - row) / results


def _fraction_within(speed: Speed, seconds: float, rows: float) -> float:
    """Return the largest fraction of both streams' rows whose join fits.

    A sample has f times the rows, and f ** 2 times the results.
    """
    row, results = _of_a_row(speed)
    # results f^2 + row f = the time that is left for a row
    root = math.sqrt(row**2 + 4.0 * results * (seconds - speed.floor) / rows)
    return (root - row) / (2.0 * results)


def _of_a_row(speed: Speed) -> tuple[float, float]:
    """Return the seconds for a row of each stream: for themselves, and for their results."""
    return speed.row, 2.0 * results_per_row(speed) * speed.work

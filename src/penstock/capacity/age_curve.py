"""The age curve of a stream from a sample that ends: results per row that reached each age."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from penstock.statistics.age_curve import AgeCurve

__all__ = ["SamplePeriod", "age_curve"]

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]

# With more ticks than this in each part, one tick more or less does not matter.
_COARSE = 64


class SamplePeriod(NamedTuple):
    """The period of time that is measured, and the tick: all times are multiples of it (0: any)."""

    start: float
    end: float
    tick: int


def age_curve(
    times: Array, ages: Array, *, window: float, period: SamplePeriod, parts: int
) -> AgeCurve:
    """Estimate in how many results a row takes part at each age.

    Parameters
    ----------
    times
        Time of each row.
    ages
        For each result in the period, the age of its row when it was found.
    window
        The stream's window.
    period
        The period, and the tick of the times: 60 if they are seconds in whole minutes.
    parts
        Number of parts into which the window is divided, at most.

    Examples
    --------
    A row every second, each with a result at age 3. The sample ends before the last rows match:

    >>> times = np.arange(10.0)
    >>> ages = np.full(7, 3.0)
    >>> period = SamplePeriod(0.0, 9.5, 0)
    >>> age_curve(times, ages, window=4.0, period=period, parts=2).matches.tolist()
    [0.0, 1.0]
    """
    steps = int(window // period.tick) + 1 if period.tick else 0
    if steps:
        parts = min(parts, max(steps - 1, 1))
        part = (ages // period.tick * float(parts) / steps).astype(np.int64)
    elif window:
        part = np.minimum(ages / window * parts, parts - 1).astype(np.int64)
    else:
        part = np.zeros(ages.size, np.int64)
    found = np.bincount(part, minlength=parts)
    exposed = _exposure(times.astype(np.float64) - period.start, window, period, parts)
    exposed *= _evenness(steps, parts)
    # An age that less than one row reached says nothing.
    return AgeCurve(np.where(exposed >= 1, found / np.maximum(exposed, 1), 0.0))


def _evenness(steps: int, parts: int) -> Floats:
    """Return how many ticks each part holds, relative to their mean.

    With ages 0, 1, ..., 9 in 4 parts, some parts hold three ages and some two. That alone must
    not make one part look better than another.

    >>> _evenness(10, 4).tolist()
    [1.2, 0.8, 1.2, 0.8]
    """
    if not 0 < steps <= _COARSE * parts:
        return np.ones(parts)
    part_of_step = (np.arange(steps) * float(parts) / steps).astype(np.int64)
    return np.bincount(part_of_step, minlength=parts) * parts / steps


def _exposure(times: Floats, window: float, period: SamplePeriod, parts: int) -> Floats:
    """Count the rows that were seen in each part of their window; some count as a fraction."""
    end = period.end - period.start
    if not window:
        return np.full(parts, float(np.count_nonzero((times >= 0) & (times <= end))))
    edges = np.arange(parts + 1) * (window / parts)
    begun = np.maximum(times, 0.0)
    # Of the time between a row's arrival and each age, what lies within the period.
    seen = [np.maximum(np.minimum(times + edge, end) - begun, 0.0).sum() for edge in edges]
    exposed: Floats = np.diff(seen) / (window / parts)
    return exposed

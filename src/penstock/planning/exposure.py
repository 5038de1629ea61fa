"""An age curve from a sample that ends: results are divided by the rows that reached each age."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from penstock.statistics.age_curve import AgeCurve

__all__ = ["Clock", "age_curve"]

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]

# With more steps of time than this in each part, one more or less is nothing.
_COARSE = 64


class Clock(NamedTuple):
    """The stretch of time that counts, and the step in which times are given (0 for none)."""

    start: float
    end: float
    tick: int


def age_curve(times: Array, ages: Array, *, window: float, clock: Clock, parts: int) -> AgeCurve:
    """Estimate in how many results a row takes part at each age.

    Parameters
    ----------
    times
        When the rows came.
    ages
        How old they were when a result was found, for each result that was found in the stretch
        of time.
    window
        Their window.
    clock
        The stretch of time, and the step of the times: 60 if they are seconds in whole minutes.
    parts
        Into how many parts to divide the window, at most.

    Examples
    --------
    A row every second, each with a result at age 3; the sample ends before the last have theirs:

    >>> times = np.arange(10.0)
    >>> ages = np.full(7, 3.0)
    >>> clock = Clock(0.0, 9.5, 0)
    >>> age_curve(times, ages, window=4.0, clock=clock, parts=2).matches.tolist()
    [0.0, 1.0]
    """
    steps = int(window // clock.tick) + 1 if clock.tick else 0
    if steps:
        parts = min(parts, max(steps - 1, 1))
        part = (ages // clock.tick * float(parts) / steps).astype(np.int64)
    elif window:
        part = np.minimum(ages / window * parts, parts - 1).astype(np.int64)
    else:
        part = np.zeros(ages.size, np.int64)
    found = np.bincount(part, minlength=parts)
    exposed = _exposure(times.astype(np.float64) - clock.start, window, clock, parts)
    exposed *= _evenness(steps, parts)
    # Less than one row that got so old tells nothing.
    return AgeCurve(np.where(exposed >= 1, found / np.maximum(exposed, 1), 0.0))


def _evenness(steps: int, parts: int) -> Floats:
    """Say how many steps of time each part holds, relative to their mean.

    Of ages 0, 1, ..., 9 in 4 parts, some hold three and some two: that alone must not make one
    better than another.

    >>> _evenness(10, 4).tolist()
    [1.2, 0.8, 1.2, 0.8]
    """
    if not 0 < steps <= _COARSE * parts:
        return np.ones(parts)
    part_of_step = (np.arange(steps) * float(parts) / steps).astype(np.int64)
    return np.bincount(part_of_step, minlength=parts) * parts / steps


def _exposure(times: Floats, window: float, clock: Clock, parts: int) -> Floats:
    """Count the rows that were seen in each part of their window, parts of rows included."""
    end = clock.end - clock.start
    if not window:
        return np.full(parts, float(np.count_nonzero((times >= 0) & (times <= end))))
    edges = np.arange(parts + 1) * (window / parts)
    begun = np.maximum(times, 0.0)
    # Of the time from a row's coming to each age, what lies within the stretch.
    seen = [np.maximum(np.minimum(times + edge, end) - begun, 0.0).sum() for edge in edges]
    exposed: Floats = np.diff(seen) / (window / parts)
    return exposed

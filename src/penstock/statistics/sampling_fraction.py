"""The largest sampling fraction for which the sampled rows fit in memory."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "cluster_chances",
    "fraction_by_size",
    "fraction_of_clusters",
    "solve_fraction",
    "solve_fraction_near",
]

Floats = npt.NDArray[np.float64]

# The smallest fraction considered: with it a window of 10**12 rows gives one result.
_LEAST = 1e-12

# Bisection steps of log p, from the smallest fraction to 1: the error of p is then 1e-9.
_HALVINGS = 35

# Steps of the secant method near a fraction, and the least slope that it takes for true: what a
# sample needs grows no faster than the fraction, and may hardly grow near its end.
_STEPS = 4
_LEAST_SLOPE = 0.05
_LONGEST = math.log(8.0)
# The work may differ from what there is by this part of it.
_CLOSE = 1e-4


def fraction_of_clusters(rows: float, alive: float) -> float:
    """Compute EQ-CLUSTER's p: the probability of each row to be kept for its whole life.

    Parameters
    ----------
    rows
        M, rows that are held on average.
    alive
        r W, rows that are in the window on average.

    Examples
    --------
    >>> fraction_of_clusters(50, 200), fraction_of_clusters(50, 40)
    (0.25, 1.0)

    References
    ----------
    `srivastava04` 4.3.1, Strategy 2: M = r W p.
    """
    if rows >= alive:
        return 1.0
    return max(rows, 0.0) / alive


def fraction_by_size(rows: float, sizes: npt.ArrayLike, alive: npt.ArrayLike) -> float:
    """Compute PPS-CLUSTER's factor: a row is kept with probability min(1, factor * size).

    It solves: rows = sum of alive * min(1, factor * size) over the values. The sum is linear
    between the factors at which one more value becomes certain to be kept. So one sort replaces
    the iterative procedure that the paper does not spell out.

    Parameters
    ----------
    rows
        M, rows that are held on average.
    sizes
        n(s), or anything in proportion to it, for each value: 0 or more.
    alive
        r W f(v), rows of each value that are in the window on average; same order.

    Returns
    -------
    float
        The factor, one over a size: 0 without memory, infinite if all rows fit. Rows of size 0
        are kept only if all rows fit. If all others fit, it is the smallest factor that keeps
        those.

    Examples
    --------
    >>> fraction_by_size(6, sizes=[4, 1, 1], alive=[4, 4, 4])
    0.25
    >>> fraction_by_size(12, sizes=[4, 1, 1], alive=[4, 4, 4])
    inf

    References
    ----------
    `srivastava04` 4.3.1, Strategy 3 and footnote 2.
    """
    size, count = np.asarray(sizes, np.float64), np.asarray(alive, np.float64)
    if rows >= count.sum():
        return math.inf
    counted = (size > 0) & (count > 0)
    largest = np.argsort(-size[counted], kind="stable")
    size, count = size[counted][largest], count[counted][largest]
    # At a factor of 1 / size all larger values are certain to be kept. The others are kept with
    # the probability of their size relative to this one.
    certain = np.cumsum(count)
    likely = np.cumsum((count * size)[::-1])[::-1] - count * size
    factors = np.concatenate([[0.0], 1 / size])
    held = np.concatenate([[0.0], certain + likely / size])
    return float(np.interp(rows, held, factors))


def cluster_chances(factor: float, sizes: npt.ArrayLike) -> Floats:
    """Compute PPS-CLUSTER's probability of each row to be kept: min(1, factor * size).

    Parameters
    ----------
    factor
        From `fraction_by_size`; infinite if all rows are kept, also those of size 0.
    sizes
        n(s) of each row, in the same unit as there.

    Examples
    --------
    >>> cluster_chances(0.25, [4, 1, 0]).tolist()
    [1.0, 0.25, 0.0]
    >>> cluster_chances(float("inf"), [4, 1, 0]).tolist()
    [1.0, 1.0, 1.0]
    """
    size = np.asarray(sizes, np.float64)
    if math.isinf(factor):
        return np.ones(size.shape)
    return np.minimum(1.0, factor * size)


def solve_fraction(rows: float, held: Callable[[float], float]) -> float:
    """Find the fraction for which `rows` rows are held on average.

    Parameters
    ----------
    rows
        M, rows that may be held.
    held
        Returns the rows that a fraction above 0 and at most 1 needs; never falling. It is called
        at most 36 times.

    Returns
    -------
    float
        p: 1 if all rows fit, never below 1e-12.

    Examples
    --------
    >>> from penstock.statistics.sampling_memory import uniform_share
    >>> matches, alive = [1, 10], [500, 500]
    >>> p = solve_fraction(400, lambda p: float((alive * uniform_share(p, matches)).sum()))
    >>> round(p, 6)
    0.184502

    References
    ----------
    `srivastava04` 4.2.2: "equate this expected memory usage to the amount of memory available
    [...] and solve for p".
    """
    if held(1.0) <= rows:
        return 1.0
    # Bisection of log p: a small fraction gets as many digits as a large one.
    low, high = math.log(_LEAST), 0.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if held(math.exp(middle)) <= rows:
            low = middle
        else:
            high = middle
    return math.exp(low)


def solve_fraction_near(
    start: float, most: float, amount: float, needed: Callable[[float], float]
) -> float:
    """Find the fraction that needs an amount of work, near the one that is in use.

    It is solved again and again while a join runs, so a few evaluations must do.

    Parameters
    ----------
    start
        A fraction above 0, best one near the solution.
    most
        The fraction from which on everything is in the sample.
    amount
        Of work, that there is.
    needed
        Returns the work that a fraction needs: never falling, and growing no faster than the
        fraction does. It is called at most 6 times.

    Returns
    -------
    float
        The fraction: `most` if there is work for everything, never below 1e-12. It needs the amount
        to one part in 10,000, unless that takes more than a few steps.

    Examples
    --------
    >>> round(solve_fraction_near(0.5, 1.0, 0.03, lambda p: 0.3 * p), 6)
    0.1
    >>> p = solve_fraction_near(0.05, 1.0, 0.3, lambda p: 1 - (1 - p) ** 20)
    >>> round(p, 4), round(1 - (1 - p) ** 20, 4)
    (0.0177, 0.3)
    """
    if needed(most) <= amount:
        return most
    if amount <= 0.0:
        return _LEAST
    # The secant method for log(needed) over log(p). Where nearly all is drawn the work hardly
    # depends on the fraction, so that steps are not longer than a factor.
    here = math.log(min(max(start, _LEAST), most))
    error = math.log(max(needed(math.exp(here)), 1e-300) / amount)
    slope = 1.0
    for _ in range(_STEPS):
        there = _towards(here, error / slope, most)
        if there == here or abs(error) < _CLOSE:
            break
        next_error = math.log(max(needed(math.exp(there)), 1e-300) / amount)
        slope = min(max((next_error - error) / (there - here), _LEAST_SLOPE), 1.0)
        here, error = there, next_error
    return math.exp(_towards(here, error / slope, most))


def _towards(here: float, step: float, most: float) -> float:
    """Return the logarithm of a fraction that is lower by a step, which is cut if it is long."""
    there = here - min(max(step, -_LONGEST), _LONGEST)
    return min(max(there, math.log(_LEAST)), math.log(most))

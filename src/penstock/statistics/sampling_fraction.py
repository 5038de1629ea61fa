"""The fraction that a sample may have for its rows to fit in memory."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["cluster_chances", "fraction_by_size", "fraction_of_clusters", "solve_fraction"]

Floats = npt.NDArray[np.float64]

# No smaller fraction is looked for: with it a window of a million million rows gives one result.
_LEAST = 1e-12

# Halvings of the range of log p, from the least fraction to 1: p is then right to 1e-9.
_HALVINGS = 35


def fraction_of_clusters(rows: float, tuples: float) -> float:
    """Give EQ-CLUSTER's p: the chance of each tuple to be kept for its whole life.

    Parameters
    ----------
    rows
        M, rows that are held on average.
    tuples
        r W, tuples that are alive on average.

    Examples
    --------
    >>> fraction_of_clusters(50, 200), fraction_of_clusters(50, 40)
    (0.25, 1.0)

    References
    ----------
    `srivastava04` 4.3.1, Strategy 2: M = r W p.
    """
    if rows >= tuples:
        return 1.0
    return max(rows, 0.0) / tuples


def fraction_by_size(rows: float, sizes: npt.ArrayLike, tuples: npt.ArrayLike) -> float:
    """Give PPS-CLUSTER's factor: a tuple is kept with the chance min(1, factor * size).

    It solves: rows = sum of tuples * min(1, factor * size) over the values. The sum is linear
    between the factors at which one more value becomes certain, so that one sort replaces the
    iterative procedure that the paper leaves out.

    Parameters
    ----------
    rows
        M, rows that are held on average.
    sizes
        n(s), or anything in proportion to it, for each value: 0 or more.
    tuples
        r W f(v), tuples of each value that are alive on average; same order.

    Returns
    -------
    float
        The factor, one over a size: 0 without memory, infinite if all tuples fit. Values of size
        0 are never kept unless all fit; if all others do, it is the least factor that keeps them.

    Examples
    --------
    >>> fraction_by_size(6, sizes=[4, 1, 1], tuples=[4, 4, 4])
    0.25
    >>> fraction_by_size(12, sizes=[4, 1, 1], tuples=[4, 4, 4])
    inf

    References
    ----------
    `srivastava04` 4.3.1, Strategy 3 and footnote 2.
    """
    size, count = np.asarray(sizes, np.float64), np.asarray(tuples, np.float64)
    if rows >= count.sum():
        return math.inf
    counted = (size > 0) & (count > 0)
    largest = np.argsort(-size[counted], kind="stable")
    size, count = size[counted][largest], count[counted][largest]
    # At a factor of 1 / size all larger values are certain, and the others as likely as they are
    # large next to this one.
    certain = np.cumsum(count)
    likely = np.cumsum((count * size)[::-1])[::-1] - count * size
    factors = np.concatenate([[0.0], 1 / size])
    held = np.concatenate([[0.0], certain + likely / size])
    return float(np.interp(rows, held, factors))


def cluster_chances(factor: float, sizes: npt.ArrayLike) -> Floats:
    """Give PPS-CLUSTER's chance of each tuple to be kept: min(1, factor * size).

    Parameters
    ----------
    factor
        As `fraction_by_size` gives it; infinite if all are kept, those of size 0 too.
    sizes
        n(s) of each tuple, in the same unit as there.

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
    """Give the fraction for which so many rows are held on average.

    Parameters
    ----------
    rows
        M, rows that may be held.
    held
        How many rows a fraction above 0, at most 1, needs; never falling. It is called at most 36
        times.

    Returns
    -------
    float
        p: 1 if that fits, never below 1e-12.

    Examples
    --------
    >>> from penstock.statistics.sampling_memory import uniform_share
    >>> matches, tuples = [1, 10], [500, 500]
    >>> p = solve_fraction(400, lambda p: float((tuples * uniform_share(p, matches)).sum()))
    >>> round(p, 6)
    0.184502

    References
    ----------
    `srivastava04` 4.2.2: "equate this expected memory usage to the amount of memory available
    [...] and solve for p".
    """
    if held(1.0) <= rows:
        return 1.0
    # Halving log p: a fraction of a thousandth is found with as many digits as one of a half.
    low, high = math.log(_LEAST), 0.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if held(math.exp(middle)) <= rows:
            low = middle
        else:
            high = middle
    return math.exp(low)

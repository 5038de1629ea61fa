"""The output of a stream's window for an amount of memory, if rows are kept by weight and age."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["score_output"]

Floats = npt.NDArray[np.float64]


def score_output(
    rows: float | npt.ArrayLike,
    *,
    matches: npt.ArrayLike,
    weights: npt.ArrayLike,
    shares: npt.ArrayLike,
    rate: float,
) -> Floats:
    """Compute the weight of the results, per part of a life, with `rows` rows of memory.

    A row of weight w gives w p(k) in part k of its life. Those rows are kept for which w times
    the slope of the smallest concave curve above C, the sum of p, is highest. Where that curve is
    straight, some rows are kept for the whole straight part and others are not admitted.

    Parameters
    ----------
    rows
        M, rows that may be held; numbers of any shape.
    matches
        p(1), p(2), ...: results of a row of weight 1 in each part of its life.
    weights, shares
        The weights that rows have, and the share of the rows that has each.
    rate
        Rows that arrive in the time of one part.

    Examples
    --------
    >>> flat = score_output([5, 10, 20], matches=[1, 1], weights=[3, 1], shares=[0.5, 0.5], rate=10)
    >>> flat.tolist()
    [15.0, 30.0, 40.0]
    >>> score_output([1, 2, 3, 4], matches=[1, 1, 2, 1], weights=[1], shares=[1], rate=1).round(
    ...     3
    ... ).tolist()
    [1.333, 2.667, 4.0, 5.0]

    References
    ----------
    Ours. With equal weights it is eq. 3 of `srivastava04` 3.2.2, with a flat curve the rate of its
    section 3.3.
    """
    memory = np.asarray(rows, np.float64)
    slopes = _concave_slopes(np.asarray(matches, np.float64))
    parts = np.multiply.outer(np.asarray(weights, np.float64), slopes).ravel()
    needed = rate * np.repeat(np.asarray(shares, np.float64), slopes.size)
    order = np.argsort(-parts, kind="stable")
    held = np.concatenate([[0.0], np.cumsum(needed[order])])
    made = np.concatenate([[0.0], np.cumsum((needed * parts)[order])])
    made_of: Floats = np.interp(memory, held, made)
    return made_of


def _concave_slopes(matches: Floats) -> Floats:
    """Compute the slope, in each part, of the smallest concave curve above the sum of matches.

    >>> _concave_slopes(np.array([1.0, 1, 2, 1])).round(3).tolist()
    [1.333, 1.333, 1.333, 1.0]
    """
    heights = np.concatenate([[0.0], np.cumsum(matches)])
    slopes = np.zeros(matches.size)
    start = 0
    while start < matches.size:
        steep = (heights[start + 1 :] - heights[start]) / np.arange(1, heights.size - start)
        stop = start + steep.size - int(steep[::-1].argmax())
        slopes[start:stop] = steep.max()
        start = stop
    return slopes

"""The continuous knapsack: what to keep where gain and cost are linear."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["fill_knapsack"]

Floats = npt.NDArray[np.float64]


def fill_knapsack(gain: Floats, cost: Floats, bound: float, least: Floats) -> Floats:
    """Return the shares from `least` to 1 with the greatest gain whose cost is within a bound.

    Shares are raised in descending order of gain per cost, each as far as possible. Of equal ones
    the first is raised first.

    Parameters
    ----------
    gain, cost
        Of each share, if it is 1.
    bound
        Largest sum of costs; at least that of `least`.
    least
        Smallest shares.

    References
    ----------
    `ayad04` 5.2, equation 29 and the paragraphs after it.

    Examples
    --------
    >>> fill_knapsack(np.array([6.0, 5.0, 4.0]), np.array([3.0, 5.0, 1.0]), 5.0, np.zeros(3))
    array([1. , 0.2, 1. ])
    """
    shares = least.copy()
    left = bound - float(cost @ least)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(cost > 0, gain / cost, np.inf)
    # Equal ratios are common (A and B in Example 1), and rounding must not order them.
    order = sorted(range(ratio.size), key=lambda at: (-float(f"{ratio[at]:.12g}"), at))
    for at in order:
        wanted = cost[at] * (1 - shares[at])
        if wanted <= left:
            shares[at] = 1.0
            left -= wanted
        elif left > 0:
            shares[at] += left / cost[at]
            left = 0.0
    return shares

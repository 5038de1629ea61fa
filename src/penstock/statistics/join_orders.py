"""In which order an arriving row probes the windows of the other streams."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["join_orders"]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


def join_orders(selectivity: Floats) -> Integers:
    """Order the windows by selectivity, the lowest first, for each stream that arrives.

    Parameters
    ----------
    selectivity
        sigma_{i,l}: for a row of stream i, the share of the rows in the window of stream l that
        match it. It depends on the direction: with a lag between two streams, rows of one of them
        always come too early to find their partners.

    Returns
    -------
    numpy.ndarray
        R_i for each stream i: the other streams, from 0. Of equals the lower number comes first.

    Examples
    --------
    >>> join_orders(np.array([[0.0, 0.2, 0.1], [0.2, 0.0, 0.3], [0.1, 0.1, 0.0]])).tolist()
    [[2, 1], [0, 2], [0, 1]]

    See Also
    --------
    penstock.statistics.selectivity.probe_order
        By the expected number of matches, which also depends on how many rows a window holds.

    References
    ----------
    Gedik, Wu, Yu and Liu, GrubJoin (2005), section 5.3: low selectivity first.
    """
    count = len(selectivity)
    orders = np.empty((count, count - 1), np.int64)
    for i in range(count):
        ascending = np.argsort(selectivity[i], kind="stable")
        orders[i] = ascending[ascending != i]
    return orders

"""Join selectivities, and the order of probing that follows from them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt


def probe_order(
    faced: npt.NDArray[np.int64], found: npt.NDArray[np.int64], held: npt.NDArray[np.int64]
) -> npt.NDArray[np.int64]:
    """Order the windows that each stream's tuples probe: smallest expected number of matches first.

    A small first window means few partial results to carry into the next ones. The expected
    number is the share of rows faced that fitted so far, times the rows held now; a window that
    was never faced is taken to match like the average of those that were.

    Parameters
    ----------
    faced
        ``faced[s, w]``: rows of window w that probes by tuples of stream s stood against.
    found
        How many of them fitted.
    held
        Rows held in each window now.

    Returns
    -------
    order
        ``order[s]``: the other streams, in the order in which a tuple of s probes them.

    References
    ----------
    The join order of an m-way window join, `gedik05` 2 (low selectivity first).

    Examples
    --------
    >>> faced = np.array([[0, 100, 100], [100, 0, 100], [100, 100, 0]])
    >>> found = np.array([[0, 50, 1], [50, 0, 2], [3, 2, 0]])
    >>> probe_order(faced, found, np.array([10, 10, 10])).tolist()
    [[2, 1], [2, 0], [1, 0]]
    """
    count = held.size
    total = faced.sum()
    average = found.sum() / total if total else 1.0
    share = np.where(faced > 0, found / np.maximum(faced, 1), average)
    expected = share * held
    order = np.empty((count, count - 1), np.int64)
    for s in range(count):
        others = [w for w in range(count) if w != s]
        order[s] = sorted(others, key=lambda w: (expected[s, w], w))
    return order

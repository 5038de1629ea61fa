"""Join selectivities, and the order of probing that follows from them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt


def probe_order(
    faced: npt.NDArray[np.int64], found: npt.NDArray[np.int64], held: npt.NDArray[np.int64]
) -> npt.NDArray[np.int64]:
    """Order the windows that each stream's rows probe: smallest expected number of matches first.

    If the first window has few matches, there are few partial results to extend. The expected
    number is the share of probed rows that matched so far, times the rows held now. A window
    that was never probed is estimated by the average of the others.

    Parameters
    ----------
    faced
        ``faced[s, w]``: rows of window w that were compared with rows of stream s.
    found
        How many of them matched.
    held
        Rows held in each window now.

    Returns
    -------
    order
        ``order[s]``: the other streams, in the order in which a row of s probes them.

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

"""The age curves of the paper: how a row's results are spread over its time in the window."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from penstock.testing._arguments import check_count

__all__ = ["AGE_CURVES", "AgeShape", "bell", "decreasing", "increasing"]

AgeShape = Callable[[int], npt.NDArray[np.float64]]
"""Takes the number of buckets, returns the share of each, the newest first; the sum is 1."""


def increasing(buckets: int) -> npt.NDArray[np.float64]:
    """INC: the share of bucket k is proportional to k ** 2, as with bids at an auction.

    Parameters
    ----------
    buckets
        m, number of equal parts into which the window is divided; at least 1.

    Examples
    --------
    >>> increasing(4).round(3).tolist()
    [0.033, 0.133, 0.3, 0.533]

    References
    ----------
    Srivastava and Widom, Memory-Limited Execution of Windowed Stream Joins (VLDB 2004),
    section 6.2.2; so are the other two.
    """
    check_count("buckets", buckets)
    return _shares(np.arange(1, buckets + 1) ** 2)


def decreasing(buckets: int) -> npt.NDArray[np.float64]:
    """DEC: the share of bucket k is proportional to (buckets - k) ** 2, as with orders.

    The oldest bucket has no share at all.

    Parameters
    ----------
    buckets
        m, number of equal parts into which the window is divided; at least 2.

    Examples
    --------
    >>> decreasing(4).round(3).tolist()
    [0.643, 0.286, 0.071, 0.0]
    """
    check_count("buckets", buckets, 2)
    return _shares((buckets - np.arange(1, buckets + 1)) ** 2)


def bell(buckets: int) -> npt.NDArray[np.float64]:
    """BELL: as INC up to the middle of the window and as DEC after it, as in delayed sensors.

    Parameters
    ----------
    buckets
        m, number of equal parts into which the window is divided; at least 2.

    Examples
    --------
    >>> bell(6).round(3).tolist()
    [0.053, 0.211, 0.474, 0.211, 0.053, 0.0]
    """
    check_count("buckets", buckets, 2)
    k = np.arange(1, buckets + 1)
    return _shares(np.where(k <= buckets / 2, k**2, (buckets - k) ** 2))


AGE_CURVES: dict[str, AgeShape] = {"INC": increasing, "DEC": decreasing, "BELL": bell}
"""The paper's three curves under the paper's names."""


def _shares(weights: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    shares: npt.NDArray[np.float64] = weights / weights.sum()
    return shares

"""Zipf's law over a finite number of ranks."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from penstock.testing._arguments import check_at_least, check_count

__all__ = ["zipf_weights"]


def zipf_weights(ranks: int, zipf: float) -> npt.NDArray[np.float64]:
    """Return probabilities that fall with the rank: that of rank k is proportional to k ** -zipf.

    Parameters
    ----------
    ranks
        Number of ranks; at least 1.
    zipf
        The skew; 0 makes all ranks equally likely, 2 gives the first of many ranks 61 %.

    Returns
    -------
    numpy.ndarray
        One probability per rank, the highest first; the sum is 1.

    Examples
    --------
    >>> zipf_weights(4, 1.0).round(2).tolist()
    [0.48, 0.24, 0.16, 0.12]
    >>> zipf_weights(4, 0.0).tolist()
    [0.25, 0.25, 0.25, 0.25]

    References
    ----------
    Srivastava and Widom, Memory-Limited Execution of Windowed Stream Joins (VLDB 2004),
    section 6.2.3.
    """
    check_count("ranks", ranks)
    check_at_least("zipf", zipf, 0)
    weights = np.arange(1, ranks + 1, dtype=np.float64) ** -zipf
    shares: npt.NDArray[np.float64] = weights / weights.sum()
    return shares

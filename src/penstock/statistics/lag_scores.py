"""Which sub-windows of a window the partners of an arriving row are in."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from collections.abc import Sequence

    from penstock.statistics.lag_histogram import LagHistogram

__all__ = ["all_lag_scores", "lag_scores", "ranks_of"]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


def lag_scores(
    histograms: Sequence[LagHistogram], arriving: int, probed: int, *, length: float, count: int
) -> Floats:
    """Return how likely a result has its row of a stream in each sub-window, newest first.

    Parameters
    ----------
    histograms
        L_i of each stream. The first one is not read: a row has no lag to itself.
    arriving, probed
        i and l: the stream whose row arrives, and that whose window it probes; from 0.
    length
        b, length of a sub-window in units of time.
    count
        n_l, sub-windows of the window.

    Returns
    -------
    numpy.ndarray
        p_{i,j}^k for each sub-window k: the chance that the row of `arriving` is later than that
        of `probed` by b (k - 1) to b k. Their sum is at most 1; the rest are results in which the
        row of `probed` came last.

    Examples
    --------
    Stream 1 comes 5 time units after stream 0. So a row of stream 1 finds its partners in the
    third sub-window of stream 0, and one of stream 0 finds none.

    >>> from penstock.statistics.lag_histogram import LagHistogram
    >>> first, second = (LagHistogram(-10.0, 10.0, buckets=20) for _ in range(2))
    >>> second.add(np.array([4.5, 4.5, 4.5, 5.5]))
    >>> lag_scores([first, second], 1, 0, length=2.0, count=5).tolist()
    [0.0, 0.0, 1.0, 0.0, 0.0]
    >>> lag_scores([first, second], 0, 1, length=2.0, count=5).tolist()
    [0.0, 0.0, 0.0, 0.0, 0.0]

    References
    ----------
    Gedik, Wu, Yu and Liu, GrubJoin (2005), section 5.2.2: equation 1 for rows of the first stream,
    equation 2 for the others, which takes the lags of two streams to the first one to be
    independent. Departs from the paper where `probed` is the first stream: the lag to it is known,
    so L_i is read directly instead of being spread over a bucket of L_1.
    """
    near: Floats = length * np.arange(count, dtype=np.float64)
    far: Floats = near + length
    if arriving == 0:
        # Equation 1: A_{1,l} = -A_{l,1}.
        return np.asarray(histograms[probed].share(-far, -near))
    own = histograms[arriving]
    if probed == 0:
        return np.asarray(own.share(near, far))
    # Equation 2: the sum over buckets v of L_l[v] L_i(b [k-1, k] + middle of v).
    other = histograms[probed]
    middles: Floats = other.middles[:, None]
    scores: Floats = other.shares @ np.asarray(own.share(near + middles, far + middles))
    return scores


def all_lag_scores(
    histograms: Sequence[LagHistogram], *, length: float, counts: Integers
) -> Floats:
    """Return the scores of all sub-windows, by arriving stream, probed stream and sub-window.

    Windows with fewer sub-windows than the longest have scores of 0 beyond their last.
    """
    streams = len(histograms)
    scores = np.zeros((streams, streams, int(counts.max())))
    for i in range(streams):
        for other in range(streams):
            if i != other:
                n = int(counts[other])
                scores[i, other, :n] = lag_scores(histograms, i, other, length=length, count=n)
    return scores


def ranks_of(scores: Floats) -> Integers:
    """Return the sub-windows in the order of their scores, highest first; from 0.

    Of equal scores the more recent sub-window comes first.

    Examples
    --------
    >>> ranks_of(np.array([0.1, 0.0, 0.5, 0.3, 0.1])).tolist()
    [2, 3, 0, 4, 1]

    References
    ----------
    Gedik, Wu, Yu and Liu, GrubJoin (2005), section 4.2.1: s_{i,j}^v. The paper leaves ties open.
    """
    return np.argsort(-scores, kind="stable").astype(np.int64)

"""How far apart in time rows of two streams are that are in one result."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from penstock.errors import SpecificationError, must

__all__ = ["LagHistogram"]

Floats = npt.NDArray[np.float64]


class LagHistogram:
    """Counts results by the lag between their row of one stream and their row of the first.

    The lag is the time of the stream's row less the time of the first stream's row. It is below 0
    where the row of the first stream is the later one.

    Parameters
    ----------
    earliest, latest
        Range of lags: -w_i and w_1 for windows w_i of the stream and w_1 of the first one. Lags
        outside are not counted, as no result has them.
    buckets
        How many equal parts the range has; from 1.

    Examples
    --------
    >>> lags = LagHistogram(-10.0, 10.0, buckets=20)
    >>> lags.add(np.array([4.5, 4.5, 5.5, 90.0]))
    >>> round(lags.share(4.0, 5.0), 3), round(lags.share(4.5, 6.0), 3), lags.total
    (0.667, 0.667, 3.0)
    >>> lags.fade(0.5)
    >>> lags.total
    1.5

    References
    ----------
    Gedik, Wu, Yu and Liu, GrubJoin (2005), section 5.2.2: L_i, an equi-width approximation to the
    density f_{i,1}. Departs from the paper in `fade`: what was learned long ago counts less.
    """

    def __init__(self, earliest: float, latest: float, *, buckets: int) -> None:
        if not earliest < latest:
            raise SpecificationError(
                must("latest", f"above earliest, {earliest:g}", latest, "give -w_i and w_1")
            )
        if buckets < 1:
            raise SpecificationError(
                must("buckets", "a whole number from 1", buckets, "say how many parts there are")
            )
        self.edges: Floats = np.linspace(earliest, latest, buckets + 1)
        self.counts: Floats = np.zeros(buckets)

    @property
    def total(self) -> float:
        """How many results were counted, less what has faded."""
        return float(self.counts.sum())

    @property
    def middles(self) -> Floats:
        """The lag in the middle of each bucket."""
        middles: Floats = (self.edges[1:] + self.edges[:-1]) / 2.0
        return middles

    @property
    def shares(self) -> Floats:
        """The share of each bucket, L_i[k]; all 0 if nothing was counted."""
        total = self.total
        return self.counts / total if total > 0.0 else np.zeros_like(self.counts)

    def add(self, lags: Floats, weight: float = 1.0) -> None:
        """Count results with these lags."""
        counts, _ = np.histogram(lags, self.edges)
        self.counts += weight * counts

    def fade(self, factor: float) -> None:
        """Let what was counted so far count less."""
        self.counts *= factor

    def share(self, low: float | Floats, high: float | Floats) -> float | Floats:
        """Return the share of results with a lag from `low` to `high`: L_i(I).

        Lags are taken to be spread evenly within a bucket.
        """
        reached = np.concatenate([[0.0], np.cumsum(self.shares)])
        below: Floats = np.interp(high, self.edges, reached) - np.interp(low, self.edges, reached)
        return below if below.ndim else float(below)

"""Estimates of recall and of the true result's size, from the monitored rows."""

from __future__ import annotations

import math
from dataclasses import dataclass

__all__ = ["Estimate", "recall_of", "size_of"]

# 95 % of the normal distribution lies within this many standard deviations.
_DEVIATIONS = 1.959964


@dataclass(frozen=True)
class Estimate:
    """An estimated number, with its 95 % interval.

    Attributes
    ----------
    value
        The estimate.
    low, high
        The 95 % confidence interval.

    Examples
    --------
    >>> print(Estimate(0.25, 0.2, 0.31))
    0.25 (0.2 to 0.31)
    """

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        """Return the number and its interval, as text."""
        return f"{self.value:.3g} ({self.low:.3g} to {self.high:.3g})"


def size_of(emitted: float, total: float, variance: float) -> Estimate | None:
    """Estimate the size of the true result.

    Parameters
    ----------
    emitted
        Results that were emitted; the true number is at least this.
    total
        The results of the monitored rows, each times the number of rows that it stands for.
    variance
        Estimated variance of `total`.

    Returns
    -------
    Estimate or None
        None if the monitored rows have no result, so that there is nothing to estimate from.

    Examples
    --------
    >>> size_of(emitted=50, total=100.0, variance=25.0)
    Estimate(value=100.0, low=90.67..., high=110.28...)
    """
    if total <= 0:
        return None
    # The parts are skewed: the logarithm of the total is closer to normal than the total.
    spread = math.exp(_DEVIATIONS * math.sqrt(math.log1p(max(variance, 0.0) / total**2)))
    bound = float(emitted)
    return Estimate(*(max(size, bound) for size in (total, total / spread, total * spread)))


def recall_of(emitted: float, total: float, variance: float) -> Estimate | None:
    """Estimate the share of the true result that was emitted; parameters as in `size_of`.

    Examples
    --------
    >>> recall_of(emitted=50, total=100.0, variance=25.0)
    Estimate(value=0.5, low=0.453..., high=0.551...)
    """
    size = size_of(emitted, total, variance)
    if size is None:
        return None
    return Estimate(emitted / size.value, emitted / size.high, emitted / size.low)

"""Estimates of recall and of the true result's size, from a sum that estimates it."""

from __future__ import annotations

import math
from dataclasses import dataclass

from penstock.statistics.cluster_sample import STUDENT

__all__ = ["Estimate", "recall_of", "size_of"]


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


def size_of(emitted: float, total: float, variance: float, fourth: float = 0.0) -> Estimate | None:
    """Estimate the size of the true result.

    The parts of the sum are skewed: its logarithm is closer to normal than the sum itself. The
    variance is estimated too, and from few rows if few have most of the results. So the interval is
    that of Student's t, of the logarithm.

    Parameters
    ----------
    emitted
        Results that were emitted; the true number is at least this.
    total
        The results of which the chance is known, each times the number of results it stands for.
    variance
        Estimated variance of `total`.
    fourth
        Sum of the squares of the rows' parts of the variance. The square of the variance over it is
        the number of equal parts that would be as uncertain: the degrees of freedom (Satterthwaite,
        Biometrics Bulletin 2, 1946). 0 if it is not known: then the interval is the normal one.

    Returns
    -------
    Estimate or None
        None if there is no such result, so that there is nothing to estimate from.

    Examples
    --------
    >>> size_of(emitted=50, total=100.0, variance=25.0)
    Estimate(value=100.0, low=90.67..., high=110.28...)

    The same from six rows or so that have as much of it each:

    >>> print(size_of(emitted=50, total=100.0, variance=25.0, fourth=100.0))
    100 (88.6 to 113)
    """
    if total <= 0:
        return None
    deviation = math.sqrt(math.log1p(max(variance, 0.0) / total**2))
    spread = math.exp(_deviations(variance, fourth) * deviation)
    bound = float(emitted)
    return Estimate(*(max(size, bound) for size in (total, total / spread, total * spread)))


def _deviations(variance: float, fourth: float) -> float:
    """Return the standard deviations within which 95 % lie: Student's t, or the normal one."""
    freedom = max(variance**2 / fourth, 1.0) if fourth > 0 else math.inf
    return sum(term / freedom**power for power, term in enumerate(STUDENT))


def recall_of(
    emitted: float, total: float, variance: float, fourth: float = 0.0
) -> Estimate | None:
    """Estimate the share of the true result that was emitted; parameters as in `size_of`.

    Examples
    --------
    >>> recall_of(emitted=50, total=100.0, variance=25.0)
    Estimate(value=0.5, low=0.453..., high=0.551...)
    """
    size = size_of(emitted, total, variance, fourth)
    if size is None:
        return None
    return Estimate(emitted / size.value, emitted / size.high, emitted / size.low)

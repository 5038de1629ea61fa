"""Totals and averages of a sampled join, with intervals that take clusters into account.

Rows of a cluster were kept or lost together, those of different clusters independently. Glossary:
w a row's weight (one over the probability that its cluster was kept), y its value, T a total, V
the variance of an estimate, R an average, nu degrees of freedom.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = [
    "ALIKE_FOURTH",
    "ALIKE_VARIANCE",
    "LEAST_CLUSTERS",
    "STUDENT",
    "TOO_ALIKE",
    "TOO_FEW",
    "SampleEstimate",
    "average_of",
    "total_of",
]

LEAST_CLUSTERS = 20.0
"""With fewer effective clusters there is no interval; docs/estimation.md explains the number.

The squared skewness of an estimate is at most about one over the effective clusters. Cochran's
rule for intervals by the normal distribution (Sampling Techniques, 1977, section 2.15) is 1 / 25.
"""

TOO_FEW = "too few clusters"
TOO_ALIKE = "values too alike"

# 95 % of the normal distribution lies within this many standard deviations.
_Z = 1.959964

STUDENT = (
    _Z,
    (_Z**3 + _Z) / 4,
    (5 * _Z**5 + 16 * _Z**3 + 3 * _Z) / 96,
    (3 * _Z**7 + 19 * _Z**5 + 17 * _Z**3 - 15 * _Z) / 384,
)
"""Student's t at 97.5 %, as a polynomial in 1 / nu (Cornish and Fisher; Abramowitz and Stegun
26.7.5). The error is below 0.00002 for 20 degrees of freedom or more."""

ALIKE_VARIANCE, ALIKE_FOURTH = 1e-12, 1e-13
"""A difference smaller than this share of the numbers subtracted may be all rounding error."""


@dataclass(frozen=True)
class SampleEstimate:
    """An estimate from a sample, with its 95 % interval if the sample is large enough.

    Attributes
    ----------
    value
        The estimate.
    low, high
        The 95 % confidence interval; both None if there is none.
    clusters
        Number of sampled clusters that it was made from.
    note
        Why there is no interval; None if there is one.

    Examples
    --------
    >>> print(SampleEstimate(100.0, 80.0, 125.0, clusters=90))
    100 (80 to 125)
    >>> print(SampleEstimate(100.0, None, None, clusters=3, note="too few clusters"))
    100 (too few clusters)
    """

    value: float
    low: float | None
    high: float | None
    clusters: int
    note: str | None = None

    def __str__(self) -> str:
        """Return the number and its interval, as text."""
        if self.low is None or self.high is None:
            return f"{self.value:.3g} ({self.note})"
        return f"{self.value:.3g} ({self.low:.3g} to {self.high:.3g})"


def total_of(
    values: npt.ArrayLike, weights: npt.ArrayLike, clusters: npt.ArrayLike
) -> SampleEstimate:
    """Estimate a total by Horvitz and Thompson, with the variance of samples drawn by cluster.

    If all values are 0 or more, the interval is that of the total's logarithm, and its lower end
    is at least the sum of the sample. Otherwise it is symmetric.

    Parameters
    ----------
    values
        One for each sampled row, finite; all 1 for a count.
    weights
        One over the probability of each row, 1 or more.
    clusters
        The cluster of each row: whole numbers.

    Examples
    --------
    >>> rows = np.arange(300)
    >>> total_of(np.ones(300), np.full(300, 4.0), clusters=rows // 3)
    SampleEstimate(value=1200.0, low=1010.88..., high=1424.49..., clusters=100, note=None)
    >>> print(total_of(np.ones(30), np.full(30, 4.0), clusters=rows[:30] // 3))
    120 (too few clusters)
    >>> print(total_of(np.ones(30), np.ones(30), clusters=rows[:30]))
    30 (30 to 30)

    References
    ----------
    Särndal, Swensson and Wretman, Model Assisted Survey Sampling (1992), section 3.5 (Poisson
    sampling), with clusters for elements. Departs from it where the probability of a cluster fell
    while it was sampled: then the pair term w_s w_t - max(w_s, w_t) is replaced by
    w_s w_t - sqrt(w_s w_t), which is no smaller, so that one pass over the rows is enough.
    """
    y, w = np.asarray(values, dtype=np.float64), np.asarray(weights, dtype=np.float64)
    cluster, count = _numbered(clusters)
    weighted = w * y
    total = float(weighted.sum())
    if count and w.max() <= 1:
        return SampleEstimate(total, total, total, count)
    # v_c = A_c**2 - D_c**2, with A_c the sum of w y and D_c that of sqrt(w) y.
    parts = (
        np.bincount(cluster, weighted, count) ** 2
        - np.bincount(cluster, np.sqrt(w) * y, count) ** 2
    )
    variance, freedom = float(parts.sum()), _freedom(parts)
    if freedom < LEAST_CLUSTERS:
        return SampleEstimate(total, None, None, count, TOO_FEW)
    deviations = _student(freedom)
    if y.min() < 0:
        reach = deviations * math.sqrt(variance)
        return SampleEstimate(total, total - reach, total + reach, count)
    # The parts are skewed: the logarithm of the total is closer to normal than the total.
    spread = math.exp(deviations * math.sqrt(math.log1p(variance / total**2)))
    return SampleEstimate(total, max(total / spread, float(y.sum())), total * spread, count)


def average_of(
    values: npt.ArrayLike, weights: npt.ArrayLike, clusters: npt.ArrayLike
) -> SampleEstimate:
    """Estimate an average, as the ratio of two totals; parameters as in `total_of`.

    Examples
    --------
    >>> rows = np.arange(300)
    >>> average_of(rows % 7, np.full(300, 4.0), clusters=rows // 3)
    SampleEstimate(value=2.99, low=2.77..., high=3.20..., clusters=100, note=None)

    References
    ----------
    Särndal, Swensson and Wretman (1992), section 5.6: the ratio, linearised.
    """
    x, w = np.asarray(values, dtype=np.float64), np.asarray(weights, dtype=np.float64)
    cluster, count = _numbered(clusters)
    if not count:
        return SampleEstimate(math.nan, None, None, 0, TOO_FEW)
    size = float(w.sum())
    average = float((w * x).sum()) / size
    if w.max() <= 1:
        return SampleEstimate(average, average, average, count)
    root = np.sqrt(w)
    sums = [np.bincount(cluster, each, count) for each in (w * x, w, root * x, root)]
    of_values = sums[0] ** 2 - sums[2] ** 2
    of_ones = sums[1] ** 2 - sums[3] ** 2
    # v_c as for a total, of the residuals x - R in place of y.
    parts = (sums[0] - average * sums[1]) ** 2 - (sums[2] - average * sums[3]) ** 2
    # The ratio is near normal only if the size is known about as well as the residuals.
    freedom = min(_freedom(parts), _freedom(of_ones))
    variance, least = float(parts.sum()), of_values.sum() + average**2 * of_ones.sum()
    fourth, least_fourth = (parts**2).sum(), (of_values**2).sum() + average**4 * (of_ones**2).sum()
    if variance <= ALIKE_VARIANCE * least or fourth <= ALIKE_FOURTH * least_fourth:
        return SampleEstimate(average, None, None, count, TOO_ALIKE)
    if freedom < LEAST_CLUSTERS:
        return SampleEstimate(average, None, None, count, TOO_FEW)
    reach = _student(freedom) * math.sqrt(variance) / size
    return SampleEstimate(average, average - reach, average + reach, count)


def _numbered(clusters: npt.ArrayLike) -> tuple[npt.NDArray[np.intp], int]:
    """Number the clusters from 0; also return how many there are."""
    found, numbers = np.unique(np.asarray(clusters), return_inverse=True)
    return numbers, len(found)


def _freedom(parts: npt.NDArray[Any]) -> float:
    """Return the number of equal parts with the same variance; 0 if the sum is not above 0."""
    total = float(parts.sum())
    return total**2 / float((parts**2).sum()) if total > 0 else 0.0


def _student(freedom: float) -> float:
    return sum(term / freedom**power for power, term in enumerate(STUDENT))

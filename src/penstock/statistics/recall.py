"""How much of the answer was given: an estimate with an interval, from the watched tuples."""

from __future__ import annotations

import math
from dataclasses import dataclass

__all__ = ["Estimate", "recall_of", "size_of"]

# Of the normal distribution: 95 % lies within so many deviations.
_DEVIATIONS = 1.959964


@dataclass(frozen=True)
class Estimate:
    """A number that was not counted but estimated, with its 95 % interval.

    Attributes
    ----------
    value
        The best guess.
    low, high
        In 95 of 100 cases the true number is from `low` to `high`.

    Examples
    --------
    >>> print(Estimate(0.25, 0.2, 0.31))
    0.25 (0.2 to 0.31)
    """

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        """Give the number and its interval."""
        return f"{self.value:.3g} ({self.low:.3g} to {self.high:.3g})"


def size_of(emitted: float, total: float, variance: float) -> Estimate | None:
    """Estimate the size of the true result.

    Parameters
    ----------
    emitted
        Results that were given: there are no fewer.
    total
        The watched tuples' results, each times the number of tuples that it stands for.
    variance
        Of `total`, estimated.

    Returns
    -------
    Estimate or None
        None if the watched tuples have not seen any result, so that nothing can be said.

    Examples
    --------
    >>> size_of(emitted=50, total=100.0, variance=25.0)
    Estimate(value=100.0, low=90.67..., high=110.28...)
    """
    if total <= 0:
        return None
    # A total of skewed parts: its logarithm is nearer to normal than it is itself.
    spread = math.exp(_DEVIATIONS * math.sqrt(math.log1p(max(variance, 0.0) / total**2)))
    bound = float(emitted)
    return Estimate(*(max(size, bound) for size in (total, total / spread, total * spread)))


def recall_of(emitted: float, total: float, variance: float) -> Estimate | None:
    """Estimate the share of the true result that was given; parameters as in `size_of`.

    Examples
    --------
    >>> recall_of(emitted=50, total=100.0, variance=25.0)
    Estimate(value=0.5, low=0.453..., high=0.551...)
    """
    size = size_of(emitted, total, variance)
    if size is None:
        return None
    return Estimate(emitted / size.value, emitted / size.high, emitted / size.low)

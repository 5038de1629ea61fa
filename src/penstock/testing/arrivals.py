"""Arrival times of the rows of a synthetic stream."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
import numpy.typing as npt

from penstock.testing._arguments import check_one_of, check_positive

__all__ = ["ARRIVAL_LAWS", "ArrivalLaw", "arrival_times"]

ArrivalLaw = Literal["paper", "mean-rate"]

# Shortest and longest gap between two arrivals, in units of 1 / rate. The second distribution is
# the first one scaled by 0.8, so that its mean is 1 and not 1.25.
ARRIVAL_LAWS: dict[ArrivalLaw, tuple[float, float]] = {
    "paper": (0.5, 2.0),
    "mean-rate": (0.4, 1.6),
}


def arrival_times(
    *,
    rate: float,
    duration: float,
    law: ArrivalLaw,
    generator: np.random.Generator,
) -> npt.NDArray[np.float64]:
    """Draw arrival times, in order, with uniformly distributed gaps.

    Parameters
    ----------
    rate
        r, rows per unit of time; positive.
    duration
        The last arrival is not after this; positive, in units of time. The first one is one
        gap after 0.
    law
        ``"paper"``: gaps in [1/(2 rate), 2/rate], as the paper says. Their mean is 1.25/rate, so
        the stream really has 0.8 * rate rows per unit of time. ``"mean-rate"``: gaps in
        [0.4/rate, 1.6/rate], the same scaled so that the stream really has `rate`.
    generator
        Source of the random draws.

    Returns
    -------
    numpy.ndarray
        Ascending times, float64.

    Examples
    --------
    >>> draws = np.random.default_rng(7)
    >>> times = arrival_times(rate=2.0, duration=10_000.0, law="paper", generator=draws)
    >>> round(len(times) / 10_000, 1)
    1.6
    >>> times = arrival_times(rate=2.0, duration=10_000.0, law="mean-rate", generator=draws)
    >>> round(len(times) / 10_000, 1)
    2.0

    References
    ----------
    Srivastava and Widom, Memory-Limited Execution of Windowed Stream Joins (VLDB 2004),
    section 6.2. Departs from the paper in the law ``"mean-rate"``, which is ours.
    """
    check_positive("rate", rate)
    check_positive("duration", duration)
    check_one_of("law", law, tuple(ARRIVAL_LAWS))
    shortest, longest = (factor / rate for factor in ARRIVAL_LAWS[law])
    # As many gaps as would fit if all were the shortest: always enough.
    most = math.ceil(duration / shortest) + 1
    times = np.cumsum(generator.uniform(shortest, longest, size=most))
    return times[: np.searchsorted(times, duration, side="right")]

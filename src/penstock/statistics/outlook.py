"""Statistics of one stream's window, in the form in which strategies need them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from penstock.statistics.age_curve import AgeCurve

__all__ = ["Outlook", "smoothed_curve"]

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Outlook:
    """Statistics of one stream for strategies; times are in parts of a row's life.

    Attributes
    ----------
    curve
        Results of a row in each part of its life.
    rate
        Rows that arrive in the time of one part.
    likeliness, weights
        For each monitored row, its expected matches by the frequency of its key, relative to the
        average row, and the number of rows that it stands for.
    """

    curve: AgeCurve
    rate: float
    likeliness: Floats
    weights: Floats

    @property
    def pace(self) -> float:
        """Results of a row in a part of its life, on average."""
        return self.curve.total / max(1, self.curve.parts)


def smoothed_curve(matched: Floats, exposed: Floats) -> Floats:
    """Estimate p(k) from the weighted matches in each part, and the time that rows spent in it.

    Each part is averaged with its neighbours. A part that no row has reached is estimated by the
    average.

    Examples
    --------
    >>> smoothed_curve(np.array([10.0, 20, 30, 0]), np.array([10.0, 10, 10, 0])).round(2).tolist()
    [1.34, 2.0, 2.65, 2.96]
    """
    if exposed.sum() <= 0:
        return np.zeros(matched.size)
    average = matched.sum() / exposed.sum()
    prior = exposed.sum() / exposed.size / 50
    near = np.array([0.25, 0.5, 0.25])
    if matched.size >= near.size:
        ends = np.convolve(np.ones(matched.size), near, mode="same")
        matched, exposed = (
            np.convolve(column, near, mode="same") / ends for column in (matched, exposed)
        )
    curve: Floats = (matched + prior * average) / (exposed + prior)
    return curve

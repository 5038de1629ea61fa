"""What is known of one stream's window, in the form in which strategies ask for it."""

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
    """One stream as the strategies see it; times are in parts of a tuple's life.

    Attributes
    ----------
    curve
        Results of a tuple in each part of its life.
    rate
        Tuples that come in the time of one part.
    likeliness, weights
        Of the tuples watched: what their keys' frequencies say of each, 1 on average, and how
        many tuples each stands for.
    """

    curve: AgeCurve
    rate: float
    likeliness: Floats
    weights: Floats

    @property
    def pace(self) -> float:
        """Results of a tuple in a part of its life, on average."""
        return self.curve.total / max(1, self.curve.parts)


def smoothed_curve(matched: Floats, exposed: Floats) -> Floats:
    """Give p(k) from weighted matches in each part, and the time that tuples spent in it.

    Neighbours lend each other weight, and a part that nobody has reached is taken to be like the
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

"""The orders in which rows leave when room is needed: what `Retain` of a decision has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from penstock.strategies.grades import ABOVE, BELOW

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]

__all__ = [
    "LowestRating",
    "LowestScore",
    "Oldest",
    "Order",
    "ResidencePriority",
    "SampleThreshold",
]


@dataclass(frozen=True)
class Order:
    """Step 5: which row of a stream leaves first when room is needed; the base of all orders.

    Which order it is stays the same for the whole join; its numbers may change at every review.
    """

    is_of_sample: ClassVar[bool] = False  # rows are there by lot, and results carry weights

    @property
    def draws_matches(self) -> bool:
        """Whether matches are drawn one by one, and not rows with all their matches."""
        return False


@dataclass(frozen=True)
class Oldest(Order):
    """The oldest row leaves first."""


@dataclass(frozen=True)
class LowestRating(Order):
    """The row that `Strategy.rate` gave the lowest number leaves first, of equals the earliest.

    Attributes
    ----------
    favours_held
        Whether an arriving row that is rated as low as the lowest row in memory is dropped.
    """

    favours_held: bool = False


@dataclass(frozen=True)
class LowestScore(Order):
    """The row with the lowest score leaves first: its rating times what its age is worth.

    Rows are put into cells by age and by the logarithm of their rating, and a whole cell is
    ranked at a time (decision 15).

    Attributes
    ----------
    worth
        For each stream the worth of each age, from 0 to a whole life, in parts of it.
    grades_per_octave
        How finely ratings are distinguished; 0 if all are alike.
    rates_again
        Whether the likeliness of rows in memory is read again when they are rated again. If not,
        it stays what it was when the row came.
    """

    worth: tuple[Floats, ...]
    grades_per_octave: int = 0
    rates_again: bool = False

    @property
    def grades(self) -> int:
        """Into how many grades rows are put."""
        return self.grades_per_octave * (BELOW + ABOVE) + 1


@dataclass(frozen=True)
class SampleThreshold(Order):
    """A row is in the sample while what it has drawn is below a threshold (decision 19).

    Attributes
    ----------
    fraction
        The threshold for rows to come. None leaves it where it is: it falls by itself whenever
        memory is full.
    by_match
        Whether matches are drawn one by one; otherwise rows are, with all their matches.
    by_size
        Whether a row's chance is the fraction times its rating; otherwise all have the same.
    """

    is_of_sample: ClassVar[bool] = True

    fraction: float | None = None
    by_match: bool = False
    by_size: bool = False

    @property
    def draws_matches(self) -> bool:
        """Whether matches are drawn one by one, and not rows with all their matches."""
        return self.by_match


@dataclass(frozen=True)
class ResidencePriority(Order):
    """The row with the lowest residence priority leaves first: importance by matches per age.

    Times are in windows of the row's own stream.

    Attributes
    ----------
    maturity
        tau: no row that is not older leaves while there is another.
    unproductivity
        Delta: rows without a match for this long are penalised.
    penalty
        c: for each window since the last match.
    decay
        d, per window.
    recompute
        "successive", "k-successive", "adaptive" or "adaptive-below".
    every
        k: decisions for which one computation of priorities serves.
    tolerance
        epsilon: relative change of quality.
    has_initial
        Whether `Strategy.begin_with` says with which priority rows come: RP_init.
    """

    maturity: float
    unproductivity: float
    penalty: float
    decay: float
    recompute: str
    every: int
    tolerance: float
    has_initial: bool = False

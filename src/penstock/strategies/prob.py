"""PROB: keep the tuples whose values are most frequent in the other streams."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import numpy.typing as npt

from penstock.goals import Goal, MaxImportance, MaxSubset
from penstock.statistics.frequency_output import frequency_output
from penstock.strategies.base import ScoringStrategy

if TYPE_CHECKING:
    from penstock.statistics.outlook import Outlook
    from penstock.strategies.base import Waiting

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Prob(ScoringStrategy):
    """Keep tuples by value: the one whose value is rarest in the other streams leaves first.

    With more than two streams it is the product of the value's frequencies in all others; with a
    predicate other than equality, the share of the others' tuples that a tuple matches.

    References
    ----------
    PROB of Das, Gehrke and Riedewald (SIGMOD 2003), as in `srivastava04` 3.3. Departs from it in
    that values of nearly the same frequency (within a tenth) count as equal: the oldest of them
    leaves first.

    Examples
    --------
    >>> from penstock.strategies.base import Waiting
    >>> from penstock.statistics.age_curve import AgeCurve
    >>> from penstock.statistics.outlook import Outlook
    >>> outlook = Outlook(AgeCurve([2.0]), 1.0, np.ones(1), np.ones(1))
    >>> waiting = Waiting(np.array([0.2, 0.5]), np.array([3.0, 0.5]), np.zeros(2))
    >>> Prob().weights(outlook, waiting).tolist()
    [3.0, 0.5]
    """

    name: ClassVar[str] = "prob"
    serves: ClassVar[tuple[type[Goal], ...]] = (MaxSubset, MaxImportance)
    needs_frequencies: ClassVar[bool] = True
    needs_fresh: ClassVar[bool] = True
    grades_per_octave: ClassVar[int] = 8
    parts: int = 8  # how often in a window memory is divided anew

    def by_age(self, outlook: Outlook) -> Floats:
        """Give the same for all ages."""
        return np.ones(outlook.curve.parts + 1)

    def weights(self, outlook: Outlook, tuples: Waiting) -> Floats:
        """Give what the frequency of each one's value says."""
        del outlook
        return tuples.likeliness

    def output(self, outlook: Outlook, rows: Floats) -> Floats:
        """Give the rate of section 3.3, with the tuples watched for all values."""
        return frequency_output(
            rows,
            own=outlook.weights / max(outlook.weights.sum(), 1.0),
            partner=outlook.likeliness,
            rate=outlook.rate,
            partner_rate=outlook.pace,
            window=outlook.curve.parts,
        )

    def expected(self, outlook: Outlook, tuples: Waiting) -> Floats:
        """Give eq. 1, for a part of a life."""
        return outlook.pace * tuples.likeliness

"""PROB: keep the rows whose keys are most frequent in the other streams."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from penstock.goals import Goal, MaxImportance, MaxSubset
from penstock.statistics.frequency_output import frequency_output
from penstock.strategies.base import Floats, Needs
from penstock.strategies.scoring import ScoringStrategy

if TYPE_CHECKING:
    from penstock.statistics.outlook import Outlook
    from penstock.strategies.view import Rows


@dataclass(frozen=True)
class Prob(ScoringStrategy):
    """Keep rows by key: the one whose key is rarest in the other streams leaves first.

    With more than two streams it is the product of the key's frequencies in all others; with a
    predicate other than equality, the share of the others' rows that a row matches.

    References
    ----------
    PROB of Das, Gehrke and Riedewald (SIGMOD 2003), as in `srivastava04` 3.3. Departs from it in
    that keys of nearly the same frequency (within a tenth) count as equal: the oldest row of them
    leaves first.

    Examples
    --------
    >>> from penstock.strategies.view import Rows
    >>> from penstock.statistics.age_curve import AgeCurve
    >>> from penstock.statistics.outlook import Outlook
    >>> outlook = Outlook(AgeCurve([2.0]), 1.0, np.ones(1), np.ones(1))
    >>> waiting = Rows(0, np.array([0.2, 0.5]), np.array([3.0, 0.5]), np.zeros(2))
    >>> Prob().weights(outlook, waiting).tolist()
    [3.0, 0.5]
    """

    name: ClassVar[str] = "prob"
    serves: ClassVar[tuple[type[Goal], ...]] = (MaxSubset, MaxImportance)
    needs: ClassVar[Needs] = Needs(frequencies=True, matches=True, parts=8)
    needs_fresh: ClassVar[bool] = True
    grades_per_octave: ClassVar[int] = 8
    belief: ClassVar[float] = np.inf

    def by_age(self, outlook: Outlook) -> Floats:
        """Return the same for all ages."""
        return np.ones(outlook.curve.parts + 1)

    def level(self, outlook: Outlook, part: float, partner_rate: float) -> float:
        """Return how fast rows come that may match."""
        del outlook, part
        return partner_rate

    def weights(self, outlook: Outlook, rows: Rows) -> Floats:
        """Return what the frequency of each one's key says."""
        del outlook
        return rows.likeliness

    def output(self, outlook: Outlook, rows: Floats) -> Floats:
        """Compute the rate of section 3.3, with the monitored rows for all keys."""
        return frequency_output(
            rows,
            own=outlook.weights / max(outlook.weights.sum(), 1.0),
            partner=outlook.likeliness,
            rate=outlook.rate,
            partner_rate=outlook.pace,
            window=outlook.curve.parts,
        )

    def expected(self, outlook: Outlook, rows: Rows) -> Floats:
        """Compute eq. 1, for a part of a life."""
        return outlook.pace * rows.likeliness

"""AGE: keep rows as long as their age gives most results for the room that they take."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from penstock.goals import Goal, MaxSubset
from penstock.strategies.base import Floats, Needs
from penstock.strategies.scoring import ScoringStrategy

if TYPE_CHECKING:
    from penstock.statistics.outlook import Outlook
    from penstock.strategies.view import Rows


@dataclass(frozen=True)
class Age(ScoringStrategy):
    """Keep rows by age: the one with the slowest rate of results from now on leaves first.

    Where the age curve has no minima this means: if memory does not reach for k_opt, the age up to
    which a row gives most results per time, rows are kept for k_opt and others not taken in
    meanwhile (staggered retention); if it reaches further, all are taken in and the oldest leave.

    References
    ----------
    `srivastava04` 3.2.1, the greedy rule Priority(i), of which the rules for k_opt are special
    cases; ties evict the oldest. Departs from it in that ages are taken in parts of the window.

    Examples
    --------
    >>> from penstock.statistics.age_curve import AgeCurve
    >>> from penstock.statistics.outlook import Outlook
    >>> outlook = Outlook(AgeCurve([1, 1, 2, 1]), 1.0, np.ones(1), np.ones(1))
    >>> Age().by_age(outlook).round(3).tolist()
    [1.333, 1.5, 2.0, 1.0, 0.0]
    """

    name: ClassVar[str] = "age"
    serves: ClassVar[tuple[type[Goal], ...]] = (MaxSubset,)
    needs: ClassVar[Needs] = Needs(curves=True, matches=True)

    def by_age(self, outlook: Outlook) -> Floats:
        """Return Priority(i)."""
        return outlook.curve.priorities()

    def output(self, outlook: Outlook, rows: Floats) -> Floats:
        """Compute eq. 3."""
        return outlook.curve.output(rows, rate=outlook.rate, window=outlook.curve.parts)

    def expected(self, outlook: Outlook, rows: Rows) -> Floats:
        """Return p(k) at each one's age."""
        part = np.minimum(rows.ages.astype(np.int64), outlook.curve.parts - 1)
        return outlook.curve.matches[part]

"""EXPECTED: keep the tuples of which most is still to be expected, by age, value and past."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import numpy.typing as npt

from penstock.goals import Goal, MaxSubset
from penstock.strategies.age import Age
from penstock.strategies.base import ScoringStrategy

if TYPE_CHECKING:
    from penstock.statistics.outlook import Outlook
    from penstock.strategies.base import Waiting

Floats = npt.NDArray[np.float64]

# How firmly a tuple is taken to be like others of its value, in results: the one that predicts
# best is used.
_FIRMNESS = (4.0, 1.0, 16.0)


@dataclass(frozen=True)
class Expected(ScoringStrategy):
    """Keep tuples by the results still to be expected: of their age, their value and their past.

    A tuple is first taken to match as often as its value says; then its own results are compared
    with what was due by its age, and what is still to come is raised or lowered accordingly: with
    `a` results' worth of belief in the value, (a + matches) / (a / likeliness + C(age)) times the
    age curve (the mean of a Gamma prior after that many events). A hot auction is thus known as
    such after a few bids, which neither its age nor its number could tell.

    Parameters
    ----------
    parts
        Into which a tuple's life is divided: the granularity of the age curve.
    firmness
        a: results that it takes to doubt what the value says.

    References
    ----------
    Ours. Age as in AGE, value as in PROB, `srivastava04` 3.2 and 3.3, which condition 1 of its
    Definition 2.2 keeps apart.

    Examples
    --------
    >>> from penstock.strategies.base import Waiting
    >>> from penstock.statistics.age_curve import AgeCurve
    >>> from penstock.statistics.outlook import Outlook
    >>> outlook = Outlook(AgeCurve([4.0, 4.0]), 1.0, np.ones(1), np.ones(1))
    >>> waiting = Waiting(np.array([0.0, 1.0, 1.0]), np.ones(3), np.array([0.0, 0.0, 8.0]))
    >>> Expected(parts=2, firmness=4.0).weights(outlook, waiting).tolist()
    [1.0, 0.5, 1.5]
    """

    name: ClassVar[str] = "expected"
    serves: ClassVar[tuple[type[Goal], ...]] = (MaxSubset,)
    needs_curve: ClassVar[bool] = True
    needs_frequencies: ClassVar[bool] = True
    grades_per_octave: ClassVar[int] = 3
    parts: int = 32
    firmness: float = _FIRMNESS[0]

    @classmethod
    def of(cls, goal: Goal) -> Expected:
        """Take the granularity from the goal."""
        return cls(goal.parts if isinstance(goal, MaxSubset) else cls.parts)

    @property
    def experts(self) -> tuple[ScoringStrategy, ...]:
        """The same with different firmness."""
        return tuple(Expected(self.parts, firmness) for firmness in _FIRMNESS)

    def by_age(self, outlook: Outlook) -> Floats:
        """Give Priority(i), as AGE does."""
        return outlook.curve.priorities()

    def weights(self, outlook: Outlook, tuples: Waiting) -> Floats:
        """Give (a + matches) / (a / likeliness + C(age))."""
        cumulative = outlook.curve.cumulative()
        due = np.interp(tuples.ages, np.arange(cumulative.size), cumulative)
        prior = self.firmness / np.maximum(tuples.likeliness, 1e-6)
        weights: Floats = (self.firmness + tuples.matches) / (prior + due)
        return weights

    def output(self, outlook: Outlook, rows: Floats) -> Floats:
        """Give what AGE would: a lower bound."""
        return Age(self.parts).output(outlook, rows)

    def expected(self, outlook: Outlook, tuples: Waiting) -> Floats:
        """Give p(k) at each one's age, times its weight."""
        return Age(self.parts).expected(outlook, tuples) * self.weights(outlook, tuples)

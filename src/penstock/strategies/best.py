"""BEST: of the models of how tuples match, the one that predicts best."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import numpy.typing as npt

from penstock.goals import Goal, MaxSubset
from penstock.strategies.age import Age
from penstock.strategies.base import ScoringStrategy
from penstock.strategies.expected import Expected
from penstock.strategies.prob import Prob

if TYPE_CHECKING:
    from penstock.statistics.outlook import Outlook
    from penstock.strategies.base import Waiting

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Best(ScoringStrategy):
    """Let AGE, PROB and EXPECTED predict what the watched tuples match, and follow the best.

    All three predict all the time, also those that are not followed; the metrics say which is and
    by how much it predicts better. It changes only if another has been clearly better for some
    time.

    References
    ----------
    `srivastava04` leaves the choice between the age and the frequency model to the user.

    Examples
    --------
    >>> [expert.name for expert in Best().experts]
    ['age', 'prob', 'expected', 'expected', 'expected']
    """

    name: ClassVar[str] = "best"
    serves: ClassVar[tuple[type[Goal], ...]] = (MaxSubset,)
    needs_curve: ClassVar[bool] = True
    needs_frequencies: ClassVar[bool] = True
    grades_per_octave: ClassVar[int] = 4
    parts: int = 32

    @classmethod
    def of(cls, goal: Goal) -> Best:
        """Take the granularity from the goal."""
        return cls(goal.parts if isinstance(goal, MaxSubset) else cls.parts)

    @property
    def experts(self) -> tuple[ScoringStrategy, ...]:
        """Those that predict, the first one to be followed before there is anything to go by."""
        return (Age(self.parts), Prob(self.parts), *Expected(self.parts).experts)

    def by_age(self, outlook: Outlook) -> Floats:
        """Give what the first expert does."""
        return self.experts[0].by_age(outlook)

    def output(self, outlook: Outlook, rows: Floats) -> Floats:
        """Give the most that any expert promises."""
        promised: Floats = np.max([each.output(outlook, rows) for each in self.experts], axis=0)
        return promised

    def expected(self, outlook: Outlook, tuples: Waiting) -> Floats:
        """Give what the first expert does."""
        return self.experts[0].expected(outlook, tuples)

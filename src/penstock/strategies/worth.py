"""WORTH: keep the tuples whose results to come matter most."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from penstock.goals import Goal, MaxImportance
from penstock.strategies.age import Age
from penstock.strategies.best import Best
from penstock.strategies.expected import Expected
from penstock.strategies.prob import Prob

if TYPE_CHECKING:
    from penstock.strategies.base import ScoringStrategy


@dataclass(frozen=True)
class Worth(Best):
    """Keep tuples by the results still to be expected of each, times what a result of it matters.

    How many results are to be expected, the best of AGE, PROB and EXPECTED says, as for `best`.
    What a result matters follows from the tuple's importance and from that of the tuples that the
    other streams bring. A goal that asks for `fairness` has the score count less, and how long a
    tuple has stayed more: with 1 the oldest leaves, whatever its worth.

    References
    ----------
    Ours. `kulkarni08` 4.3 has importance times matches so far, by age, for the same purpose.

    Examples
    --------
    >>> [expert.name for expert in Worth().experts]
    ['prob', 'age', 'expected', 'expected', 'expected']
    """

    name: ClassVar[str] = "worth"
    serves: ClassVar[tuple[type[Goal], ...]] = (MaxImportance,)
    by_importance: ClassVar[bool] = True

    @classmethod
    def of(cls, goal: Goal) -> Worth:
        """Take the granularity from the goal."""
        return cls(goal.parts if isinstance(goal, MaxImportance) else cls.parts)

    @property
    def experts(self) -> tuple[ScoringStrategy, ...]:
        """Those that predict. Before there is anything to go by, all ages are alike."""
        return (Prob(self.parts), Age(self.parts), *Expected(self.parts).experts)

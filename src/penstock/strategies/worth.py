"""WORTH: keep the rows whose results to come matter most."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from penstock.errors import SpecificationError, must
from penstock.goals import Goal, MaxImportance
from penstock.importance.definitions import finite
from penstock.strategies import expected
from penstock.strategies.age import Age
from penstock.strategies.base import Needs
from penstock.strategies.best import TRIED, Best
from penstock.strategies.prob import Prob

# The first one is followed before there is anything to go by: all ages are alike then.
_MODELS = (Prob(), Age(), *expected.MODELS)


@dataclass(frozen=True, kw_only=True)
class Worth(Best):
    """Keep rows by the results still to be expected of each, times what a result of it matters.

    How many results are to be expected, the best of AGE, PROB and EXPECTED says, as for `best`:
    on trial the one whose results matter most in all.
    What a result matters follows from the row's importance and from that of the rows that the
    other streams bring.

    Parameters
    ----------
    fairness
        From 0, importance is all that counts, to 1, the oldest row leaves, whatever its worth:
        all rows stay equally long.

    References
    ----------
    Ours. `kulkarni08` 4.3 has importance times matches so far, by age, for the same purpose.

    Examples
    --------
    >>> [model.name for model in Worth.needs.models]
    ['prob', 'age', 'expected', 'expected', 'expected']
    """

    name: ClassVar[str] = "worth"
    serves: ClassVar[tuple[type[Goal], ...]] = (MaxImportance,)
    needs: ClassVar[Needs] = Needs(
        curves=True,
        frequencies=True,
        matches=True,
        importance=True,
        models=_MODELS,
        tried=TRIED,
    )
    fairness: float = 0.0

    def __post_init__(self) -> None:
        """Check the parameter."""
        number = finite(self.fairness)
        if number is None or not 0 <= number <= 1:
            hint = "0 goes for importance alone"
            raise SpecificationError(must("fairness of Worth", "from 0 to 1", self.fairness, hint))
        object.__setattr__(self, "fairness", number)

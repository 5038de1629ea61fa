"""BEST: of the models of how rows match, the one that finds most, or predicts best."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from penstock.goals import Goal, MaxSubset
from penstock.strategies import expected
from penstock.strategies.age import Age
from penstock.strategies.base import Floats, Needs
from penstock.strategies.prob import Prob
from penstock.strategies.scoring import ScoringStrategy

if TYPE_CHECKING:
    from penstock.statistics.outlook import Outlook
    from penstock.strategies.view import Rows

# The first one is followed before there is anything to go by.
MODELS: tuple[ScoringStrategy, ...] = (Age(), Prob(), *expected.MODELS)


@dataclass(frozen=True)
class Best(ScoringStrategy):
    """Let AGE, PROB and EXPECTED predict what the monitored rows match, and follow the best.

    All three predict all the time, also those that are not followed; the metrics say which is and
    by how much it predicts better. It changes only if another has been clearly better for some
    time.

    References
    ----------
    Ours; `srivastava04` leaves the choice between the age and the frequency model to the user.

    Examples
    --------
    >>> [model.name for model in Best.needs.models]
    ['age', 'prob', 'expected', 'expected', 'expected']
    """

    name: ClassVar[str] = "best"
    serves: ClassVar[tuple[type[Goal], ...]] = (MaxSubset,)
    needs: ClassVar[Needs] = Needs(curves=True, frequencies=True, matches=True, models=MODELS)
    grades_per_octave: ClassVar[int] = 4

    def by_age(self, outlook: Outlook) -> Floats:
        """Return what the first model does."""
        return MODELS[0].by_age(outlook)

    def output(self, outlook: Outlook, rows: Floats) -> Floats:
        """Return the most that any model promises."""
        promised: Floats = np.max([each.output(outlook, rows) for each in MODELS], axis=0)
        return promised

    def expected(self, outlook: Outlook, rows: Rows) -> Floats:
        """Return what the first model does."""
        return MODELS[0].expected(outlook, rows)

"""BEST: of the models of how rows match, the one that finds most, or predicts best."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from penstock.goals import Goal, MaxSubset
from penstock.strategies import expected
from penstock.strategies.age import Age
from penstock.strategies.base import Floats, Needs
from penstock.strategies.expected import Expected
from penstock.strategies.prob import Prob
from penstock.strategies.recent import Recent
from penstock.strategies.scoring import ScoringStrategy
from penstock.strategies.until_expiry import UntilExpiry

if TYPE_CHECKING:
    from penstock.statistics.outlook import Outlook
    from penstock.strategies.view import Rows

# The first one is followed before there is anything to go by.
MODELS: tuple[ScoringStrategy, ...] = (Age(), Prob(), *expected.MODELS)
# On trial it is PROB: keys are counted from the first row on. Two are optimistic, because which
# rows have many matches is seen only of those that are kept for a while.
TRIED: tuple[ScoringStrategy, ...] = (
    Prob(),
    Age(),
    *expected.MODELS,
    Expected(1.0, 1.0),
    Expected(1.0, 3.0),
    UntilExpiry(),
    Recent(),
)


@dataclass(frozen=True)
class Best(ScoringStrategy):
    """Follow the model that finds most; where that cannot be tried, the one that predicts best.

    For two streams with equal keys AGE, PROB, EXPECTED, UNTIL-EXPIRY and FIFO are tried. Each has a
    small memory of its own, of rows without payload, and all arrivals look for results in all of
    these. The one that finds most is followed, and memory is divided between the streams as in its
    trial.

    For other joins AGE, PROB and EXPECTED predict what the monitored rows match, also those that
    are not followed. The one that predicts best is followed.

    The metrics say which is followed, and why. It changes only if another has been clearly better
    for some time.

    References
    ----------
    Ours; `srivastava04` leaves the choice between the age and the frequency model to the user.
    Trials are miniature simulations as in Waldspurger and others, USENIX ATC 2017, by row.

    Examples
    --------
    >>> [model.name for model in Best.needs.models]
    ['age', 'prob', 'expected', 'expected', 'expected']
    >>> sorted({model.name for model in Best.needs.tried})
    ['age', 'expected', 'fifo', 'prob', 'until-expiry']
    """

    name: ClassVar[str] = "best"
    serves: ClassVar[tuple[type[Goal], ...]] = (MaxSubset,)
    needs: ClassVar[Needs] = Needs(
        curves=True, frequencies=True, matches=True, models=MODELS, tried=TRIED
    )
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

"""EXPECTED: keep the rows of which most is still to be expected, by age, key and past."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from penstock.goals import Goal, MaxSubset
from penstock.strategies.age import Age
from penstock.strategies.base import Floats, Needs
from penstock.strategies.prob import Prob
from penstock.strategies.scoring import ScoringStrategy

if TYPE_CHECKING:
    from penstock.statistics.outlook import Outlook
    from penstock.strategies.view import Rows, View


@dataclass(frozen=True)
class Expected(ScoringStrategy):
    """Keep rows by the results still to be expected: of their age, their key and their past.

    A row is first taken to match as often as its key says; then its own results are compared
    with what was due by its age, and what is still to come is raised or lowered accordingly: with
    `a` results' worth of belief in the key, (a + matches) / (a / likeliness + C(age)) times the
    age curve (the mean of a Gamma prior after that many events). A hot auction is thus known as
    such after a few bids, which neither its age nor its number could tell.

    Parameters
    ----------
    firmness
        a: results that it takes to doubt what the key says. None, the default, follows the one of
        4, 1 and 16 that predicts best.
    optimism
        How many standard deviations, sqrt(a + matches), are added to a + matches. A row that has
        just come may turn out to match often, and only rows that are kept can show it.

    References
    ----------
    Ours. Age as in AGE, key as in PROB, `srivastava04` 3.2 and 3.3, which condition 1 of its
    Definition 2.2 keeps apart.

    Examples
    --------
    >>> from penstock.strategies.view import Rows
    >>> from penstock.statistics.age_curve import AgeCurve
    >>> from penstock.statistics.outlook import Outlook
    >>> outlook = Outlook(AgeCurve([4.0, 4.0]), 1.0, np.ones(1), np.ones(1))
    >>> waiting = Rows(0, np.array([0.0, 1.0, 1.0]), np.ones(3), np.array([0.0, 0.0, 8.0]))
    >>> Expected(firmness=4.0).weights(outlook, waiting).tolist()
    [1.0, 0.5, 1.5]
    >>> Expected(firmness=4.0, optimism=1.0).weights(outlook, waiting).round(2).tolist()
    [1.5, 0.75, 1.93]
    """

    name: ClassVar[str] = "expected"
    serves: ClassVar[tuple[type[Goal], ...]] = (MaxSubset,)
    needs: ClassVar[Needs] = Needs(curves=True, frequencies=True, matches=True)
    grades_per_octave: ClassVar[int] = 3
    firmness: float | None = None
    optimism: float = 0.0

    def followed(self, view: View) -> ScoringStrategy:
        """Return itself if its firmness is given."""
        return super().followed(view) if self.firmness is None else self

    @property
    def forecasts(self) -> tuple[ScoringStrategy, ...]:
        """AGE and PROB: what scores by both finds at least what the better of them finds."""
        return Age(), Prob()

    @property
    def belief(self) -> float:  # type: ignore[override]
        """Results that it takes to doubt what the key says."""
        return self.firmness or FIRMNESS[0]

    def by_age(self, outlook: Outlook) -> Floats:
        """Return Priority(i), as AGE does."""
        return outlook.curve.priorities()

    def weights(self, outlook: Outlook, rows: Rows) -> Floats:
        """Compute (a + matches) / (a / likeliness + C(age))."""
        cumulative = outlook.curve.cumulative()
        due = np.interp(rows.ages, np.arange(cumulative.size), cumulative)
        firmness = self.belief
        prior = firmness / np.maximum(rows.likeliness, 1e-6)
        known = firmness + rows.matches
        weights: Floats = (known + self.optimism * np.sqrt(known)) / (prior + due)
        return weights

    def output(self, outlook: Outlook, rows: Floats) -> Floats:
        """Return what AGE would make of so many rows: a lower bound."""
        return Age().output(outlook, rows)

    def expected(self, outlook: Outlook, rows: Rows) -> Floats:
        """Compute p(k) at each one's age, times its weight."""
        plain = replace(self, optimism=0.0)
        return Age().expected(outlook, rows) * plain.weights(outlook, rows)


FIRMNESS = (4.0, 1.0, 16.0)
MODELS = tuple(Expected(firmness) for firmness in FIRMNESS)
Expected.needs = Needs(curves=True, frequencies=True, matches=True, models=MODELS)

"""UNTIL-EXPIRY: rows stay until they expire; arriving rows only find what room is left."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from penstock.goals import Goal, MaxSubset
from penstock.strategies.scoring import ScoringStrategy

if TYPE_CHECKING:
    from penstock.statistics.outlook import Outlook
    from penstock.strategies.base import Floats
    from penstock.strategies.view import Rows


@dataclass(frozen=True)
class UntilExpiry(ScoringStrategy):
    """Keep rows until they expire: an arriving row that finds no room is dropped.

    As good as AGE where most matches come late in the window, and no better than chance
    elsewhere.

    References
    ----------
    UNTIL-EXPIRY in `srivastava04` 6.1.1.

    Examples
    --------
    >>> from penstock.statistics.age_curve import AgeCurve
    >>> from penstock.statistics.outlook import Outlook
    >>> outlook = Outlook(AgeCurve([1, 2]), 1.0, np.ones(1), np.ones(1))
    >>> UntilExpiry().by_age(outlook).tolist()
    [1.0, 2.0, 0.0]
    """

    name: ClassVar[str] = "until-expiry"
    serves: ClassVar[tuple[type[Goal], ...]] = (MaxSubset,)

    def by_age(self, outlook: Outlook) -> Floats:
        """Return more the older, until it expires."""
        worth = np.arange(1.0, outlook.curve.parts + 2, dtype=np.float64)
        worth[-1] = 0.0
        return worth

    def level(self, outlook: Outlook, part: float, partner_rate: float) -> float:
        """Return the results of a row per time: all ages are alike but for the order."""
        del partner_rate
        return outlook.pace / part / (outlook.curve.parts + 1)

    def output(self, outlook: Outlook, rows: Floats) -> Floats:
        """Return each row's results over a whole life."""
        needed = outlook.rate * outlook.curve.parts
        made: Floats = np.minimum(rows, needed) * outlook.pace
        return made

    def expected(self, outlook: Outlook, rows: Rows) -> Floats:
        """Return the average."""
        return np.full(rows.ages.size, outlook.pace)

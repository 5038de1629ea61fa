"""EQ-CLUSTER: rows drawn with equal chances, each with all its matches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from penstock.goals import Goal, Sample
from penstock.statistics.sampling_fraction import fraction_of_clusters
from penstock.strategies.sampling import SamplingStrategy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from penstock.statistics.outlook import Outlook
    from penstock.strategies.base import Floats
    from penstock.strategies.sampling import Population
    from penstock.strategies.view import Rows


@dataclass(frozen=True)
class EqCluster(SamplingStrategy):
    """Draw rows with equal chances, keep them for life, and give all their matches.

    Nothing need be known of the streams. Good where rows have about as many matches each.

    References
    ----------
    Strategy 2 of `srivastava04` 4.3.1; p from r W p = M. Departs from it in that the fraction
    falls when chance brings more rows than memory holds, and in that results then carry the
    chance that their row had until they came.

    Examples
    --------
    >>> from penstock.strategies.sampling import Population
    >>> alive = Population(1000.0, np.ones(1), np.ones(1), np.zeros(0))
    >>> EqCluster().fraction(100, [alive])
    0.1
    """

    name: ClassVar[str] = "eq-cluster"
    serves: ClassVar[tuple[type[Goal], ...]] = (Sample,)

    def expected(self, outlook: Outlook, rows: Rows) -> Floats:
        """Return the same for all."""
        return np.full(rows.ages.size, outlook.pace)

    def fraction(self, rows: float, populations: Sequence[Population], least: float = 0.0) -> float:
        """Solve r W p = M for p."""
        del least
        return fraction_of_clusters(rows, sum(each.rows for each in populations))

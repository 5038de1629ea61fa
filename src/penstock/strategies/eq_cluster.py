"""EQ-CLUSTER: a random part of the tuples, each with all its matches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import numpy.typing as npt

from penstock.goals import Goal, Sample
from penstock.statistics.sampling_fraction import fraction_of_clusters
from penstock.strategies.base import SamplingStrategy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from penstock.statistics.outlook import Outlook
    from penstock.strategies.base import Population, Waiting

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class EqCluster(SamplingStrategy):
    """Draw tuples with equal chances, keep them for life, and give all their matches.

    Nothing need be known of the streams. Good where tuples have about as many matches each.

    References
    ----------
    Strategy 2 of `srivastava04` 4.3.1; p from r W p = M. Departs from it in that the fraction
    falls when chance brings more tuples than memory holds, and in that results then carry the
    chance that their tuple had until they came.

    Examples
    --------
    >>> from penstock.strategies.base import Population
    >>> alive = Population(1000.0, np.ones(1), np.ones(1), np.zeros(0))
    >>> EqCluster().fraction(100, [alive])
    0.1
    """

    name: ClassVar[str] = "eq-cluster"
    serves: ClassVar[tuple[type[Goal], ...]] = (Sample,)
    parts: int = 8  # how often in a window the fraction is solved

    @property
    def experts(self) -> tuple[EqCluster, ...]:
        """Give this one alone."""
        return (self,)

    def expected(self, outlook: Outlook, tuples: Waiting) -> Floats:
        """Give the same for all."""
        return np.full(tuples.ages.size, outlook.pace)

    def fraction(self, rows: float, populations: Sequence[Population], least: float = 0.0) -> float:
        """Give p of r W p = M."""
        del least
        return fraction_of_clusters(rows, sum(each.tuples for each in populations))

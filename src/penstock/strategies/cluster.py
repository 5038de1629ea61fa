"""CLUSTER: rows drawn by size or with equal chances, whichever makes totals vary less."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from penstock.goals import Goal, Sample
from penstock.strategies.eq_cluster import EqCluster
from penstock.strategies.pps_cluster import PpsCluster
from penstock.strategies.sampling import SamplingStrategy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from penstock.strategies.base import Needs
    from penstock.strategies.sampling import Population


@dataclass(frozen=True)
class Cluster(SamplingStrategy):
    """Draw by size or with equal chances, whichever gives totals the smaller variance.

    The variance of both is estimated from the clusters that are in the sample, by their sizes as
    they were expected and by the results that they had. By size is the first choice: if rows were
    drawn alike at first, a sample of a few rows might have none of the clusters that decide.

    References
    ----------
    `srivastava04` 4.3.2: PPS-CLUSTER for clusters of unequal size, which is EQ-CLUSTER where
    they are equal; the variance between clusters as what matters. Departs from it in that the
    variance is measured while the join runs. It is that of the number of results; which column will
    be added up is not known.

    Examples
    --------
    >>> [model.name for model in Cluster.needs.models]
    ['pps-cluster', 'eq-cluster']
    """

    name: ClassVar[str] = "cluster"
    serves: ClassVar[tuple[type[Goal], ...]] = (Sample,)
    # The first one is followed until there is something to go by.
    needs: ClassVar[Needs] = replace(
        SamplingStrategy.needs, frequencies=True, models=(PpsCluster(), EqCluster())
    )

    def fraction(self, rows: float, populations: Sequence[Population], least: float = 0.0) -> float:
        """Return what EQ-CLUSTER does."""
        del least
        return EqCluster().fraction(rows, populations)

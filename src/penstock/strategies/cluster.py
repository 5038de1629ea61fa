"""CLUSTER: rows drawn by size if sizes can be told, otherwise with equal chances."""

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
    """Draw by size as long as the keys' frequencies tell the sizes; else with equal chances.

    Both predict what the rows in the sample match, and the better one is followed.

    References
    ----------
    `srivastava04` 4.3.2: PPS-CLUSTER for clusters of unequal size, which is EQ-CLUSTER where
    they are equal.

    Examples
    --------
    >>> [model.name for model in Cluster.needs.models]
    ['eq-cluster', 'pps-cluster']
    """

    name: ClassVar[str] = "cluster"
    serves: ClassVar[tuple[type[Goal], ...]] = (Sample,)
    # The first one is followed until there is something to go by.
    needs: ClassVar[Needs] = replace(
        SamplingStrategy.needs, frequencies=True, models=(EqCluster(), PpsCluster())
    )

    def fraction(self, rows: float, populations: Sequence[Population], least: float = 0.0) -> float:
        """Return what EQ-CLUSTER does."""
        del least
        return EqCluster().fraction(rows, populations)

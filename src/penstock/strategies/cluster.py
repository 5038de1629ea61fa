"""CLUSTER: tuples drawn by size if sizes can be told, otherwise with equal chances."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from penstock.goals import Goal, Sample
from penstock.strategies.base import SamplingStrategy
from penstock.strategies.eq_cluster import EqCluster
from penstock.strategies.pps_cluster import PpsCluster

if TYPE_CHECKING:
    from collections.abc import Sequence

    from penstock.strategies.base import Population


@dataclass(frozen=True)
class Cluster(SamplingStrategy):
    """Draw by size as long as the values' frequencies tell the sizes; else with equal chances.

    Both predict what the tuples in the sample match, and the better one is followed.

    References
    ----------
    `srivastava04` 4.3.2: PPS-CLUSTER for clusters of unequal size, which is EQ-CLUSTER where
    they are equal.

    Examples
    --------
    >>> [expert.name for expert in Cluster().experts]
    ['eq-cluster', 'pps-cluster']
    """

    name: ClassVar[str] = "cluster"
    serves: ClassVar[tuple[type[Goal], ...]] = (Sample,)
    needs_frequencies: ClassVar[bool] = True
    parts: int = 8  # how often in a window the fraction is solved

    @property
    def experts(self) -> tuple[EqCluster, PpsCluster]:
        """The first one is followed until there is something to go by."""
        return EqCluster(), PpsCluster()

    def fraction(self, rows: float, populations: Sequence[Population], least: float = 0.0) -> float:
        """Give what EQ-CLUSTER does."""
        del least
        return EqCluster().fraction(rows, populations)

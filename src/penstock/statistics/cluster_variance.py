"""Choice between samples of clusters, by the variance that the totals from each would have."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from penstock.statistics.sampling_fraction import cluster_chances, fraction_by_size

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["ClusterVariance", "variances_of_designs"]

Floats = npt.NDArray[np.float64]

# Results that clusters must have had before they are compared, and clusters that have some.
_ENOUGH = 50.0
_ENOUGH_CLUSTERS = 10
# Another design is followed if the variance with it is lower by this factor,
_MARGIN = 0.9
# and the difference is so many of its own standard errors.
_CLEAR = 1.0


def variances_of_designs(
    totals: npt.ArrayLike, weights: npt.ArrayLike, sizes: Sequence[npt.ArrayLike], rows: float
) -> tuple[Floats, Floats]:
    """Estimate the variance of a total from samples of clusters that were drawn otherwise.

    A design draws a cluster with the chance pi = min(1, k size), k such that `rows` clusters are
    drawn on average. The variance of a total is then the sum of total**2 (1 / pi - 1) over all
    clusters. It is estimated from the clusters of one sample, each for as many as it stands for,
    whatever design that was drawn by.

    Parameters
    ----------
    totals
        Of each sampled cluster: its number of results.
    weights
        For how many clusters each stands, 1 or more.
    sizes
        For each design the size that it goes by, above 0, of each cluster: all the same for
        EQ-CLUSTER.
    rows
        Clusters that each design may draw.

    Returns
    -------
    variances, parts
        For each design its variance; and the parts of it that the clusters have.

    Examples
    --------
    >>> totals, weights = np.array([1.0, 1.0, 10.0, 10.0]), np.full(4, 5.0)
    >>> found, _ = variances_of_designs(totals, weights, [np.ones(4), totals], rows=4)
    >>> found.round(6).tolist()  # 20 clusters, 4 of which are drawn: alike, or by their size
    [4040.0, 2015.0]
    """
    total, weight = np.asarray(totals, np.float64), np.asarray(weights, np.float64)
    parts = np.zeros((len(sizes), total.size))
    for number, each in enumerate(sizes):
        size = np.asarray(each, np.float64)
        chances = cluster_chances(fraction_by_size(rows, size, weight), size)
        parts[number] = weight * total**2 * (1.0 / chances - 1.0)
    return parts.sum(axis=1), parts


class ClusterVariance:
    """Which design would have had the least variance for the clusters that are in the sample now.

    It has the interface of `penstock.statistics.evidence.Evidence`, by variances instead of
    likelihoods.

    Parameters
    ----------
    names
        Names of the designs. The first one is followed until enough has come.

    Attributes
    ----------
    followed
        Index of the design that is followed.
    is_decided
        Whether it was chosen by what came.

    References
    ----------
    `srivastava04` 4.3.2: which sample is preferable depends on the variance between clusters. The
    variance of a design, estimated from the sample of another: Särndal, Swensson and Wretman,
    Model Assisted Survey Sampling (1992), section 3.5.

    Examples
    --------
    >>> choice = ClusterVariance(["eq-cluster", "pps-cluster"])
    >>> totals = np.repeat([1.0, 10.0], 30)
    >>> choice.compare(totals, np.full(60, 5.0), [np.ones(60), totals], rows=60), choice.followed
    (True, 1)
    >>> choice.leads().round(2).tolist()
    [0.7, 0.0]
    """

    def __init__(self, names: Sequence[str]) -> None:
        self.names = tuple(names)
        self.followed = 0
        self._logs = np.zeros(len(names))  # of the variances
        self.is_decided = False

    def compare(
        self, totals: Floats, weights: Floats, sizes: Sequence[Floats], rows: float
    ) -> bool:
        """Compare the designs, as in `variances_of_designs`; return whether another is followed."""
        if totals.sum() < _ENOUGH or np.count_nonzero(totals) < _ENOUGH_CLUSTERS:
            return False
        variances, parts = variances_of_designs(totals, weights, sizes, rows)
        if variances.min() <= 0.0:  # all clusters fit, whichever way they are drawn
            return False
        self._logs = np.log(variances)
        self.is_decided = True
        best = int(np.argmin(variances))
        if variances[best] >= _MARGIN * variances[self.followed]:
            return False
        differences = parts[self.followed] - parts[best]
        if differences.sum() <= _CLEAR * np.sqrt(np.sum(differences**2)):
            return False
        self.followed = best
        return True

    def leads(self) -> Floats:
        """Return the logarithm of each design's variance over the least one."""
        leads: Floats = self._logs - self._logs.min()
        return leads

    def by_name(self) -> tuple[dict[str, int], dict[str, float]]:
        """Return whether each design is followed, and how far it is behind, as in `leads`."""
        follows = {name: int(at == self.followed) for at, name in enumerate(self.names)}
        return follows, dict(zip(self.names, self.leads().tolist(), strict=True))

    def save(self) -> dict[str, npt.NDArray[np.generic]]:
        """Return the state, for `restore`."""
        return {
            "evidence": np.append(self._logs, 0.0),  # as long as that of `Evidence`
            "followed": np.array([self.followed, int(self.is_decided)]),
        }

    def restore(self, saved: Mapping[str, npt.NDArray[np.generic]]) -> None:
        """Continue from a saved state."""
        self._logs = np.array(saved["evidence"].tolist()[:-1])
        self.followed, self.is_decided = int(saved["followed"][0]), bool(saved["followed"][1])

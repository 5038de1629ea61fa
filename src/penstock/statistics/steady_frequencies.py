"""Shares of a stream's keys, from all that has come since they last changed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from penstock.statistics.frequencies import Frequencies

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Prior", "SteadyFrequencies"]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

# Its half-life, in half-lives of the recent counts: so much longer is remembered at most.
_LONGER = 1024.0
# Rows of a review by which the two are compared.
_COMPARED = 256
# Rows that a key which has not come is taken to have had, so that it is not impossible.
_NEW = 0.5
# The logarithm of a likelihood ratio that chance hardly reaches: e**-14 is one in a million.
_CHANGED = 14.0
# By which the variance of counts is above what it is expected to be, by chance.
_DEVIATIONS = 2.0
# Keys whose rates have so large a shape are alike.
_ALIKE = 1000.0


@dataclass(frozen=True)
class Prior:
    """What is known of a key's rows before one has come: Gamma-distributed, as counts are.

    Attributes
    ----------
    shape
        The larger it is, the more alike keys are.
    mean
        Rows of a key on average.
    """

    shape: float = 1.0
    mean: float = _NEW


class SteadyFrequencies:
    """Counts of keys with a long memory, which is dropped when the keys' shares change.

    Recent counts of a stream follow change, but of a rare key they have seen a few rows only. As
    long as the shares of keys stay, all that has ever come says more. Whether they do is asked of
    the rows that come: if the recent counts have predicted them clearly better than the long
    memory, that is replaced by the recent counts.

    Parameters
    ----------
    limit
        Number of keys that are kept.

    Examples
    --------
    >>> recent, steady = Frequencies(), SteadyFrequencies()
    >>> for keys in ([7, 8, 7, 9], [7, 7, 9, 9]):
    ...     steady.add(np.array(keys), recent, factor=0.5)
    ...     recent.fade(0.5)
    ...     recent.add(np.array(keys))
    >>> prior = steady.prior_of(np.array([7, 8, 9]), rows=np.ones(3))
    >>> steady.share_of(np.array([7, 8]), prior).round(2).tolist()
    [0.33, 0.33]

    References
    ----------
    Page, *Continuous inspection schemes* (Biometrika 1954): a cumulated sum of log-likelihood
    ratios that is never below 0.
    """

    def __init__(self, limit: int = 1 << 16) -> None:
        self._counts = Frequencies(limit)
        self._evidence = 0.0  # that shares have changed

    def add(self, keys: Integers, recent: Frequencies, factor: float) -> None:
        """Count arrivals.

        Parameters
        ----------
        keys
            Of the arrivals, in their order.
        recent
            The recent counts, before these arrivals.
        factor
            By which recent counts are about to fade.
        """
        self._compare(keys[:_COMPARED], recent)
        self._counts.fade(max(factor, 1e-12) ** (1.0 / _LONGER))
        self._counts.add(keys)
        self._counts.forget()

    def _compare(self, keys: Integers, recent: Frequencies) -> None:
        """Ask of arrivals whether the recent counts have predicted them better."""
        if not keys.size or not recent.total or not self._counts.total:
            return
        # The same for both: a key that is new to both says nothing.
        new = _NEW / recent.total
        gained = float(
            np.sum(
                np.log(recent.of(keys) / recent.total + new)
                - np.log(self._counts.of(keys) / self._counts.total + new)
            )
        )
        self._evidence = max(0.0, self._evidence + gained)
        if self._evidence > _CHANGED:
            self._counts.restore(recent.save())
            self._evidence = 0.0

    def prior_of(self, keys: Integers, rows: Floats) -> Prior:
        """Return how much keys differ in what they have here, beyond what chance brings.

        Parameters
        ----------
        keys, rows
            Keys of another stream, and for how many of its rows each stands.
        """
        if not keys.size or not self._counts.total:
            return Prior()
        counts = self._counts.of(keys)
        # If no key has come here, about half a row of one of those rows' keys might have.
        mean = max(float(np.average(counts, weights=rows)), _NEW / float(rows.sum()))
        # Counts of keys that are all alike vary like Poisson numbers, and by chance some more.
        variance = float(np.average((counts - mean) ** 2, weights=rows))
        keys_alike = float(rows.sum() ** 2 / np.sum(np.square(rows)))
        chance = mean + _DEVIATIONS * np.sqrt((mean + 2.0 * mean**2) / keys_alike)
        excess = variance - chance
        shape = mean**2 / max(excess, mean**2 / _ALIKE, 1e-300)
        # Sums of counts may differ in their last digits after a restart.
        return Prior(float(f"{shape:.6g}"), float(f"{mean:.6g}"))

    def share_of(self, keys: Integers, prior: Prior) -> Floats:
        """Return the share of arrivals that each key can be expected to have; 0 if none came.

        The fewer rows there are of a key, the more it is taken to be like the others.
        """
        total = self._counts.total
        if not total:
            return np.zeros(keys.size)
        expected: Floats = (self._counts.of(keys) + prior.shape) / (1.0 + prior.shape / prior.mean)
        return expected / total

    def save(self) -> dict[str, npt.NDArray[np.generic]]:
        """Return the state, for `restore`."""
        return {**self._counts.save(), "evidence": np.array([self._evidence])}

    def restore(self, saved: Mapping[str, npt.NDArray[np.generic]]) -> None:
        """Continue from a saved state."""
        self._counts.restore(saved)
        self._evidence = float(saved["evidence"].item())

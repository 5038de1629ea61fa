"""Shares of a stream's keys, from all that has come since they last changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from penstock.statistics.frequencies import Frequencies
from penstock.statistics.key_prior import KeyPrior

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["SteadyFrequencies"]

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
    >>> own = np.ones(3)
    >>> prior = steady.prior_of(np.array([7, 8, 9]), own, rows=np.ones(3))
    >>> steady.share_of(np.array([7, 8]), own[:2], prior).round(2).tolist()
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

    def of(self, keys: Integers) -> Floats:
        """Return each key's count; 0 if the key is not known."""
        return self._counts.of(keys)

    def sample(self, size: int) -> tuple[Integers, Floats]:
        """Return about `size` keys, and the number of arrivals that each stands for."""
        return self._counts.sample(size)

    def prior_of(self, keys: Integers, own: Floats, rows: Floats) -> KeyPrior:
        """Return how much keys differ in what they have here, beyond what chance brings.

        Parameters
        ----------
        keys, own, rows
            Keys of another stream, their rows there, and for how many of these each stands.
        """
        if not keys.size or not self._counts.total:
            return KeyPrior()
        return KeyPrior.of(self._counts.of(keys), own, rows)

    def share_of(self, keys: Integers, own: Floats, prior: KeyPrior) -> Floats:
        """Return the share of arrivals that each key can be expected to have; 0 if none came.

        `own` are the keys' rows in the other stream.
        """
        total = self._counts.total
        if not total:
            return np.zeros(keys.size)
        return prior.expected(self._counts.of(keys), own) / total

    def save(self) -> dict[str, npt.NDArray[np.generic]]:
        """Return the state, for `restore`."""
        return {**self._counts.save(), "evidence": np.array([self._evidence])}

    def restore(self, saved: Mapping[str, npt.NDArray[np.generic]]) -> None:
        """Continue from a saved state."""
        self._counts.restore(saved)
        self._evidence = float(saved["evidence"].item())

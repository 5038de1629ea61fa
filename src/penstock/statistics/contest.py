"""Choice of the candidate that finds most, with a margin so that it does not go back and forth."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Contest"]

Floats = npt.NDArray[np.float64]

# Another candidate is followed once it has found more by this share of what was found ...
_MARGIN = 0.01
# ... and by so many standard deviations of such a difference.
_SURE = 3.0
# If it has found more by this share, fewer deviations are enough: where keys come in bursts, a few
# periods have most of the results, and a difference is never three deviations of those.
_FAR, _FAIRLY_SURE = 0.1, 1.5
# In the first three windows, of eight periods each, the best one is followed if it is ahead by one
# deviation: how a join begins, it must not go on for long. The candidate that finds most while
# windows fill is often not the best one later: what was found is forgotten after the first window
# and after the second. In these two so many periods in which something was found are enough.
# Later all of a window has to be seen: rows that came when the join began leave together, a window
# later, so that for a part of a window another candidate finds most.
# What a candidate finds may come in waves, which look like chance but add up to the same in every
# window. So at the end of the first three windows a lead by this share is enough, too.
_PERIODS = 8
_LEAD = 0.05
_FORGETS = (_PERIODS, 2 * _PERIODS)
_FIRST = 3 * _PERIODS
_FEWEST = 2


class Contest:
    """How much each candidate has found recently, period by period.

    Candidates see the same arrivals, so differences between them are compared: what both find or
    miss together is no noise.

    Parameters
    ----------
    candidates
        How many there are.
    followed
        The one that is followed at first.

    Attributes
    ----------
    followed
        Index of the candidate that is followed.
    is_decided
        Whether it was chosen for what it found.

    Examples
    --------
    >>> contest = Contest(2)
    >>> for found in ([10.0, 12.0], [11.0, 14.0], [9.0, 11.0]):
    ...     contest.add(np.array(found), fade=1.0)
    >>> contest.best(), contest.totals.tolist()
    (1, [30.0, 37.0])
    """

    def __init__(self, candidates: int, followed: int = 0) -> None:
        self.followed = followed
        self.is_decided = False
        self.totals: Floats = np.zeros(candidates)
        self._products = np.zeros((candidates, candidates))
        self._weights = np.zeros(2)  # of the periods, and their squares
        self._periods = 0
        self._since = 0  # periods since all was forgotten

    def add(self, found: Floats, fade: float) -> None:
        """Add what each has found in a period; what came before counts less by a factor."""
        if self._periods in _FORGETS and self._since:
            self._forget()
        self.totals = self.totals * fade + found
        self._products = self._products * fade**2 + np.multiply.outer(found, found)
        if found.any():
            self._periods += 1
            self._since += 1
            self._weights = self._weights * np.array([fade, fade**2]) + 1.0

    def best(self) -> int:
        """Return the candidate to follow: another one only if it is surely better."""
        f, totals, products = self.followed, self.totals, self._products
        weight, squares = self._weights
        if self._since < (_FEWEST if self._periods <= _FORGETS[-1] else _PERIODS):
            return f
        gains = totals - totals[f]
        # Of differences d with weights w: the sum of (w d)**2 around the mean.
        own = np.diag(products)
        spread = own + own[f] - 2 * products[f] - (gains / weight) ** 2 * squares
        noise = np.sqrt(np.maximum(spread, 0.0))
        needed = _SURE * noise + _MARGIN * totals[f]
        needed = np.minimum(needed, np.maximum(_FAIRLY_SURE * noise, _FAR * totals[f]))
        if self._periods <= _FIRST:
            needed = noise
            if self._since == _PERIODS:
                needed = np.minimum(noise, _LEAD * totals[f])
        sure = np.where(gains > needed, gains, 0.0)
        self.is_decided = True
        return int(np.argmax(sure)) if sure.any() else f

    def _forget(self) -> None:
        """Begin again, with the candidate that is followed."""
        self.totals = np.zeros_like(self.totals)
        self._products = np.zeros_like(self._products)
        self._weights = np.zeros(2)
        self._since = 0

    def copy(self, source: int, target: int) -> None:
        """Let a candidate have found what another has."""
        self.totals[target] = self.totals[source]
        self._products[target] = self._products[source]
        self._products[:, target] = self._products[:, source]
        self._products[target, target] = self._products[source, source]

    def save(self) -> dict[str, npt.NDArray[np.generic]]:
        """Return the state, for `restore`."""
        return {
            "totals": self.totals,
            "products": self._products,
            "weights": self._weights,
            "followed": np.array([self.followed, int(self.is_decided), self._periods, self._since]),
        }

    def restore(self, saved: Mapping[str, npt.NDArray[np.generic]]) -> None:
        """Continue from a saved state."""
        self.totals = saved["totals"].astype(np.float64)
        self._products = saved["products"].astype(np.float64)
        self._weights = saved["weights"].astype(np.float64)
        self.followed, decided, self._periods, self._since = saved["followed"].tolist()
        self.is_decided = bool(decided)

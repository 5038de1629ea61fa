"""The output of the exact join as it is now, from the results of a sample and their weights.

What a row finds depends on how many rows of the other stream are in their window: that is counted.
Which part of them fits is learned from the weights, which add up to all results without bias. So a
change of the rates is seen at once, and a window that fills is followed as it does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from penstock.engine.arrays import Floats

# What was seen fades by this factor from review to review.
_FADES = 1.0 - 1.0 / 32
# Points in the longest life at which arrivals are remembered.
_MARKS = 128
_SAVED = ("_times", "_arrived", "_seen", "_whole")


class WholeOutput:
    """Estimates the results of the exact join of two streams in a unit of time.

    Parameters
    ----------
    lives
        How long rows of each stream wait for others, in units of time.

    Examples
    --------
    Rows of both streams wait for 10, 100 of each come in a unit of time, and a sample's results
    stand for 50,000 in the first 10 of them, when the windows were half full on average:

    >>> output = WholeOutput(np.array([10.0, 10.0]))
    >>> for now in range(11):
    ...     output.take_in(now, np.array([100.0, 100.0]), 250.0 * np.array([now**2, now**2]))
    >>> float(round(output.rate(np.array([100.0, 100.0])) / 10_000, 2))
    1.0
    >>> float(round(output.rate(np.array([500.0, 100.0])) / 10_000, 1))  # as soon as rates change
    3.0
    """

    def __init__(self, lives: Floats) -> None:
        self._lives = lives
        self._times: Floats = np.zeros(0)  # when arrivals were counted,
        self._arrived: Floats = np.zeros((0, lives.size))  # and how many rows had come by then
        self._seen = np.zeros((2, lives.size))  # by the stream that waited: results, and pairs
        self._whole = np.zeros(lives.size)  # results so far

    @property
    def waiting(self) -> Floats:
        """Rows of each stream that are in their windows now, in the exact join."""
        if not self._times.size:
            return np.zeros(self._lives.size)
        since = self._times[-1] - self._lives
        before = [np.interp(since[s], self._times, self._arrived[:, s]) for s in range(since.size)]
        waiting: Floats = self._arrived[-1] - np.array(before)
        return waiting

    def take_in(self, now: float, new: Floats, whole: Floats) -> None:
        """Note the rows of each stream that are new, and what all results so far stand for."""
        before = self.waiting
        self._remember(now, new)
        self._seen *= _FADES
        self._seen[0] += whole - self._whole
        # Each row that came could find the rows of the other stream.
        self._seen[1] += new[::-1] * (before + self.waiting) / 2.0
        self._whole = whole.copy()

    def _remember(self, now: float, new: Floats) -> None:
        step = float(self._lives.max()) / _MARKS
        arrived = new if not self._times.size else self._arrived[-1] + new
        if self._times.size > 1 and now - self._times[-2] < step:
            self._times, self._arrived = self._times[:-1], self._arrived[:-1]
        first = max(int(np.searchsorted(self._times, now - self._lives.max())) - 1, 0)
        self._times = np.append(self._times[first:], now)
        self._arrived = np.vstack([self._arrived[first:], arrived])

    def rate(self, rates: Floats) -> float:
        """Return the results in a unit of time, where so many rows of each stream come in it."""
        fits = self._seen[0] / np.maximum(self._seen[1], 1e-300)
        return float((rates[::-1] * fits * self.waiting).sum())

    def save(self) -> dict[str, Any]:
        """Return the state, for `restore`."""
        return {name: getattr(self, name).tolist() for name in _SAVED}

    def restore(self, saved: Mapping[str, Any]) -> None:
        """Go on where the saved one stopped."""
        for name in _SAVED:
            setattr(self, name, np.array(saved[name], np.float64))
        self._arrived = self._arrived.reshape(-1, self._lives.size)

"""The outcome of a simulated join: its results, and how long each row stayed."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from penstock.studies.by_the_book.arrivals import Arrivals

__all__ = ["Fate", "Outcome", "fairness_index"]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


class Fate(enum.IntEnum):
    """How a row left memory."""

    DROPPED = 0
    """It was never in memory."""
    EVICTED = 1
    EXPIRED = 2
    HELD = 3
    """It was in memory when the streams ended."""


@dataclass(frozen=True, eq=False)
class Outcome:
    """Results and lifetimes of one run.

    Attributes
    ----------
    streams
        What came.
    times, first, second, importance
        Of the results: when each was emitted, its row of either stream by number, and the
        smaller importance of the two at that time (eq. 2).
    left
        When each row left memory, of each stream; that is when it came if it was dropped, and
        the end of the streams if it was there until then.
    fates
        Of each row, as `Fate`.
    recomputations
        How many times the priorities of a stream's rows were recomputed.
    """

    streams: tuple[Arrivals, Arrivals]
    times: Floats
    first: Integers
    second: Integers
    importance: Floats
    left: tuple[Floats, Floats]
    fates: tuple[Integers, Integers]
    recomputations: int = 0

    @property
    def total_importance(self) -> float:
        """IMP(q), eq. 3."""
        return float(self.importance.sum())

    @property
    def size(self) -> int:
        """Number of results."""
        return self.times.size

    @property
    def pairs(self) -> set[tuple[int, int]]:
        """The results as pairs of numbers of rows."""
        return set(zip(self.first.tolist(), self.second.tolist(), strict=True))

    def contents(self, stream: int, time: float) -> list[object]:
        """Return the values in memory at the end of a time step, the oldest first."""
        came, left = self.streams[stream].times, self.left[stream]
        there = (came <= time) & ((time < left) | (self.fates[stream] == Fate.HELD))
        return list(self.streams[stream].values[there].tolist())

    def lifetimes(self, of: Literal["all", "evicted"] = "all") -> Floats:
        """Return L of eq. 4, the time from arrival until leaving, of both streams' rows.

        Parameters
        ----------
        of
            ``"all"`` that came, by the paper's "n is the total number of incoming tuples":
            0 for those dropped on arrival, at most the window for those that expired, and until
            the end of the streams for those that were still there. ``"evicted"`` ones only, by its
            "time that tuple i gets evicted": those that were in memory and had to leave.
        """
        chosen = [
            left - stream.times if of == "all" else (left - stream.times)[fates == Fate.EVICTED]
            for stream, left, fates in zip(self.streams, self.left, self.fates, strict=True)
        ]
        return np.concatenate(chosen)

    def fairness(self, of: Literal["all", "evicted"] = "all") -> float:
        """Return the fairness index of the lifetimes, eq. 4; see `lifetimes`."""
        return fairness_index(self.lifetimes(of))


def fairness_index(lifetimes: Floats) -> float:
    """Jain's fairness index, eq. 4: from 1/n, one has everything, to 1, all have the same.

    NaN if all lifetimes are 0.

    Examples
    --------
    >>> fairness_index(np.array([3.0, 0.0, 0.0, 0.0]))
    0.25
    >>> fairness_index(np.array([3.0, 3.0, 3.0]))
    1.0
    """
    squares = float((lifetimes**2).sum())
    if squares == 0.0:
        return float("nan")
    return float(lifetimes.sum()) ** 2 / (lifetimes.size * squares)

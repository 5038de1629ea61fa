"""The memory of one stream, and what a scheme may use to choose a victim."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
import numpy.typing as npt

from penstock.studies.by_the_book.outcome import Fate

if TYPE_CHECKING:
    from penstock.studies.by_the_book.arrivals import Arrivals

__all__ = ["Memory", "Moment", "Scheme", "Shedder"]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


class Memory:
    """The rows of one stream that are in memory, known by their numbers.

    Parameters
    ----------
    arrivals
        All arrivals of the stream; only the first `came` are known yet.
    codes
        Numbers of the rows' values.
    joins
        Whether a value of this stream (row) joins one of the other stream (column).

    Attributes
    ----------
    held
        Numbers of the rows in memory, the oldest first.
    importance
        Of all rows, as defined now.
    partners
        Of each value: how many rows of the other stream that it joins have come so far.
    left, fates
        As in `Outcome`.
    """

    def __init__(
        self, arrivals: Arrivals, codes: Integers, joins: npt.NDArray[np.bool_], end: float
    ) -> None:
        self.times = arrivals.times
        self.codes = codes
        self.joins = joins
        self.importance = arrivals.importance
        self.partners = np.zeros(joins.shape[0], np.int64)
        self.held: Integers = np.empty(0, np.int64)
        self.came = 0
        self.left = np.full(len(arrivals), end)
        self.fates = np.full(len(arrivals), int(Fate.HELD), np.int64)

    def put(self, number: int) -> None:
        """Add a row; it is the newest, so the order stays."""
        self.held = np.append(self.held, number)

    def take(self, number: int, time: float, fate: Fate) -> None:
        """Remove a row from memory, or refuse it."""
        self.held = self.held[self.held != number]
        self.left[number] = time
        self.fates[number] = int(fate)


@dataclass(frozen=True)
class Moment:
    """The state when a row has come and there is no room.

    Attributes
    ----------
    time
        Now.
    own, other
        The newcomer's stream, and the one that it joins.
    newcomer
        Its number.
    importance
        Total of all results until now.
    """

    time: float
    own: Memory
    other: Memory
    newcomer: int
    importance: float


class Shedder(ABC):
    """A scheme at work on one stream, with its state."""

    recomputations = 0

    def matched(self, numbers: Integers, time: float) -> None:  # noqa: B027 -- few schemes need it
        """Record that rows of this stream gave results: one number for each result."""

    @abstractmethod
    def victim(self, moment: Moment) -> int:
        """Return the number of the row to evict: a held one, or the newcomer."""


class Scheme(Protocol):
    """A way to shed load, as it is configured."""

    @property
    def name(self) -> str:
        """What the paper calls it."""

    def begin(self, stream: int, rows: int) -> Shedder:
        """Start to work on a stream of this many rows."""

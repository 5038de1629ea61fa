"""The memory of one stream, and what a scheme may look at when it has to choose a victim."""

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
    """The tuples of one stream that are in memory. Tuples are known by their numbers.

    Parameters
    ----------
    arrivals
        All that will ever come; only the first `came` are known yet.
    codes
        Numbers of the tuples' values.
    joins
        Whether a value of this stream (row) joins one of the other stream (column).

    Attributes
    ----------
    held
        Numbers of the tuples in memory, the oldest first.
    importance
        Of all tuples, as defined now.
    partners
        Of each value: how many tuples of the other stream came so far that it joins.
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
        """Take a tuple in; the newest, so that the order stays."""
        self.held = np.append(self.held, number)

    def take(self, number: int, time: float, fate: Fate) -> None:
        """Let a tuple go, be it in memory or about to enter."""
        self.held = self.held[self.held != number]
        self.left[number] = time
        self.fates[number] = int(fate)


@dataclass(frozen=True)
class Moment:
    """A tuple has come and there is no room.

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
    """A scheme at work on one stream; what it remembers is in here."""

    recomputations = 0

    def matched(self, numbers: Integers, time: float) -> None:  # noqa: B027 -- few need to know
        """Hear that tuples of this stream gave results; a number comes as often as it gave one."""

    @abstractmethod
    def victim(self, moment: Moment) -> int:
        """Give the number of the tuple to go: one that is held, or the newcomer."""


class Scheme(Protocol):
    """A way to shed load, as it is configured."""

    @property
    def name(self) -> str:
        """What the paper calls it."""

    def begin(self, stream: int, tuples: int) -> Shedder:
        """Start to work on a stream of so many tuples."""

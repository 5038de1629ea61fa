"""What a strategy is: statistics observe, a strategy decides, the engine acts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    import numpy.typing as npt

    from penstock.goals import Goal


class Evict(Enum):
    """Step 5: which row of a stream leaves when room is needed."""

    OLDEST = "oldest"
    LOWEST = "lowest"  # priority; among equals the one that came first


@dataclass(frozen=True)
class Settings:
    """What the engine acts on until the strategy decides anew.

    Attributes
    ----------
    evict
        Which row leaves.
    shares
        The part of the budget that each stream may claim when memory is short; they add up to 1.
        What one stream leaves unused the others may use.
    """

    evict: Evict
    shares: tuple[float, ...]


@dataclass(frozen=True)
class Arriving:
    """The tuples of one stream that are about to arrive, in time order.

    Attributes
    ----------
    stream
        Index of the stream.
    times
        Their times, in the join's unit.
    draws
        A function that gives each a random number in [0, 1), drawn from the seed and the tuple's
        own identity; for strategies that say they draw.
    """

    stream: int
    times: npt.NDArray[np.generic]
    draws: Callable[[], npt.NDArray[np.float64]]


class Strategy(ABC):
    """One named algorithm: what it does at the steps that it changes.

    A strategy has no state of its own: it is made once per join, and the same input always leads
    it to the same decision.
    """

    name: ClassVar[str]
    serves: ClassVar[tuple[type[Goal], ...]]
    draws: ClassVar[bool] = False  # whether it needs random numbers

    @abstractmethod
    def decide(self, streams: int) -> Settings:
        """Give the settings for a join of so many streams; called before the first tuple."""

    def priorities(self, arriving: Arriving) -> npt.NDArray[np.float64] | None:
        """Give each arriving tuple its priority; called before they arrive, once per batch.

        None, the default, is for strategies that do not evict by priority.
        """
        del arriving
        return None


def equal_shares(streams: int) -> tuple[float, ...]:
    """Divide the budget equally, as a strategy does that knows nothing of the streams.

    >>> equal_shares(2)
    (0.5, 0.5)
    """
    return (1.0 / streams,) * streams

"""FIFO: the oldest tuple leaves first."""

from __future__ import annotations

from typing import ClassVar

from penstock.goals import Goal, MaxImportance, MaxSubset
from penstock.strategies.base import Evict, Settings, Strategy, equal_shares


class Fifo(Strategy):
    """Keep the most recent tuples of each stream: the oldest, by its time, leaves first.

    Amounts to a shorter window. It loses least where tuples match soon after they came (a
    falling age curve), and most where they match late in their lives, as auctions do.

    References
    ----------
    FIFO in `kulkarni08` 5; RECENT in `srivastava04` 6.1. Departs from "first in, first out" where
    tuples come out of order: it goes by their times, so that the order of delivery decides
    nothing.

    Examples
    --------
    >>> Fifo().decide(streams=2).evict
    <Evict.OLDEST: 'oldest'>
    """

    name: ClassVar[str] = "fifo"
    serves: ClassVar[tuple[type[Goal], ...]] = (MaxSubset, MaxImportance)

    def decide(self, streams: int) -> Settings:
        """Evict the oldest; share the budget equally."""
        return Settings(Evict.OLDEST, equal_shares(streams))

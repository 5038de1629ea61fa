"""FIFO: the oldest row leaves first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from penstock.goals import Goal, MaxImportance, MaxSubset
from penstock.strategies.base import Strategy
from penstock.strategies.decision import Decision, Retain
from penstock.strategies.orders import Oldest

if TYPE_CHECKING:
    from penstock.strategies.view import View


@dataclass(frozen=True)
class Fifo(Strategy):
    """Keep the most recent rows of each stream: the oldest, by its time, leaves first.

    Amounts to a shorter window. It loses least where rows match soon after they came (a falling
    age curve), and most where they match late in their lives, as auctions do.

    References
    ----------
    FIFO in `kulkarni08` 5; RECENT in `srivastava04` 6.1. Departs from "first in, first out" where
    rows come out of order: it goes by their times, so that the order of delivery decides nothing.

    Examples
    --------
    >>> from penstock.strategies.view import View
    >>> Fifo().decide(View(streams=(), room=10, goal=MaxSubset())).retain.order
    Oldest()
    """

    name: ClassVar[str] = "fifo"
    serves: ClassVar[tuple[type[Goal], ...]] = (MaxSubset, MaxImportance)

    def decide(self, view: View) -> Decision:
        """Evict the oldest; share the budget equally."""
        return view.previous or Decision(retain=Retain(Oldest()))

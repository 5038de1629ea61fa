"""GREEDY: the most important rows stay."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from penstock.goals import Goal, MaxImportance
from penstock.strategies.base import Floats, Needs, Strategy
from penstock.strategies.decision import Decision, Retain
from penstock.strategies.orders import LowestRating

if TYPE_CHECKING:
    from penstock.strategies.view import Rows, View


@dataclass(frozen=True)
class Greedy(Strategy):
    """Keep rows by importance alone: the least important leaves, or the arriving row of equals.

    When importance is redefined, the rows in memory are rated again.

    References
    ----------
    GREEDY in `kulkarni08` 4. The arriving row goes if it is no more important than the least
    important row: the paper does not say, but its Fig. 4 cannot come out otherwise.

    Examples
    --------
    >>> import numpy as np
    >>> from penstock.strategies.view import Rows, View
    >>> rows = Rows.arriving(0, 3, importance=np.array([5.0, 90.0, 40.0]))
    >>> Greedy().rate(View(streams=(), room=10, goal=MaxImportance(of="votes")), rows)
    array([ 5., 90., 40.])
    """

    name: ClassVar[str] = "greedy"
    serves: ClassVar[tuple[type[Goal], ...]] = (MaxImportance,)
    needs: ClassVar[Needs] = Needs(importance=True)

    def decide(self, view: View) -> Decision:
        """Evict the least important; share the budget equally."""
        return view.previous or Decision(retain=Retain(LowestRating(favours_held=True)))

    def rate(self, view: View, rows: Rows) -> Floats | None:
        """Return the importance of each row."""
        del view
        return rows.importance

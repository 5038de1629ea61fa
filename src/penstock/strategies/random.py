"""RANDOM: a random row leaves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from penstock.goals import Goal, MaxImportance, MaxSubset
from penstock.strategies.base import Floats, Needs, Strategy
from penstock.strategies.decision import Decision, Retain
from penstock.strategies.orders import LowestRating

if TYPE_CHECKING:
    from penstock.strategies.view import Rows, View


@dataclass(frozen=True)
class Random(Strategy):
    """Keep rows by lot: each draws once, when it comes, and the lowest draw leaves first.

    Every row has the same chance, whatever its key and content, and what is kept is mostly kept
    for its whole life, so rows that match late are not lost as with `fifo`.

    References
    ----------
    RAND in `kulkarni08` 5, which draws a victim each time room is needed. Departs from it in that
    a row draws once: what is kept then follows from the rows' identities alone, not from the
    order of delivery, and the rows kept are not all young ones.

    Examples
    --------
    >>> import numpy as np
    >>> from penstock.strategies.view import Rows, View
    >>> rows = Rows.arriving(stream=0, count=3, draws=lambda: np.array([0.7, 0.1, 0.4]))
    >>> Random().rate(View(streams=(), room=10, goal=MaxSubset()), rows)
    array([0.7, 0.1, 0.4])
    """

    name: ClassVar[str] = "random"
    serves: ClassVar[tuple[type[Goal], ...]] = (MaxSubset, MaxImportance)
    needs: ClassVar[Needs] = Needs(draws=True)

    def decide(self, view: View) -> Decision:
        """Evict the lowest draw; share the budget equally."""
        return view.previous or Decision(retain=Retain(LowestRating()))

    def rate(self, view: View, rows: Rows) -> Floats | None:
        """Return the draw of each row."""
        del view
        return rows.draws()

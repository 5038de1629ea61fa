"""GREEDY: the most important tuples stay."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from penstock.goals import Goal, MaxImportance
from penstock.strategies.base import Arriving, Evict, Settings, Strategy, equal_shares

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


class Greedy(Strategy):
    """Keep tuples by importance alone: the least important one leaves, or the newcomer of equals.

    When importance is redefined, the rows in memory are scored anew.

    References
    ----------
    GREEDY in `kulkarni08` 4. The newcomer goes if it is no more important than the least
    important row: the paper does not say, but its Fig. 4 cannot come out otherwise.

    Examples
    --------
    >>> import numpy as np
    >>> tuples = Arriving(0, np.arange(3), lambda: np.zeros(3), np.array([5.0, 90.0, 40.0]))
    >>> Greedy().priorities(tuples)
    array([ 5., 90., 40.])
    """

    name: ClassVar[str] = "greedy"
    serves: ClassVar[tuple[type[Goal], ...]] = (MaxImportance,)
    by_importance: ClassVar[bool] = True

    def decide(self, streams: int) -> Settings:
        """Evict the least important; share the budget equally."""
        return Settings(Evict.LOWEST, equal_shares(streams), favours_old=True)

    def priorities(self, arriving: Arriving) -> npt.NDArray[np.float64] | None:
        """Give each tuple its importance."""
        return arriving.importance

"""RANDOM: a random tuple leaves."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from penstock.goals import Goal, MaxImportance, MaxSubset
from penstock.strategies.base import Arriving, Evict, Settings, Strategy, equal_shares

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


class Random(Strategy):
    """Keep tuples by lot: each draws once, when it comes, and the lowest draw leaves first.

    Every tuple has the same chance, whatever its key and content, and what is kept is mostly kept
    for its whole life, so tuples that match late are not lost as with `fifo`.

    References
    ----------
    RAND in `kulkarni08` 5, which draws a victim anew each time room is needed. Departs from it in
    that a tuple draws once: fates then follow from the tuples' identities alone, not from the
    order of delivery, and the tuples kept are not all young ones.

    Examples
    --------
    >>> import numpy as np
    >>> tuples = Arriving(stream=0, times=np.arange(3), draws=lambda: np.array([0.7, 0.1, 0.4]))
    >>> Random().priorities(tuples)
    array([0.7, 0.1, 0.4])
    """

    name: ClassVar[str] = "random"
    serves: ClassVar[tuple[type[Goal], ...]] = (MaxSubset, MaxImportance)
    draws: ClassVar[bool] = True

    def decide(self, streams: int) -> Settings:
        """Evict the lowest draw; share the budget equally."""
        return Settings(Evict.LOWEST, equal_shares(streams))

    def priorities(self, arriving: Arriving) -> npt.NDArray[np.float64]:
        """Give each tuple its draw."""
        return arriving.draws()

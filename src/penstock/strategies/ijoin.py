"""IJOIN: who is worth least for the time it has had leaves."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, ClassVar

from penstock.goals import Goal, MaxImportance
from penstock.strategies.base import Arriving, Evict, Residence, Settings, Strategy, equal_shares

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


def _residence(goal: MaxImportance | type[MaxImportance]) -> Residence:
    """Take what a goal says, or what it says by default: names are the same."""
    return Residence(**{each.name: getattr(goal, each.name) for each in fields(Residence)})


_USUAL = _residence(MaxImportance)


@dataclass(frozen=True)
class Ijoin(Strategy):
    """Keep tuples by residence priority: importance times matches so far, per age.

    Matches count less with time (`decay`). Who had none for long (`unproductivity`) is penalised
    in proportion to that time (`penalty`). Who has just come (`maturity`) stays.

    References
    ----------
    IJOIN in `kulkarni08` 4.3 to 4.8. What the paper leaves open: if nobody is mature, all are
    candidates, the newcomer excepted; who never matched is idle since it came; who is younger than
    a thousandth of its window counts as that old; of equal priority the one that came first
    leaves; between two computations newcomers have their importance as priority (RP_init), and all
    rows' are computed, not only those of the mature ones. Ages and times are in windows, per
    window. Departs from the paper in that a newcomer joins before it asks for a place.

    Examples
    --------
    >>> goal = MaxImportance(of="price", strategy="ijoin", maturity=0.1)
    >>> Ijoin.of(goal).decide(2).residence.maturity
    0.1
    """

    name: ClassVar[str] = "ijoin"
    serves: ClassVar[tuple[type[Goal], ...]] = (MaxImportance,)
    by_importance: ClassVar[bool] = True
    counts_matches: ClassVar[bool] = True
    residence: Residence = _USUAL

    @classmethod
    def of(cls, goal: Goal) -> Ijoin:
        """Take the thresholds from the goal."""
        return cls(_residence(goal)) if isinstance(goal, MaxImportance) else cls()

    def decide(self, streams: int) -> Settings:
        """Evict by residence priority; share the budget equally."""
        shares = equal_shares(streams)
        return Settings(Evict.BY_RESIDENCE, shares, residence=self.residence)

    def priorities(self, arriving: Arriving) -> npt.NDArray[np.float64] | None:
        """Give each tuple its importance, with which it begins."""
        return arriving.importance

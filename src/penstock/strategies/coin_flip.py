"""Coin flip: rows are dropped before anything is done with them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from penstock.statistics.work_output import coin_flip
from penstock.strategies.work import ByLot

if TYPE_CHECKING:
    from penstock.statistics.work_by_lot import Step
    from penstock.statistics.work_output import Steps, WorkModel


@dataclass(frozen=True)
class CoinFlip(ByLot):
    """Drop rows by lot, each stream's with its best chance.

    References
    ----------
    CF in `ayad05` 3.3, equations 10 and 11.
    """

    name: ClassVar[str] = "coin-flip"
    step: ClassVar[Step] = "admit"

    def solve(self, model: WorkModel, capacity: float) -> Steps:
        """Return the best chances of each stream."""
        return coin_flip(model, capacity)

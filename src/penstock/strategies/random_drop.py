"""RandomDrop: rows are dropped as they arrive, of each stream as many as is best."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from penstock.errors import SpecificationError, must
from penstock.statistics.drop_boxes import (
    Charges,
    best_drop_boxes,
    common_drop_box,
    cost_of_boxes,
)
from penstock.strategies.base import Needs
from penstock.strategies.decision import Admit, Decision
from penstock.strategies.harvesting import probing_cost
from penstock.strategies.work import WorkStrategy

if TYPE_CHECKING:
    from penstock.strategies.view import WorkView

# The least chance of a row to be admitted: from such rows what is lost is estimated.
_LEAST = 0.01


@dataclass(frozen=True)
class RandomDrop(WorkStrategy):
    """Drop rows of each stream by lot, so that most results are left of what is compared.

    What `grub` is compared with.

    Parameters
    ----------
    common
        Whether all streams have the same chance.

    References
    ----------
    RandomDrop in `gedik05` 6.2, with drop boxes for windows of time.
    """

    name: ClassVar[str] = "random-drop"
    needs: ClassVar[Needs] = Needs(lags=1)
    common: bool = False

    def __post_init__(self) -> None:
        """Check that it is yes or no."""
        if not isinstance(self.common, bool):
            hint = "True gives all streams the same chance"
            raise SpecificationError(
                must("common of RandomDrop", "True or False", self.common, hint)
            )

    def share_out(self, work: WorkView) -> Decision:
        """Return the chance of each stream's rows to be admitted."""
        probing = probing_cost(work)
        # Rows that are dropped are not inserted, and give no results either.
        charges = Charges(probing.compare, work.costs.insert, probing.result)
        full = cost_of_boxes(probing.model, np.ones(work.rates.size), charges)
        if work.left_for_steps >= full or full <= 0.0:
            return Decision()
        throttle = max(work.left_for_steps / full, 1e-9)
        if self.common:
            chances = np.full(work.rates.size, common_drop_box(probing.model, throttle, charges))
        else:
            chances = best_drop_boxes(probing.model, throttle, charges)
        return Decision(admit=Admit(np.maximum(chances, _LEAST)))

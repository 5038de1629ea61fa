"""No load is shed: the exact join, for a machine that is fast enough."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from penstock.statistics.join_orders import join_orders
from penstock.studies.grub_join.policy import Settings, selectivities

if TYPE_CHECKING:
    from penstock.studies.grub_join.policy import Interval

__all__ = ["Exact"]

Floats = npt.NDArray[np.float64]


class Exact:
    """The exact join, with join orders by what all rows matched (5.3)."""

    fraction = 1.0

    def begin(self, windows: Floats, length: float) -> Settings:  # noqa: ARG002 -- as all policies
        """Return settings of the exact join, streams in their own order."""
        self.faced = self.found = np.zeros((windows.size, windows.size))
        return Settings.whole(join_orders(self.faced), shredded=1.0)

    def adapt(self, interval: Interval) -> Settings:
        """Set the join orders again."""
        self.faced = self.faced + interval.faced
        self.found = self.found + interval.found
        return Settings.whole(join_orders(selectivities(self.faced, self.found)), shredded=1.0)

"""RECENT as a model: the newer a row, the better."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from penstock.strategies.age import Age

if TYPE_CHECKING:
    from penstock.statistics.outlook import Outlook
    from penstock.strategies.base import Floats

__all__ = ["Recent"]


@dataclass(frozen=True)
class Recent(Age):
    """Keep the most recent rows: what `fifo` does, as a model that can be tried."""

    name: ClassVar[str] = "fifo"

    def by_age(self, outlook: Outlook) -> Floats:
        """Return less the older, to nothing at the end."""
        return np.linspace(1.0, 0.0, outlook.curve.parts + 1)

    def level(self, outlook: Outlook, part: float, partner_rate: float) -> float:
        """Return the same for both streams: of each an equal part of its window is kept."""
        del outlook, part, partner_rate
        return 1.0

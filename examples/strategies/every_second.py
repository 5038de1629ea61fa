"""Admit every second row of one stream, by lot."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from penstock.strategies import Admit, Decision, Resource, Strategy, View


@dataclass(frozen=True)
class EverySecond(Strategy):
    """Look at half of the rows of a stream: the others move its clock, and that is all.

    Parameters
    ----------
    stream
        Its name.
    """

    name: ClassVar[str] = "every-second"
    spends: ClassVar[Resource] = Resource.CPU
    stream: str

    def decide(self, view: View) -> Decision:
        """Admit the rows of the stream with a chance of a half."""
        chances = np.array([0.5 if each.name == self.stream else 1.0 for each in view.streams])
        return view.previous or Decision(admit=Admit(chances))

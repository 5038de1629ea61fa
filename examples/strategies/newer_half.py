"""Probe only the newer half of every window."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from penstock.strategies import Decision, Probe, Resource, Strategy, View


@dataclass(frozen=True)
class NewerHalf(Strategy):
    """Compare an arriving row only with rows that came in the last half of their window."""

    name: ClassVar[str] = "newer-half"
    spends: ClassVar[Resource] = Resource.CPU

    def decide(self, view: View) -> Decision:
        """Probe the first of two parts of each window, whichever stream arrives."""
        streams = len(view.streams)
        probed = np.zeros((streams, streams, 2), np.bool_)
        probed[:, :, 0] = True
        return view.previous or Decision(probe=Probe(sub_windows=probed))

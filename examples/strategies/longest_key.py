"""Evict the row with the longest key."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow.compute as pc

from penstock.strategies import Decision, LowestRating, Retain, Rows, Strategy, View


@dataclass(frozen=True)
class LongestKey(Strategy):
    """Keep the rows with short keys.

    Parameters
    ----------
    key
        The column that has the key, the same in all streams.
    """

    name: ClassVar[str] = "longest-key"
    key: str

    def decide(self, view: View) -> Decision:
        """Evict the row with the lowest rating."""
        return view.previous or Decision(retain=Retain(LowestRating()))

    def rate(self, view: View, rows: Rows) -> npt.NDArray[np.float64]:
        """Rate rows by how short their key is."""
        del view
        lengths = pc.utf8_length(rows.column(self.key)).fill_null(0)
        ratings: npt.NDArray[np.float64] = -lengths.to_numpy().astype(np.float64)
        return ratings

"""What a way to shed load is given at each adaptation step, and what it sets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from penstock.statistics.harvest_model import Harvest

__all__ = ["Interval", "Policy", "Settings", "selectivities"]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Interval:
    """What happened between two adaptation steps.

    Attributes
    ----------
    length
        In units of time.
    came
        Rows of each stream, before any drop box.
    pushed
        Rows of each stream that came to its buffer, those that were refused among them.
    popped
        Rows of each stream that the join took from its buffer.
    faced, found
        By arriving and probed stream: rows that were compared with rows that are shredded, and
        how many of them matched.
    lags
        Results of shredded rows by stream and bucket of the lag to the first stream.
    """

    length: float
    came: Integers
    pushed: Integers
    popped: Integers
    faced: Floats
    found: Floats
    lags: Floats


@dataclass(frozen=True, eq=False)
class Settings:
    """What the join does until the next adaptation step.

    Attributes
    ----------
    orders
        R_i of each direction.
    places, parts
        By direction, hop and rank: the sub-window, from 0, and the part of it to probe; parts of
        0 end the list.
    shredded
        omega, the share of rows that are shredded: they probe whole windows, but for the first.
    first_part
        z: the part of the first window that shredded rows probe, spread evenly.
    boxes
        The share of each stream's rows that is let through.
    effort
        What it took to find these settings, in comparisons.
    """

    orders: Integers
    places: Integers
    parts: Floats
    shredded: float
    first_part: float
    boxes: Floats
    effort: float = 0.0

    @classmethod
    def whole(cls, orders: Integers, *, shredded: float) -> Settings:
        """Return settings of the exact join."""
        m, hops = orders.shape
        return cls(
            orders,
            np.zeros((m, hops, 1), np.int64),
            np.zeros((m, hops, 1)),
            shredded=shredded,
            first_part=1.0,
            boxes=np.ones(m),
        )

    @classmethod
    def harvesting(
        cls, harvest: Harvest, *, shredded: float, first_part: float, effort: float
    ) -> Settings:
        """Return settings that probe what was chosen."""
        model = harvest.model
        places = np.zeros_like(model.ranks)
        parts = np.zeros(model.ranks.shape)
        for i, j in np.ndindex(*model.orders.shape):
            for rank, (place, part) in enumerate(harvest.chosen(i, j)):
                places[i, j, rank], parts[i, j, rank] = place, part
        return cls(
            model.orders,
            places,
            parts,
            shredded=shredded,
            first_part=first_part,
            boxes=np.ones(model.streams),
            effort=effort,
        )


class Policy(Protocol):
    """A way to shed load."""

    def begin(self, windows: Floats, length: float) -> Settings:
        """Return the settings to begin with, for windows in sub-windows of a length."""

    def adapt(self, interval: Interval) -> Settings:
        """Return the settings for the next interval."""

    @property
    def fraction(self) -> float:
        """z, the throttle fraction now."""


def selectivities(faced: Floats, found: Floats) -> Floats:
    """Return the selectivity by direction; the average where nothing was compared.

    >>> selectivities(np.array([[0.0, 8.0], [2.0, 0.0]]), np.array([[0.0, 1.0], [1.0, 0.0]]))
    array([[0.2  , 0.125],
           [0.5  , 0.2  ]])
    """
    average = found.sum() / max(faced.sum(), 1.0)
    return np.where(faced > 0.0, found / np.maximum(faced, 1e-300), average)

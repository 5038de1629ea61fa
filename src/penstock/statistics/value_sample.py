"""A random sample of a stream's recent values, for predicates that compare values."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["ValueSample"]

Floats = npt.NDArray[np.float64]


class ValueSample:
    """A sample that holds a value half as likely if it arrived one half-life earlier.

    Parameters
    ----------
    size
        Number of values that are kept.

    Examples
    --------
    >>> sample = ValueSample(size=100)
    >>> sample.add(np.arange(50.0), draws=np.linspace(0.1, 0.9, 50), age=0.0)
    >>> sample.share_between(np.array([10.0, 48.0]), np.array([19.0, 99.0])).tolist()
    [0.2, 0.04]

    References
    ----------
    Efraimidis and Spirakis, Weighted random sampling with a reservoir (2006), with weights that
    grow with time.
    """

    def __init__(self, size: int = 2048) -> None:
        self._size = size
        self._values = np.zeros(0)
        self._orders = np.zeros(0)  # the smallest ones are kept
        self._sorted = np.zeros(0)

    def add(self, values: Floats, draws: Floats, age: float) -> None:
        """Add values that arrived.

        Parameters
        ----------
        values
            The values.
        draws
            A random number in [0, 1) for each.
        age
            Time of arrival, in half-lives since the stream began.
        """
        if not values.size:
            return
        # With weight w = 2**age the order is -log(u) / w; its logarithm, so that nothing overflows.
        with np.errstate(divide="ignore"):
            orders = np.log(-np.log(np.maximum(draws, 1e-300))) - age * np.log(2.0)
        everything = np.concatenate([self._values, values])
        order = np.concatenate([self._orders, orders])
        kept = np.lexsort((everything, order))[: self._size]
        self._values, self._orders = everything[kept], order[kept]
        self._sorted = np.sort(self._values)

    def share_between(self, low: Floats, high: Floats) -> Floats:
        """Return the share of values from `low` to `high`, both included; 0 if there are none."""
        after = np.searchsorted(self._sorted, high, side="right")
        before = np.searchsorted(self._sorted, low, side="left")
        inside: Floats = np.maximum(after - before, 0) / max(1, self._sorted.size)
        return inside

    def save(self) -> dict[str, npt.NDArray[np.generic]]:
        """Return the state, for `restore`."""
        return {"values": self._values, "orders": self._orders}

    def restore(self, saved: Mapping[str, npt.NDArray[np.generic]]) -> None:
        """Continue from a saved state."""
        self._values = saved["values"].astype(np.float64)
        self._orders = saved["orders"].astype(np.float64)
        self._sorted = np.sort(self._values)

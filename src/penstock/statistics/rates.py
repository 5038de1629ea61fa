"""How many tuples of each stream come in a unit of time, of late."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Rates"]


class Rates:
    """Arrival rates that fade with a half-life: tuples that came, over the time that was seen.

    Parameters
    ----------
    streams
        How many there are.

    Examples
    --------
    >>> rates = Rates(streams=2)
    >>> rates.count(0, 30)
    >>> rates.pass_time(10.0, factor=1.0)
    >>> rates.of(0), rates.of(1)
    (3.0, 0.0)
    >>> rates.count(0, 10)
    >>> rates.pass_time(10.0, factor=0.5)  # (30 / 2 + 10) / (10 / 2 + 10)
    >>> round(rates.of(0), 3)
    1.667

    References
    ----------
    r_i in `srivastava04` 2.
    """

    def __init__(self, streams: int) -> None:
        self._elapsed = 0.0
        self._seen = np.zeros(streams)
        self._new = np.zeros(streams, np.int64)  # those that no time has been counted for yet

    @property
    def elapsed(self) -> float:
        """Time that was seen, faded."""
        return self._elapsed

    def count(self, stream: int, tuples: int) -> None:
        """Count tuples that came; in how many calls makes no difference."""
        self._new[stream] += tuples

    def pass_time(self, passed: float, factor: float) -> None:
        """Take in what was counted, and the time in which it came; what came before fades."""
        self._elapsed = self._elapsed * factor + passed
        self._seen = self._seen * factor + self._new
        self._new[:] = 0

    def of(self, stream: int) -> float:
        """Give a stream's tuples per unit of time; 0 before any time was seen."""
        return float(self._seen[stream] / self._elapsed) if self._elapsed else 0.0

    def save(self) -> dict[str, npt.NDArray[np.generic]]:
        """Give the state, for `restore`."""
        return {
            "elapsed": np.array([self._elapsed]),
            "seen": self._seen.copy(),
            "new": self._new.copy(),
        }

    def restore(self, saved: Mapping[str, npt.NDArray[np.generic]]) -> None:
        """Go on where the saved one stopped."""
        self._elapsed = float(saved["elapsed"].item())
        self._seen = saved["seen"].astype(np.float64)
        self._new = saved["new"].astype(np.int64)

"""Recent arrival rates: rows of each stream per unit of time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from penstock.statistics.fading import faded

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Rates"]


class Rates:
    """Arrival rates that fade with a half-life: rows that arrived, divided by the time observed.

    Parameters
    ----------
    streams
        Number of streams.

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
        self._new = np.zeros(streams, np.int64)  # rows since the last `pass_time`

    @property
    def elapsed(self) -> float:
        """Time observed, faded."""
        return self._elapsed

    def count(self, stream: int, rows: int) -> None:
        """Count rows that arrived; the number of calls makes no difference."""
        self._new[stream] += rows

    def pass_time(self, passed: float, factor: float) -> None:
        """Add the counted rows and the time in which they arrived; earlier ones are faded."""
        self._elapsed = self._elapsed * factor + passed
        self._seen = faded(self._seen, factor) + self._new
        self._new[:] = 0

    def of(self, stream: int) -> float:
        """Return a stream's rows per unit of time; 0 before any time has passed."""
        return float(self._seen[stream] / self._elapsed) if self._elapsed else 0.0

    def save(self) -> dict[str, npt.NDArray[np.generic]]:
        """Return the state, for `restore`."""
        return {
            "elapsed": np.array([self._elapsed]),
            "seen": self._seen.copy(),
            "new": self._new.copy(),
        }

    def restore(self, saved: Mapping[str, npt.NDArray[np.generic]]) -> None:
        """Continue from a saved state."""
        self._elapsed = float(saved["elapsed"].item())
        self._seen = saved["seen"].astype(np.float64)
        self._new = saved["new"].astype(np.int64)

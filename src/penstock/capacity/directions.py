"""Where the rows of results are in their windows, measured on a sample of the streams."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Directions"]

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Directions:
    """Where the rows of results are, by the stream whose row came last.

    Attributes
    ----------
    shares
        Of the results, those that rows of each stream complete.
    lags
        By stream that arrives, stream that waited, and part of its window, newest first: how many
        of these results have their row there.

    Examples
    --------
    >>> Directions.of([np.array([7, 8, 2]), np.array([9, 8, 6])], [4, 4], parts=2).lags.tolist()
    [[[0.0, 0.0], [0.0, 0.0]], [[1.0, 2.0], [0.0, 0.0]]]
    """

    shares: Floats
    lags: Floats

    @classmethod
    def of(cls, times: Sequence[Floats], windows: Sequence[float], parts: int) -> Directions:
        """Count results, by the times of each stream's rows in them."""
        rows = np.stack(times)
        # At equal times the last stream's row comes last, as in the engine.
        newest = len(rows) - 1 - np.argmax(rows[::-1], axis=0)
        last = rows.max(axis=0)
        count = len(rows)
        lags = np.zeros((count, count, parts))
        for i in range(count):
            mine = newest == i
            for j in range(count):
                if j != i:
                    place = (last - rows[j])[mine] / max(float(windows[j]), 1e-300) * parts
                    part = np.minimum(place.astype(np.int64), parts - 1)
                    lags[i, j] = np.bincount(part, minlength=parts)
        completed = np.bincount(newest, minlength=count).astype(np.float64)
        return cls(completed / max(completed.sum(), 1.0), lags)

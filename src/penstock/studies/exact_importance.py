"""The importance of the exact join, by counting: it has too many results to be run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa

__all__ = ["exact_importance"]

Integers = npt.NDArray[np.int64]


def exact_importance(tables: Mapping[str, pa.Table], window: int) -> tuple[float, int]:
    """Give the importance of all results of the exact join, and their number, without joining.

    The smaller importance of two is the sum, over all levels of importance, of the step to that
    level where both have reached it. So it is enough to count pairs, level by level.

    Parameters
    ----------
    tables
        Both streams, with columns ``time`` and ``key``, of whole numbers, and ``importance``.
    window
        Of both.
    """
    columns = [
        (
            table["time"].to_numpy().astype(np.int64),
            table["key"].to_numpy(),
            table["importance"].to_numpy(),
        )
        for table in tables.values()
    ]
    levels = np.unique(np.concatenate([importance for _, _, importance in columns]))
    total, results, below = 0.0, 0, 0.0
    for level in levels.tolist():
        reached = [
            (times[importance >= level], keys[importance >= level])
            for times, keys, importance in columns
        ]
        count = _pairs(*reached[0], *reached[1], window)
        results = results or count
        total += (level - below) * count
        below = level
    return total, results


def _pairs(
    times_1: Integers, keys_1: Integers, times_2: Integers, keys_2: Integers, window: int
) -> int:
    """Count pairs of equal keys that are at most a window apart."""
    # A key's times lie in a span of their own, with a window of room on both sides.
    span = int(max(times_1.max(initial=0), times_2.max(initial=0))) + 2 * window + 1
    places = np.sort(keys_2 * span + times_2)
    own = keys_1 * span + times_1
    until = np.searchsorted(places, own + window, "right")
    return int((until - np.searchsorted(places, own - window, "left")).sum())

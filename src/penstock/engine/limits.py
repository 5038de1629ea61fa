"""How many rows a shard may hold, by its part of the budget."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from penstock.budget import Budget
    from penstock.engine.arrays import Integers
    from penstock.engine.intake import Merged

# Arrivals per call of the compiled loop: memory is reserved for so many, and what is decided on is
# reviewed as often, at the same arrivals whatever batches they come in. Fewer where memory is
# small, and turns over sooner.
_FEWEST, _MOST = 256, 8192
# Rows are numbered with 32 bits.
_MOST_ROWS = 2**31 - 1


class Limits:
    """A shard's part of the budget, in rows or in bytes.

    Parameters
    ----------
    budget
        Of the whole join; None without one.
    row_overhead
        Bytes that a row costs besides its payload.
    streams
        How many there are.
    shard, shards
        Which part of how many this is.

    Attributes
    ----------
    bytes
        That may be held; None if the budget is not in bytes.
    rows
        That may be held now; None without a budget.
    measured
        Where the budget is in bytes: each stream's rows so far, and their bytes.
    """

    def __init__(
        self, budget: Budget | None, row_overhead: int, streams: int, *, shard: int, shards: int
    ) -> None:
        self._row_overhead = row_overhead
        self._is_fixed = budget is not None and budget.rows is not None
        self.bytes: int | None = None
        self.rows: int | None = None
        self.measured: Integers = np.zeros((streams, 2), np.int64)
        if budget is not None and budget.rows is not None:
            self.rows = _part(budget.rows, shard, shards)
        elif budget is not None and budget.memory_bytes is not None:
            self.bytes = _part(budget.memory_bytes, shard, shards)
            self.rows = self.bytes // row_overhead  # until rows have been measured

    def set(self, merged: Merged, sizes: Sequence[Integers]) -> None:
        """Set how many rows may be held once each arrival has been dealt with.

        Parameters
        ----------
        merged
            The arrivals of a batch.
        sizes
            Bytes of each stream's rows, where the budget is in bytes.
        """
        arrivals = merged.arrivals
        if self._is_fixed and self.rows is not None:
            arrivals["limit"] = min(self.rows, _MOST_ROWS)
        if self.bytes is None or not arrivals.size:
            return
        # The mean size so far of the rows of the stream that has the largest: whatever mix of
        # streams is held fits, and the same rows give the same limit whatever batches they came in.
        spread = merged.spread(sizes)
        row_size = np.zeros(arrivals.size)
        for s in range(len(sizes)):
            mine = (arrivals["stream"] == s) & (arrivals["blank"] == 0)
            rows = self.measured[s, 0] + np.cumsum(mine)
            total = self.measured[s, 1] + np.cumsum(np.where(mine, spread, 0))
            row_size = np.maximum(row_size, total / np.maximum(rows, 1))
            self.measured[s] = rows[-1], total[-1]
        limits = self.bytes / (self._row_overhead + row_size)
        arrivals["limit"] = np.clip(limits, len(sizes), _MOST_ROWS)
        self.rows = int(arrivals["limit"][-1])


def review_interval(rows: int | None) -> int:
    """Return after how many arrivals to review, where so many rows may be held.

    >>> [review_interval(rows) for rows in (None, 10, 10_000, 10**9)]
    [8192, 256, 2048, 8192]
    """
    if rows is None:
        return _MOST
    return min(_MOST, max(_FEWEST, 1 << max(0, (rows // 4).bit_length() - 1)))


def _part(whole: int, shard: int, shards: int) -> int:
    """Divide a budget: the parts add up to the whole.

    >>> [_part(10, shard, 3) for shard in range(3)]
    [4, 3, 3]
    """
    return whole // shards + (shard < whole % shards)

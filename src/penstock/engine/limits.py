"""How much a shard may hold, by its part of the budget.

The limit is a number of rows, of which each takes up 1, or of words of 8 bytes, of which each takes
up what it was measured to have: its payload, and what it costs besides. The compiled loop compares
what is taken with the limit at every arrival, so it is never exceeded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import numpy as np

from penstock.engine.kernels.layout import NO_LIMIT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from penstock.budget import Budget
    from penstock.engine.arrays import Array, Integers
    from penstock.engine.intake import Merged

_Size = TypeVar("_Size", int, "Integers")

# Arrivals per call of the compiled loop: memory is reserved for so many, and what is decided on is
# reviewed as often, at the same arrivals whatever batches they come in. Fewer where memory is
# small, and turns over sooner.
_FEWEST, _MOST = 256, 8192
# Rows are numbered with 32 bits.
_MOST_ROWS = 2**31 - 1
# Bytes are counted in words, so that 32 bits suffice for a row of up to 16 GiB.
_WORD = 8
_LARGEST = 2**31 - 1


class Limits:
    """A shard's part of the budget, in rows or in bytes.

    Parameters
    ----------
    budget
        Of the whole join; None without one.
    rule
        What holds for the whole join, in the memory that the kernels work on.
    row_overhead
        Bytes that a row costs besides its payload.
    streams
        How many there are.
    shard, shards
        Which part of how many this is.

    Attributes
    ----------
    in_bytes
        Whether the budget is in bytes.
    most_rows
        That can ever be held; None without a budget.
    rows
        That may be held, as of the last review: where the budget is in bytes, as many as it takes
        of those that are held. None without a budget.
    measured
        Where the budget is in bytes: each stream's rows so far, and their bytes.
    """

    def __init__(
        self,
        budget: Budget | None,
        rule: Array,
        row_overhead: int,
        streams: int,
        *,
        shard: int,
        shards: int,
    ) -> None:
        self._rule = rule
        self._row_overhead = row_overhead
        self.in_bytes = False
        self.most_rows: int | None = None
        self.measured: Integers = np.zeros((streams, 2), np.int64)
        limit = NO_LIMIT
        if budget is not None and budget.rows is not None:
            limit = min(part_of(budget.rows, shard, shards), _MOST_ROWS)
            self.most_rows = limit
        elif budget is not None and budget.memory_bytes is not None:
            self.in_bytes = True
            limit = part_of(budget.memory_bytes, shard, shards) // _WORD
            self.most_rows = min(limit // _words(row_overhead), _MOST_ROWS)
        rule["limit"] = self._limit = limit
        rule["has_costs"] = self.in_bytes
        self.rows = self.most_rows

    @property
    def amount(self) -> int:
        """What may be held: rows, or bytes where the budget is in bytes."""
        return self._limit * _WORD if self.in_bytes else self._limit

    def is_set_to(self, amount: int) -> bool:
        """Return whether an amount is the limit: bytes are counted in whole words."""
        return self._limit_of(amount) == self._limit

    def resume(self, amount: int) -> None:
        """Set the limit as it was before a restart."""
        self._limit = self._limit_of(amount)
        self._rule["limit"] = self._limit

    def _limit_of(self, amount: int) -> int:
        return amount // _WORD if self.in_bytes else min(amount, _MOST_ROWS)

    def change(self, amount: int) -> None:
        """Set another limit, in rows or in bytes as the budget is, of at most the budget's own.

        What is above it stays until the operator has evicted it.
        """
        limit, before = self._limit_of(amount), self._limit
        self._limit = limit
        self._rule["limit"] = self._limit
        if not self.in_bytes:
            self.rows = limit
        elif self._rule["held"][0]:
            self.rows = self.rows_now
        elif self.rows is not None:
            self.rows = max(1, self.rows * limit // max(before, 1))

    def costs(self, sizes: Integers) -> Integers:
        """Return how much of the limit rows of these sizes take up, where it is in bytes."""
        return np.minimum(_words(self._row_overhead + sizes), _LARGEST)

    def set_costs(self, merged: Merged, sizes: Sequence[Integers]) -> None:
        """Set what each arrival would take up, by the bytes of each stream's rows."""
        if not self.in_bytes or not merged.arrivals.size:
            return
        merged.arrivals["cost"] = self.costs(merged.spread(sizes))
        for s, own in enumerate(sizes):
            self.measured[s] += own.size, own.sum()

    def review(self) -> None:
        """Set how many rows may be held by what those in memory take up now."""
        self.rows = self.rows_now

    @property
    def rows_now(self) -> int | None:
        """How many rows of the size of those in memory may be held; None without a budget."""
        if not self.in_bytes or not self._rule["held"][0]:
            return self.rows
        rows = self._limit * int(self._rule["held"][0])
        return max(1, rows // int(self._rule["taken"][0]))

    @property
    def row_bytes(self) -> float:
        """What a row takes up on average, in bytes, by those that were measured so far."""
        rows, size = self.measured.sum(axis=0)
        return self._row_overhead + float(size) / max(1, int(rows))

    @property
    def bytes_most(self) -> int | None:
        """The most that was held, where the budget is in bytes."""
        return int(self._rule["taken_most"][0]) * _WORD if self.in_bytes else None


def bytes_held(sizes: Integers, row_overhead: int) -> Integers:
    """Return what rows of these sizes take up of a budget in bytes.

    >>> bytes_held(np.array([1, 20]), row_overhead=100)
    array([104, 120])
    """
    return _words(row_overhead + sizes) * _WORD


def review_interval(rows: int | None) -> int:
    """Return after how many arrivals to review, where so many rows may be held.

    >>> [review_interval(rows) for rows in (None, 10, 10_000, 10**9)]
    [8192, 256, 2048, 8192]
    """
    if rows is None:
        return _MOST
    return min(_MOST, max(_FEWEST, 1 << max(0, (rows // 4).bit_length() - 1)))


def _words(size: _Size) -> _Size:
    """Return bytes as words, rounded up.

    >>> [_words(size) for size in (0, 1, 8, 9)]
    [0, 1, 1, 2]
    """
    return -(-size // _WORD)


def part_of(whole: int, shard: int, shards: int) -> int:
    """Divide a budget: the parts add up to the whole.

    >>> [part_of(10, shard, 3) for shard in range(3)]
    [4, 3, 3]
    """
    return whole // shards + (shard < whole % shards)

"""How often each value comes in a stream, of late: exact up to a limit, heavy hitters above it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from numba import njit

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Frequencies"]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

# SplitMix64's constant; keys may be plain numbers, whose lower bits are all alike.
_SPREAD = np.uint64(0x9E3779B97F4A7C15)
_SHIFT = np.uint64(32)
# Counts are kept in units that grow as time goes on, and brought back to 1 when they reach this.
_LARGE_UNIT = 1e60
_TINY = 2.0**-52


class Frequencies:
    """Counts of keys that fade with a half-life, in bounded memory.

    Up to `limit` keys every count is exact. When there are more, the rarer half is forgotten: a
    key that is left out has a count below all that are kept, so heavy hitters are never lost.

    Parameters
    ----------
    limit
        Keys that are remembered.

    Examples
    --------
    >>> counts = Frequencies(limit=4)
    >>> counts.add(np.array([7, 8, 7, 9]))
    >>> counts.of(np.array([7, 8, 5])).tolist()
    [2.0, 1.0, 0.0]
    >>> counts.fade(0.5)
    >>> counts.of(np.array([7])).tolist(), counts.total
    ([1.0], 2.0)

    References
    ----------
    `srivastava04` 2.3 asks for frequencies in small space. Forgetting the rarer half at a time is
    how Apache DataSketches' frequent-items sketch purges (with the median); that library has no
    fading and takes one Python object at a time, 100 times slower than this loop.
    """

    def __init__(self, limit: int = 1 << 16) -> None:
        self._limit = limit
        self._keys = np.zeros(64, np.int64)
        self._counts = np.zeros(64)  # 0 where there is no key; in units of `_unit`
        self._size = 0
        self._total = 0.0
        self._unit = 1.0  # what an arrival counts now

    @property
    def total(self) -> float:
        """Arrivals, faded."""
        return self._total

    def fade(self, factor: float) -> None:
        """Let all that has come count less."""
        self._total *= factor
        self._unit /= factor
        if self._unit > _LARGE_UNIT:
            # Without those that have faded away: a count of 0 would be a hole in the table.
            held = np.flatnonzero(self._counts > self._unit / _LARGE_UNIT)
            counts = self._counts[held] / self._unit
            self._refill(self._keys[held], counts, self._keys.size)
            self._unit = 1.0

    def add(self, keys: Integers) -> None:
        """Count arrivals; in whatever order and in how many calls, the counts are the same."""
        needed = self._size + keys.size
        if 2 * needed > self._keys.size:
            self._resize(1 << (4 * needed - 1).bit_length())
        self._size += _add(self._keys, self._counts, keys, self._unit)
        self._total += keys.size

    def forget(self) -> None:
        """Forget the rarer half of the keys if there are more than the limit."""
        if self._size <= self._limit:
            return
        held = np.flatnonzero(self._counts)
        keys, counts = self._keys[held], self._counts[held]
        # Of equal counts, by a number that follows from the key: never by where they happen to lie.
        mixed = (keys.view(np.uint64) * _SPREAD) >> _SHIFT
        standing = counts * (1.0 + mixed.astype(np.float64) * _TINY)
        kept = standing > np.partition(standing, -self._limit // 2)[-self._limit // 2]
        self._refill(keys[kept], counts[kept], 1 << (4 * self._limit - 1).bit_length())

    def of(self, keys: Integers) -> Floats:
        """Give each key's count, faded; 0 if it is not known."""
        counts = np.empty(keys.size)
        _look_up(self._keys, self._counts, keys, counts)
        counts /= self._unit
        return counts

    def sample(self, size: int) -> tuple[Integers, Floats]:
        """Give about so many keys and the arrivals that each stands for.

        Heavy keys stand for themselves. Of the others some stand for all, each with a chance that
        grows with its count, drawn from the key itself.

        >>> counts = Frequencies()
        >>> counts.add(np.array([7, 8, 7, 9]))
        >>> keys, arrivals = counts.sample(100)
        >>> dict(zip(keys.tolist(), arrivals.tolist(), strict=True))
        {7: 2.0, 8: 1.0, 9: 1.0}
        """
        held = np.flatnonzero(self._counts)
        keys, counts = self._keys[held], self._counts[held] / self._unit
        threshold = counts.sum() / size
        mixed = (keys.view(np.uint64) * _SPREAD) >> _SHIFT
        drawn = counts > mixed.astype(np.float64) * (_TINY * 2.0**20 * threshold)
        order = np.argsort(keys[drawn])
        return keys[drawn][order], np.maximum(counts[drawn], threshold)[order]

    def save(self) -> dict[str, npt.NDArray[np.generic]]:
        """Give the state, for `restore`."""
        held = np.flatnonzero(self._counts)
        order = np.argsort(self._keys[held])
        return {
            "keys": self._keys[held[order]],
            "counts": self._counts[held[order]],
            "sums": np.array([self._total, self._unit]),
        }

    def restore(self, saved: Mapping[str, npt.NDArray[np.generic]]) -> None:
        """Go on where the saved one stopped."""
        self._total, self._unit = (float(number) for number in saved["sums"])
        keys, counts = saved["keys"].astype(np.int64), saved["counts"].astype(np.float64)
        self._refill(keys, counts, 1 << max(6, (4 * keys.size).bit_length()))

    def _resize(self, capacity: int) -> None:
        held = np.flatnonzero(self._counts)
        self._refill(self._keys[held], self._counts[held], capacity)

    def _refill(self, keys: Integers, counts: Floats, capacity: int) -> None:
        self._keys, self._counts = np.zeros(capacity, np.int64), np.zeros(capacity)
        self._size = keys.size
        _set(self._keys, self._counts, keys, counts)


@njit(cache=True, error_model="numpy")  # type: ignore[untyped-decorator, unused-ignore]
def _find(table: Integers, counts: Floats, key: int) -> int:
    """Give the place of a key, or the free one where it would be."""
    mask = table.size - 1
    at = np.int64((np.uint64(key) * _SPREAD) >> _SHIFT) & mask
    while counts[at] != 0.0 and table[at] != key:
        at = (at + 1) & mask
    return at  # type: ignore[return-value]


@njit(cache=True, error_model="numpy")  # type: ignore[untyped-decorator, unused-ignore]
def _add(table: Integers, counts: Floats, keys: Integers, unit: float) -> int:
    new = 0
    for key in keys:
        at = _find(table, counts, key)
        if counts[at] == 0.0:
            table[at] = key
            new += 1
        counts[at] += unit
    return new


@njit(cache=True, error_model="numpy")  # type: ignore[untyped-decorator, unused-ignore]
def _look_up(table: Integers, counts: Floats, keys: Integers, out: Floats) -> None:
    for i in range(keys.size):
        out[i] = counts[_find(table, counts, keys[i])]


@njit(cache=True, error_model="numpy")  # type: ignore[untyped-decorator, unused-ignore]
def _set(table: Integers, counts: Floats, keys: Integers, values: Floats) -> None:
    for i in range(keys.size):
        at = _find(table, counts, keys[i])
        table[at] = keys[i]
        counts[at] = values[i]

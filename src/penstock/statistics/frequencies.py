"""Recent frequencies of a stream's keys: exact up to a limit, heavy hitters above it."""

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

# SplitMix64's constant; keys may be plain numbers, whose lower bits are often equal.
_SPREAD = np.uint64(0x9E3779B97F4A7C15)
_SHIFT = np.uint64(32)
# Counts are kept in a unit that grows with time, and is set back to 1 when it reaches this.
_LARGE_UNIT = 1e60
_TINY = 2.0**-52


class Frequencies:
    """Counts of keys that fade with a half-life, in bounded memory.

    Up to `limit` keys every count is exact. When there are more, the rarer half is dropped. A
    dropped key has a lower count than all that are kept, so heavy hitters are never lost.

    Parameters
    ----------
    limit
        Number of keys that are kept.

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
    `srivastava04` 2.3 asks for frequencies in small space. Dropping the rarer half at a time is
    how the frequent-items sketch of Apache DataSketches purges (with the median). That library
    has no fading, and takes one Python object at a time, 100 times slower than this loop.
    """

    def __init__(self, limit: int = 1 << 16) -> None:
        self._limit = limit
        self._keys = np.zeros(64, np.int64)
        self._counts = np.zeros(64)  # 0 where there is no key; in units of `_unit`
        self._size = 0
        self._total = 0.0
        self._unit = 1.0  # the count that one arrival adds now

    @property
    def total(self) -> float:
        """Number of arrivals, faded."""
        return self._total

    def fade(self, factor: float) -> None:
        """Multiply all counts by a factor."""
        self._total *= factor
        self._unit /= factor
        if self._unit > _LARGE_UNIT:
            # Counts that have faded to 0 are dropped: they would look like free places.
            held = np.flatnonzero(self._counts > self._unit / _LARGE_UNIT)
            counts = self._counts[held] / self._unit
            self._refill(self._keys[held], counts, self._keys.size)
            self._unit = 1.0

    def add(self, keys: Integers) -> None:
        """Count arrivals; the counts do not depend on their order, nor on the number of calls."""
        needed = self._size + keys.size
        if 2 * needed > self._keys.size:
            self._resize(1 << (4 * needed - 1).bit_length())
        self._size += _add(self._keys, self._counts, keys, self._unit)
        self._total += keys.size

    def forget(self) -> None:
        """Drop the rarer half of the keys if there are more than the limit."""
        if self._size <= self._limit:
            return
        keys, counts = self._held()
        # Equal counts are ordered by a hash of the key, never by their places in the table.
        mixed = (keys.view(np.uint64) * _SPREAD) >> _SHIFT
        standing = counts * (1.0 + mixed.astype(np.float64) * _TINY)
        kept = standing > np.partition(standing, -self._limit // 2)[-self._limit // 2]
        self._refill(keys[kept], counts[kept], 1 << (4 * self._limit - 1).bit_length())

    def of(self, keys: Integers) -> Floats:
        """Return each key's count, faded; 0 if the key is not known."""
        counts = np.empty(keys.size)
        _look_up(self._keys, self._counts, keys, counts)
        counts /= self._unit
        return counts

    def sample(self, size: int) -> tuple[Integers, Floats]:
        """Return about `size` keys, and the number of arrivals that each stands for.

        Heavy hitters stand for themselves. The others are sampled with a probability in
        proportion to their counts, by a hash of the key.

        >>> counts = Frequencies()
        >>> counts.add(np.array([7, 8, 7, 9]))
        >>> keys, arrivals = counts.sample(100)
        >>> dict(zip(keys.tolist(), arrivals.tolist(), strict=True))
        {7: 2.0, 8: 1.0, 9: 1.0}
        """
        keys, counts = self._held()
        counts /= self._unit
        threshold = counts.sum() / size
        drawn = _draw(keys, counts, threshold)
        keys, counts = keys[:drawn], counts[:drawn]
        order = np.argsort(keys)
        return keys[order], np.maximum(counts, threshold)[order]

    def save(self) -> dict[str, npt.NDArray[np.generic]]:
        """Return the state, for `restore`."""
        keys, counts = self._held()
        order = np.argsort(keys)
        return {
            "keys": keys[order],
            "counts": counts[order],
            "sums": np.array([self._total, self._unit]),
        }

    def restore(self, saved: Mapping[str, npt.NDArray[np.generic]]) -> None:
        """Continue from a saved state."""
        self._total, self._unit = (float(number) for number in saved["sums"])
        keys, counts = saved["keys"].astype(np.int64), saved["counts"].astype(np.float64)
        self._refill(keys, counts, 1 << max(6, (4 * keys.size).bit_length()))

    def _resize(self, capacity: int) -> None:
        self._refill(*self._held(), capacity)

    def _held(self) -> tuple[Integers, Floats]:
        """Return the keys that are kept and their counts, in the order of their places."""
        keys, counts = np.empty(self._size + 1, np.int64), np.empty(self._size + 1)
        _gather(self._keys, self._counts, keys, counts)
        return keys[:-1], counts[:-1]

    def _refill(self, keys: Integers, counts: Floats, capacity: int) -> None:
        self._keys, self._counts = np.zeros(capacity, np.int64), np.zeros(capacity)
        self._size = keys.size
        _set(self._keys, self._counts, keys, counts)


@njit(cache=True, error_model="numpy")  # type: ignore[untyped-decorator, unused-ignore]
def _find(table: Integers, counts: Floats, key: int) -> int:
    """Return the place of a key, or the free place where it would be put."""
    mask = table.size - 1
    at = np.int64((np.uint64(key) * _SPREAD) >> _SHIFT) & mask
    while counts[at] != 0.0 and table[at] != key:
        at = (at + 1) & mask
    return at  # type: ignore[return-value]


@njit(cache=True, error_model="numpy")  # type: ignore[untyped-decorator, unused-ignore]
def _gather(table: Integers, counts: Floats, keys: Integers, held: Floats) -> None:
    """List what is in the table; there must be room for one more.

    Without branches, of which half would be mispredicted.
    """
    at = 0
    for place in range(table.size):
        keys[at] = table[place]
        held[at] = counts[place]
        at += int(counts[place] != 0.0)


@njit(cache=True, error_model="numpy")  # type: ignore[untyped-decorator, unused-ignore]
def _draw(keys: Integers, counts: Floats, threshold: float) -> int:
    """Move the keys that are drawn, and their counts, to the front; return how many they are."""
    drawn = 0
    scale = _TINY * 2.0**20 * threshold
    for i in range(keys.size):
        mixed = (np.uint64(keys[i]) * _SPREAD) >> _SHIFT
        is_drawn = counts[i] > np.float64(mixed) * scale
        keys[drawn] = keys[i]
        counts[drawn] = counts[i]
        drawn += int(is_drawn)
    return drawn


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

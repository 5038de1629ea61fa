"""How many results there are: counted from the rows, without a join."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Rows", "TrueResults", "by_seconds", "count_combinations", "count_pairs"]

Integers = npt.NDArray[np.int64]

_SECOND = 1_000_000


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows of a stream.

    Attributes
    ----------
    at
        Times in microseconds, from 0 on.
    keys
        Whole numbers; rows of one key are the ones that match.
    """

    at: Integers
    keys: Integers


@dataclass(frozen=True, eq=False)
class TrueResults:
    """The number of results by the seconds of their rows.

    Attributes
    ----------
    counts
        By the second of the first stream's row, and for each further stream by how many seconds
        its row is later. The middle is for the same second.
    """

    counts: Integers

    @property
    def seconds(self) -> int:
        """How many there are."""
        return len(self.counts)

    def until(self, *read: int) -> int:
        """Return how many results the first seconds of each stream have.

        Parameters
        ----------
        *read
            So many seconds of each stream.
        """
        first, *others = read
        counts = self.counts[:first]
        own = np.arange(len(counts)).reshape(-1, *[1] * len(others))
        for axis, until in enumerate(others, start=1):
            reach = counts.shape[axis] // 2
            later = np.arange(-reach, reach + 1)
            later = later.reshape(-1, *[1] * (len(others) - axis))
            counts = np.where(own + later < until, counts, 0)
        return int(counts.sum())

    def in_each_second(self) -> Integers:
        """Return the results of each second: those whose latest row is in it."""
        so_far = [self.until(*[second] * self.counts.ndim) for second in range(self.seconds + 1)]
        each: Integers = np.array(so_far[1:], np.int64) - np.array(so_far[:-1], np.int64)
        return each


def count_pairs(left: Rows, right: Rows, *, window: int, seconds: int) -> TrueResults:
    """Count pairs of rows with the same key whose times differ by at most the window.

    By binary searches: there may be too many to look at each.

    Parameters
    ----------
    left, right
        The rows; all are in these `seconds`. Keys are from 0 on.
    window, seconds
        In seconds.

    Examples
    --------
    >>> left = Rows(np.array([0, 500_000, 1_500_000]), np.array([7, 7, 8]))
    >>> right = Rows(np.array([400_000, 2_500_000, 2_600_000]), np.array([7, 8, 8]))
    >>> count_pairs(left, right, window=1, seconds=3).counts
    array([[0, 0, 2, 0, 0],
           [0, 0, 0, 1, 0],
           [0, 0, 0, 0, 0]])
    """
    reach = window + 1
    # A row's place among all keys and times: binary searches then find ranges of one key. What is
    # before 0 or after the end is clipped, so that it stays with its key.
    span = (seconds + 1) * _SECOND
    places = np.sort(right.keys * span + right.at)
    order = np.argsort(left.keys * span + left.at)  # the searches then go from left to right
    at, first_place = left.at[order], left.keys[order] * span
    second = at // _SECOND
    counts = np.zeros((seconds, 2 * reach + 1), np.int64)
    for later in range(-reach, reach + 1):
        begin = (second + later) * _SECOND
        low = np.maximum(begin, at - window * _SECOND)
        end = np.minimum(begin + _SECOND, at + window * _SECOND + 1)
        low, end = (np.clip(bound, 0, span - 1) for bound in (low, np.maximum(low, end)))
        found = np.searchsorted(places, first_place + end) - np.searchsorted(
            places, first_place + low
        )
        counts[:, later + reach] = np.bincount(second, found, seconds).astype(np.int64)
    return TrueResults(counts)


def count_combinations(streams: Sequence[Rows], *, window: int, seconds: int) -> TrueResults:
    """Count combinations of rows, one of each stream, of one key and within a window.

    Each is looked at: for keys with few rows.

    Parameters
    ----------
    streams
        Their rows; all are in these `seconds`.
    window, seconds
        In seconds.

    Examples
    --------
    >>> first = Rows(np.array([0, 1_500_000]), np.array([7, 8]))
    >>> second = Rows(np.array([400_000, 900_000, 2_900_000]), np.array([7, 7, 8]))
    >>> count_combinations([first, second], window=1, seconds=3).in_each_second()
    array([2, 0, 0])
    >>> count_combinations([first, second], window=2, seconds=3).in_each_second()
    array([2, 0, 1])
    """
    keys = streams[0].keys
    times = streams[0].at[:, None]
    for stream in streams[1:]:
        order = np.argsort(stream.keys, kind="stable")
        known = stream.keys[order]
        first = np.searchsorted(known, keys, side="left")
        found = np.searchsorted(known, keys, side="right") - first
        # Each combination so far, as often as the next stream has a row of its key.
        own = np.repeat(np.arange(keys.size), found)
        within = np.arange(own.size) - np.repeat(np.cumsum(found) - found, found)
        partner = order[first[own] + within]
        times = np.column_stack([times[own], stream.at[partner]])
        keys = keys[own]
    return by_seconds(times, window=window, seconds=seconds)


def by_seconds(times: Integers, *, window: int, seconds: int) -> TrueResults:
    """Count combinations of rows that are within a window, by the seconds of their rows.

    Parameters
    ----------
    times
        A row for each combination, with the time of each stream's row in microseconds.
    window, seconds
        In seconds.

    Examples
    --------
    >>> times = np.array([[0, 400_000], [1_500_000, 2_400_000], [0, 2_900_000]])
    >>> by_seconds(times, window=1, seconds=3).in_each_second()
    array([1, 0, 1])
    """
    near = np.ptp(times, axis=1) <= window * _SECOND
    second = times[near] // _SECOND
    reach = window + 1
    counts = np.zeros((seconds, *[2 * reach + 1] * (times.shape[1] - 1)), np.int64)
    later = second[:, 1:] - second[:, :1] + reach
    np.add.at(counts, (second[:, 0], *later.T), 1)
    return TrueResults(counts)

"""How many results there are: counted from the rows, without a join."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = ["Rows", "TrueResults", "count_results"]

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
        From 0 on.
    """

    at: Integers
    keys: Integers


@dataclass(frozen=True, eq=False)
class TrueResults:
    """The number of results by the seconds of their rows.

    Attributes
    ----------
    counts
        By the second of the left row, and by how many seconds the right row's is later. The middle
        column is for the same second.
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
        left, right = read
        reach = self.counts.shape[1] // 2
        right_seconds = np.arange(left)[:, None] + np.arange(-reach, reach + 1)
        return int(self.counts[:left][right_seconds < right].sum())

    def in_each_second(self) -> Integers:
        """Return the results of each second: those whose later row is in it."""
        so_far = [self.until(second, second) for second in range(self.seconds + 1)]
        each: Integers = np.array(so_far[1:], np.int64) - np.array(so_far[:-1], np.int64)
        return each


def count_results(left: Rows, right: Rows, *, window: int, seconds: int) -> TrueResults:
    """Count pairs of rows with the same key whose times differ by at most the window.

    Parameters
    ----------
    left, right
        The rows; all are in these `seconds`.
    window, seconds
        In seconds.

    Examples
    --------
    >>> left = Rows(np.array([0, 500_000, 1_500_000]), np.array([7, 7, 8]))
    >>> right = Rows(np.array([400_000, 2_500_000, 2_600_000]), np.array([7, 8, 8]))
    >>> count_results(left, right, window=1, seconds=3).counts
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

"""How many results there are: rows of one thing, counted from the numbers of things."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Reports", "TrueCombinations", "count_combinations"]

Integers = npt.NDArray[np.int64]

_SECOND = 1_000_000


@dataclass(frozen=True, eq=False)
class Reports:
    """The rows of a stream.

    Attributes
    ----------
    at
        Times in microseconds, from 0 on.
    things
        Numbers of the things that are reported.
    """

    at: Integers
    things: Integers


@dataclass(frozen=True, eq=False)
class TrueCombinations:
    """All results, by the seconds of their rows.

    Attributes
    ----------
    rows
        A row for each result, with the second of each stream's row.
    seconds
        How many there are.
    """

    rows: Integers
    seconds: int

    def until(self, *read: int) -> int:
        """Return how many results the first seconds of each stream have."""
        return int(np.all(self.rows < np.array(read), axis=1).sum())

    def in_each_second(self) -> Integers:
        """Return the results of each second: those whose latest row is in it."""
        latest = self.rows.max(axis=1, initial=0)
        counts: Integers = np.bincount(latest, minlength=self.seconds).astype(np.int64)
        return counts


def count_combinations(
    streams: Sequence[Reports], *, window: int, seconds: int
) -> TrueCombinations:
    """Count combinations of rows, one of each stream, of one thing and within a window.

    Parameters
    ----------
    streams
        Their rows; all are in these `seconds`.
    window, seconds
        In seconds.

    Examples
    --------
    >>> first = Reports(np.array([0, 1_500_000]), np.array([7, 8]))
    >>> second = Reports(np.array([400_000, 900_000, 2_900_000]), np.array([7, 7, 8]))
    >>> count_combinations([first, second], window=1, seconds=3).rows.tolist()
    [[0, 0], [0, 0]]
    >>> count_combinations([first, second], window=2, seconds=3).in_each_second().tolist()
    [2, 0, 1]
    """
    things = streams[0].things
    times = streams[0].at[:, None]
    for stream in streams[1:]:
        order = np.argsort(stream.things, kind="stable")
        known = stream.things[order]
        first = np.searchsorted(known, things, side="left")
        counts = np.searchsorted(known, things, side="right") - first
        # Each combination so far, as often as the next stream reports its thing.
        own = np.repeat(np.arange(things.size), counts)
        within = np.arange(own.size) - np.repeat(np.cumsum(counts) - counts, counts)
        partner = order[first[own] + within]
        times = np.column_stack([times[own], stream.at[partner]])
        things = things[own]
    near = times.max(axis=1, initial=0) - times.min(axis=1, initial=times.max(initial=0))
    return TrueCombinations(times[near <= window * _SECOND] // _SECOND, seconds)

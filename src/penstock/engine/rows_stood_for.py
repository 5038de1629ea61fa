"""Rows for which no row stands yet, where steps are taken by lot.

A row whose chance is rare stands for fewer rows than 1 / its chance, and rows like it that come
next make up for the rest (`kernels.step_weights`). Until they have come, some rows are not stood
for: the sum of what results stand for is too small. How many these are is known, as chances are:
the sum of chance x weight falls short of the number of rows. If they are like the others of their
stream, the results that they have a part in are missing in proportion.

Rows that wait count by how long they have waited, and rows that probe by how far the other windows
were filled; where rows are shed by value, by the matches that they can expect as well.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from penstock.engine.arrays import Array, Floats, Integers

# Parts of a life by which is known how long rows have waited.
_PARTS = 32
# Columns: the number of the part, rows, and rows that are stood for.
_NUMBER, _ROWS, _COVERED = range(3)
# Rows stand for at least so much of all: with less, others say little of those that are missing.
_LEAST = 0.25


class RowsStoodFor:
    """Of all rows, by stream, the part for which others stand.

    Parameters
    ----------
    lives
        How long rows of each stream wait, in units of time.

    Examples
    --------
    Of 100 rows of the first stream half are stood for:

    >>> stood_for = RowsStoodFor(np.array([10.0, 10.0]))
    >>> times, streams = np.arange(200) / 10.0, np.arange(200) % 2
    >>> covered = np.where(streams == 0, 0.5, 1.0)
    >>> stood_for.add_waiting(times, streams, np.ones(200), covered)
    >>> stood_for.factors(20.0).tolist()
    [1.0, 2.0]

    So what rows of the second stream have found, where rows of the first waited, is half of it.
    """

    def __init__(self, lives: Floats) -> None:
        self._lives = lives
        count = lives.size
        self._probing = np.zeros((2, count))  # rows that have arrived, and those stood for
        self._full = np.zeros((2, count))  # the same of rows that have waited for a whole life,
        self._young = np.zeros((count, _PARTS, 3))  # and of others by part
        self._young[:, :, _NUMBER] = -np.inf

    def add_probing(self, streams: Integers, rows: Floats, covered: Floats) -> None:
        """Add rows that arrived: what each counts, and how much of it is stood for."""
        np.add.at(self._probing[0], streams, rows)
        np.add.at(self._probing[1], streams, covered)

    def add_waiting(self, times: Floats, streams: Integers, rows: Floats, covered: Floats) -> None:
        """Add rows that wait from a time on; of each stream in the order of time."""
        for s in np.flatnonzero(self._lives > 0):
            own = streams == s
            parts = np.floor(times[own] * (_PARTS / self._lives[s]))
            edges = np.flatnonzero(np.diff(parts, prepend=np.nan, append=np.nan)).tolist()
            for start, end in itertools.pairwise(edges):
                entry = self._young[s, int(parts[start]) % _PARTS]
                if entry[_NUMBER] != parts[start]:
                    self._full[:, s] += entry[_ROWS:]
                    entry[:] = parts[start], 0.0, 0.0
                # Row by row: so the sums do not depend on the cut into batches, to the last digit.
                entry[_ROWS] = np.cumsum([entry[_ROWS], *rows[own][start:end]])[-1]
                entry[_COVERED] = np.cumsum([entry[_COVERED], *covered[own][start:end]])[-1]

    def factors(self, now: float) -> Floats:
        """Return by how much what each stream's arrivals have found is to be multiplied."""
        factors = _inverse(*self._probing)
        for s, life in enumerate(self._lives):
            if life <= 0:
                continue
            numbers, *young = self._young[s].T
            middle = (np.where(np.isfinite(numbers), numbers, 0.0) + 0.5) * (life / _PARTS)
            waited = np.clip(now - middle, 0.0, life)
            rows, covered = (
                full * life + float((each * waited).sum())
                for full, each in zip(self._full[:, s], young, strict=True)
            )
            others = np.arange(self._lives.size) != s
            factors[others] *= _inverse(np.array([rows]), np.array([covered]))
        return factors

    def save(self) -> dict[str, Array]:
        """Return what was added up, for `restore`."""
        return {"probing": self._probing, "full": self._full, "young": self._young}

    def restore(self, saved: Mapping[str, Array]) -> None:
        """Go on where the saved one stopped."""
        self._probing = saved["probing"].copy()
        self._full, self._young = saved["full"].copy(), saved["young"].copy()


def _inverse(rows: Floats, covered: Floats) -> Floats:
    """Return 1 / the part that is stood for; rows that have paid for others count as themselves."""
    least = np.maximum(covered, _LEAST * rows)
    parts: Floats = np.divide(rows, least, out=np.ones_like(rows), where=least > 0)
    return parts

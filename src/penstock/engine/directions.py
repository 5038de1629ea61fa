"""What rows that probe whole windows find there: how much, where, and at what price.

By *direction*: for each stream that arrives and each window that it probes. With a lag between two
streams, rows of one of them come too early to find their partners.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from penstock.engine.arrays import Floats
    from penstock.engine.store import Store

_SAVED = (
    "_lags",
    "_squares",
    "_pairs",
    "_pairs_before",
    "_compared",
    "_compared_before",
    "_wanted",
    "_arrivals_before",
    "_effort",
    "_fullest",
    "_held_before",
)
# How much is forgotten in a life: e to this power.
_FADES = 2.0
# How much is forgotten as windows fill up: the part by which they were shorter, to this power. Rows
# that fit are the first to come, so short windows seem to have more of them.
_FADES_IN_GROWTH = 2.0
# What a result says of its part and of those beside it: lags drift, and what is not probed is not
# seen. Parts next to those with results are worth more than those that had some long ago.
_BESIDE = np.array([0.05, 0.1, 0.7, 0.1, 0.05])
# Results that are thought to be in each part of a window before any was seen.
_PRIOR = 0.1


class Directions:
    """Observes what rows find in whole windows; what was seen a life ago counts little.

    Parameters
    ----------
    store
        Memory, in which the loop counts.
    parts
        Equal parts of a window that are distinguished.
    """

    def __init__(self, store: Store, parts: int) -> None:
        store.count_lags(parts)
        self._store = store
        count = store.memory.streams.size
        self._lags = np.zeros((count, count, parts))  # results, faded
        self._squares = np.zeros((count, count, parts))  # of the results that each stood for
        self._pairs = np.zeros((2, count, count))  # rows that were faced, and that fitted; faded
        self._pairs_before = np.zeros((2, count, count))  # all so far
        self._compared = np.zeros(2)  # rows compared, and that could be, in whole windows; faded
        self._compared_before = np.zeros(2)  # rows compared, and rows that did it; all so far
        self._wanted = np.zeros(1)  # comparisons of all rows, if all had probed whole windows
        self._arrivals_before = np.zeros(1)
        self._effort = np.zeros((2, count, count))  # scans and checks of vectors, faded
        self._fullest = np.zeros(1)  # the most rows in a window so far
        self._held_before = np.zeros(1)  # rows in a window when `take_in` was called last

    def take_in(self, lives: float) -> None:
        """Take in what was counted in a time of so many lives."""
        memory = self._store.memory
        kept = float(np.exp(-_FADES * lives))
        fullest = max(self._held, float(self._fullest[0]), 1.0)
        kept *= (float(self._fullest[0]) / fullest) ** _FADES_IN_GROWTH
        self._fullest = np.array([fullest])
        self._lags = kept * self._lags + memory.lags[0]
        self._squares = kept**2 * self._squares + memory.lags[1]
        memory.lags[:] = 0.0
        pairs = np.stack([memory.pairs["faced"], memory.pairs["found"]]).astype(np.float64)
        # The loop's counters are halved now and then: nothing was counted then.
        self._pairs = kept * self._pairs + np.maximum(pairs - self._pairs_before, 0.0)
        self._pairs_before = pairs
        self._wanted = np.array([self.wanted])
        self._arrivals_before = memory.rule["arrivals"].astype(np.float64)
        compared = self._compared_in_whole()
        self._compared = kept * self._compared + self._new_of(compared)
        self._compared_before = compared
        self._held_before = np.array([self._held])
        self._effort *= kept
        if (new := self._store.effort) is not None:
            self._effort += np.moveaxis(new, 2, 0)
            new[:] = 0

    def _compared_in_whole(self) -> Floats:
        """Return the rows that were compared in whole windows so far, and the rows that did it."""
        streams, rule = self._store.memory.streams, self._store.memory.rule
        shed = streams["not_admitted"].sum() + streams["not_probed"].sum()
        whole = rule["arrivals"][0] - shed
        return np.array([streams["whole_compared"].sum(), whole], np.float64)

    def _new_of(self, compared: Floats) -> Floats:
        """Return new comparisons in whole windows, and how many rows were there for them."""
        new: Floats = compared - self._compared_before
        # As windows fill up, half of what came was there on average.
        held = (self._held + float(self._held_before[0])) / 2.0
        return np.array([new[0], new[1] * held])

    @property
    def _held(self) -> float:
        """Rows in a window now: in the first life there are more and more."""
        return float(self._store.memory.streams["held"].mean())

    @property
    def tells_parts_apart(self) -> bool:
        """Whether there is more than one part of a window."""
        return self._lags.shape[2] > 1

    @property
    def wanted(self) -> float:
        """Comparisons of all rows so far, if all had probed whole windows.

        Of those since `take_in` was called last some have, and are counted. Others are thought to
        need as many, for the rows that are in memory.
        """
        compared = self._compared_in_whole()
        new, whole = compared - self._compared_before
        arrivals = float(self._store.memory.rule["arrivals"][0]) - float(self._arrivals_before[0])
        late_compared, late_held = self._compared + self._new_of(compared)
        each = self._held * late_compared / late_held if late_held else 0.0
        return float(self._wanted[0] + new + (arrivals - whole) * each)

    @property
    def lags(self) -> Floats:
        """Shares of results, by stream that arrives, stream that waited, and part, newest first.

        Every part has a little.
        """
        parts = self._lags.shape[2]
        padded = np.pad(_shrunk(self._lags, self._squares), ((0, 0), (0, 0), (2, 2)), mode="edge")
        beside = sum(weight * padded[:, :, at : at + parts] for at, weight in enumerate(_BESIDE))
        counts: Floats = np.asarray(beside) + _PRIOR
        shares: Floats = counts / counts.sum(axis=2, keepdims=True)
        return shares

    @property
    def found_shares(self) -> Floats:
        """Shares of the results by stream that arrives, if all rows probed whole windows.

        From all results, each for as many as it stands for: there are far more of these than of
        rows that probe whole windows.
        """
        results: Floats = self._lags.sum(axis=(1, 2)) + _PRIOR
        return results / results.sum()

    @property
    def selectivities(self) -> Floats:
        """The share of a window that fits an arriving row and what it has found before.

        By stream that arrives and stream that is probed; where little is known as of all together.
        """
        faced, found = self._pairs
        usual = float(found.sum()) / max(float(faced.sum()), 1.0)
        shares: Floats = (found + usual) / (faced + 1.0)
        return shares

    @property
    def compared(self) -> float | None:
        """Comparisons of a row that probes whole windows, for each row in one of them.

        None of vectors, of which `scanned` and `checked` say it for each direction.
        """
        if self._store.effort is not None:
            return None
        compared, there = self._compared
        return float(compared / there) if there else 1.0

    @property
    def scanned(self) -> Floats | None:
        """Scans of a window for each partial result that reaches it; None if each makes its own.

        Vectors of a window are compared with an arriving row once, whatever it has found before.
        """
        if self._store.effort is None:
            return None
        shares: Floats = (self._effort[0] + 1.0) / (self._pairs[0] + 1.0)
        return np.minimum(shares, 1.0)

    @property
    def checked(self) -> Floats | None:
        """Comparisons of candidates with what was found before, for each row in the window.

        For each partial result that reaches the window. None if there are none.
        """
        if self._store.effort is None:
            return None
        shares: Floats = self._effort[1] / (self._pairs[0] + 1.0)
        return shares

    def begin(self) -> None:
        """Begin to observe now: what was counted before is not new."""
        self._held_before = np.array([self._held])
        if self._store.effort is not None:
            self._store.effort[:] = 0
        memory = self._store.memory
        pairs = np.stack([memory.pairs["faced"], memory.pairs["found"]])
        self._pairs_before = pairs.astype(np.float64)
        self._arrivals_before = memory.rule["arrivals"].astype(np.float64)
        self._compared_before = self._compared_in_whole()

    def save(self) -> dict[str, Any]:
        """Return the state, for `restore`."""
        saved = {name: getattr(self, name).tolist() for name in _SAVED}
        effort = self._store.effort
        return saved | {
            "new": self._store.memory.lags.tolist(),
            "new_effort": None if effort is None else effort.tolist(),
        }

    def restore(self, saved: Mapping[str, Any]) -> None:
        """Go on where the saved one stopped."""
        for name in _SAVED:
            setattr(self, name, np.array(saved[name], np.float64))
        self._store.memory.lags[:] = saved["new"]
        if self._store.effort is not None:
            self._store.effort[:] = saved["new_effort"]


def _shrunk(counts: Floats, squares: Floats) -> Floats:
    """Return counts by part, nearer to their mean where their differences may be by chance.

    Few rows probe whole windows, and each stands for many. So parts that are not probed seem to
    have many results or none, and those with most would be probed in vain, others after them.

    Parameters
    ----------
    counts
        Results by part, the last axis, each for as many as it stands for.
    squares
        Sums of the squares of these numbers: by how much the counts vary by chance.

    Examples
    --------
    Two results, each for 50, say nothing of where the next ones are; a hundred that were sure to be
    found do.

    >>> few, many = np.array([50.0, 50, 0, 0]), np.array([60.0, 40, 0, 0])
    >>> _shrunk(few, 50 * few).round().tolist(), _shrunk(many, many).round().tolist()
    ([25.0, 25.0, 25.0, 25.0], [58.0, 39.0, 1.0, 1.0])
    """
    if counts.shape[-1] == 1:
        return counts
    mean = counts.mean(axis=-1, keepdims=True)
    chance = squares.mean(axis=-1, keepdims=True)
    spread = counts.var(axis=-1, keepdims=True, ddof=1) - chance
    kept = np.maximum(spread, 0.0) / np.maximum(
        np.maximum(spread, 0.0) + np.maximum(squares, chance), 1e-300
    )
    shrunk: Floats = mean + kept * (counts - mean)
    return shrunk

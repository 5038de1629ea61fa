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
    "_pairs",
    "_pairs_before",
    "_compared",
    "_compared_before",
    "_wanted",
    "_arrivals_before",
)
# How much is forgotten in a life: e to this power.
_FADES = 2.0
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
        Equal parts of a window that are told apart.
    """

    def __init__(self, store: Store, parts: int) -> None:
        store.count_lags(parts)
        self._store = store
        count = store.memory.streams.size
        self._lags = np.zeros((count, count, parts))  # results, faded
        self._pairs = np.zeros((2, count, count))  # rows that were faced, and that fitted; faded
        self._pairs_before = np.zeros((2, count, count))  # all so far
        self._compared = np.zeros(2)  # rows compared, and that could be, in whole windows; faded
        self._compared_before = np.zeros(2)  # rows compared, and rows that did it; all so far
        self._wanted = np.zeros(1)  # comparisons of all rows, if all had probed whole windows
        self._arrivals_before = np.zeros(1)

    def take_in(self, lives: float) -> None:
        """Take in what was counted in a time of so many lives."""
        memory = self._store.memory
        kept = float(np.exp(-_FADES * lives))
        self._lags = kept * self._lags + memory.lags
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

    def _compared_in_whole(self) -> Floats:
        """Return the rows that were compared in whole windows so far, and the rows that did it."""
        streams, rule = self._store.memory.streams, self._store.memory.rule
        shed = streams["not_admitted"].sum() + streams["not_probed"].sum()
        whole = rule["arrivals"][0] - shed
        return np.array([streams["whole_compared"].sum(), whole], np.float64)

    def _new_of(self, compared: Floats) -> Floats:
        """Return new comparisons in whole windows, and how many rows were there for them."""
        new: Floats = compared - self._compared_before
        return np.array([new[0], new[1] * self._held])

    @property
    def _held(self) -> float:
        """Rows in a window now: in the first life there are more and more."""
        return float(self._store.memory.streams["held"].mean())

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
        padded = np.pad(self._lags, ((0, 0), (0, 0), (2, 2)), mode="edge")
        beside = sum(weight * padded[:, :, at : at + parts] for at, weight in enumerate(_BESIDE))
        counts: Floats = np.asarray(beside) + _PRIOR
        shares: Floats = counts / counts.sum(axis=2, keepdims=True)
        return shares

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
    def compared(self) -> float:
        """The share of the rows in whole windows that are compared; an index saves the rest."""
        faced = float(self._pairs[0].sum())
        return float(self._compared[0]) / faced if faced else 1.0

    def begin(self) -> None:
        """Begin to observe now: what was counted before is not new."""
        memory = self._store.memory
        pairs = np.stack([memory.pairs["faced"], memory.pairs["found"]])
        self._pairs_before = pairs.astype(np.float64)
        self._arrivals_before = memory.rule["arrivals"].astype(np.float64)
        self._compared_before = self._compared_in_whole()

    def save(self) -> dict[str, Any]:
        """Return the state, for `restore`."""
        saved = {name: getattr(self, name).tolist() for name in _SAVED}
        return saved | {"new": self._store.memory.lags.tolist()}

    def restore(self, saved: Mapping[str, Any]) -> None:
        """Go on where the saved one stopped."""
        for name in _SAVED:
            setattr(self, name, np.array(saved[name], np.float64))
        self._store.memory.lags[:] = saved["new"]

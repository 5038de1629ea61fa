"""How much importance there was to find: what the monitored rows show."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from penstock.engine.arrays import Floats, Integers


class ImportanceEstimate:
    """Adds up the importance of results, and estimates that of all there are, with its variance.

    As the gauges do for numbers of results (`kernels.monitoring`): a result of a monitored row
    counts for as many as the row stands for. With values y, Var(sum of I_t y_t / p_t) has the terms
    (1/p_t - 1) y_t^2 + 2 y_t sum over s < t of (1/p_s - 1) y_s for each row, each estimated by
    itself times 1 / p_t.
    """

    def __init__(self) -> None:
        self.found = 0.0  # by all results
        self.estimated = 0.0
        self.variance = 0.0
        self._covers: dict[int, float] = {}  # by the monitored row: sum of (1/p_s - 1) y_s

    def add(self, importance: Floats, weights: Floats, monitored: Integers) -> None:
        """Add results, in the order in which they came.

        Parameters
        ----------
        importance
            Of each.
        weights
            How many results each stands for; 0 if no monitored row waited for it.
        monitored
            The arrival number of that row.
        """
        self.found += float(importance.sum())
        some = np.flatnonzero(weights)
        if not some.size:
            return
        order = some[np.argsort(monitored[some], kind="stable")]
        numbers, weight, value = monitored[order], weights[order], importance[order]
        rows, starts = np.unique(numbers, return_index=True)
        before = np.array([self._covers.get(int(row), 0.0) for row in rows])
        sizes = np.diff(starts, append=numbers.size)
        gains = (weight - 1.0) * value
        sums = np.cumsum(gains) - gains  # of those before it, of this row and of others
        cover = np.repeat(before - sums[starts], sizes) + sums
        self.estimated += float(np.sum(weight * value))
        self.variance += float(np.sum(weight * value * (gains + 2.0 * cover)))
        ends = starts + sizes - 1
        self._covers.update(zip(rows.tolist(), (cover[ends] + gains[ends]).tolist(), strict=True))

    def forget(self, monitored: Integers) -> None:
        """Forget all rows but those that are monitored now."""
        now = set(monitored.tolist())
        self._covers = {row: cover for row, cover in self._covers.items() if row in now}

    def save(self) -> dict[str, np.ndarray]:
        """Return the state, for `restore`."""
        return {
            "sums": np.array([self.found, self.estimated, self.variance]),
            "rows": np.array(list(self._covers), np.int64),
            "covers": np.array(list(self._covers.values()), np.float64),
        }

    def restore(self, saved: Mapping[str, np.ndarray]) -> None:
        """Go on where the saved one stopped."""
        self.found, self.estimated, self.variance = saved["sums"].tolist()
        self._covers = dict(zip(saved["rows"].tolist(), saved["covers"].tolist(), strict=True))

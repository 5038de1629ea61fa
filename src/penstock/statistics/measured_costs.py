"""What the steps of a join cost on this machine, learned from how long batches have taken."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from penstock.costs import Costs

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["MeasuredCosts"]

Floats = npt.NDArray[np.float64]

# What was measured fades by this factor from batch to batch.
_FADES = 0.95
# The usual proportions of the costs count as much as so many batches.
_USUAL_COUNTS = 2.0
# Seconds of a batch that are there without any row: what is not a step's cost is not charged to it.
_FIXED = 0.01
# Batches whose times are taken as they are. Later ones count at most this much longer or shorter
# than foreseen: the machine was busy with something else.
_FIRST = 3
_MOST = 4.0
_ROUNDS = 20
# Of what a result usually costs, the part until it is handed over.
_LOOP_SHARE = 0.1


class MeasuredCosts:
    """Costs of the steps, by least squares of the times of batches on what they counted.

    Steps come in much the same proportions in every batch, so that times alone do not tell their
    costs apart: the usual proportions decide as far as the times do not.

    Examples
    --------
    >>> measured = MeasuredCosts()
    >>> for _ in range(50):
    ...     measured.add([100_000, 100_000, 400_000, 400_000], seconds=2.0)
    >>> measured.hand_over(rows=1_000_000, seconds=5.0)
    >>> costs = measured.costs
    >>> round(costs.of(arrivals=1e5, inserted=1e5, compared=4e5, results=4e5), 1)
    4.0
    """

    def __init__(self) -> None:
        usual = Costs.usual()
        self._usual = np.array([usual.arrival, usual.insert, usual.compare, usual.result, _FIXED])
        self._squares = np.zeros((5, 5))
        self._sums = np.zeros(5)
        self._batches = 0
        self._handed = np.zeros(2)  # seconds, and rows; faded
        self._fitted = self._usual.copy()
        self._fitted[3] = _LOOP_SHARE * usual.result

    def add(self, counted: Any, seconds: float) -> None:  # noqa: ANN401  # anything like an array
        """Take in a batch: arrivals, insertions, comparisons and results, and its time."""
        row = np.append(np.asarray(counted, np.float64), 1.0)
        if not row[0] or seconds <= 0.0:
            return
        if self._batches >= _FIRST:
            foreseen = float(row @ self._fitted)
            seconds = min(max(seconds, foreseen / _MOST), foreseen * _MOST)
        self._batches += 1
        self._squares = self._squares * _FADES + np.outer(row, row) / seconds**2
        self._sums = self._sums * _FADES + row / seconds
        self._fit()

    def hand_over(self, rows: int, seconds: float) -> None:
        """Take in how long results took until Spark had them."""
        if rows:
            self._handed = self._handed * _FADES + [seconds, rows]

    @property
    def costs(self) -> Costs:
        """The costs, as far as they are known."""
        arrival, insert, compare, result, _ = self._fitted.tolist()
        seconds, rows = self._handed.tolist()
        handed = seconds / rows if rows else (1.0 - _LOOP_SHARE) * float(self._usual[3])
        return Costs(arrival=arrival, insert=insert, compare=compare, result=result + handed)

    def _fit(self) -> None:
        """Solve for the costs: none is negative, and their proportions are not too unusual."""
        usual = self._usual.copy()
        usual[3] *= _LOOP_SHARE
        # The usual costs, all times what fits best.
        scale = float(self._sums @ usual) / float(usual @ self._squares @ usual)
        usual[:4] *= scale
        pull = _USUAL_COUNTS / usual**2
        fitted = usual.copy()
        for _ in range(_ROUNDS):
            for at in range(5):
                others = float(self._squares[at] @ fitted) - self._squares[at, at] * fitted[at]
                best = self._sums[at] - others + pull[at] * usual[at]
                fitted[at] = max(best / (self._squares[at, at] + pull[at]), 0.0)
        self._fitted = fitted

    def save(self) -> dict[str, Any]:
        """Return the state, for `restore`."""
        return {
            "squares": self._squares.tolist(),
            "sums": self._sums.tolist(),
            "batches": self._batches,
            "handed": self._handed.tolist(),
            "fitted": self._fitted.tolist(),
        }

    def restore(self, saved: Mapping[str, Any]) -> None:
        """Continue from a saved state."""
        self._batches = saved["batches"]
        for name in ("squares", "sums", "handed", "fitted"):
            setattr(self, f"_{name}", np.array(saved[name]))

"""What the steps of a join cost on this machine, learned from the time that batches have taken."""

from __future__ import annotations

from itertools import combinations
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
# How much priors count beside the data, as a part of what the data say of each unknown: of the
# machine's speed and a batch's fixed time, and of single costs. Batches that are all alike tell
# neither apart. Then a residual is shared out by the part of the time that each explains.
_SPEED_COUNTS = 0.003
_SINGLE_COUNTS = 0.1
# Seconds of a batch that are there without any row, before anything is known.
_FIXED = 0.01
# The least that steps cost, as a part of the usual costs, and of these at the machine's speed:
# steps that seem to be free would never be shed.
_LEAST = 0.2
# Batches whose times are taken as they are. Later ones count at most this much longer or shorter
# than expected: the machine was busy with something else.
_FIRST = 3
_MOST = 4.0
# Of what a result usually costs, the part until it is handed over.
_LOOP_SHARE = 0.5


class MeasuredCosts:
    """Costs of the steps, by least squares of the times of batches on what they counted.

    A batch takes a fixed time as well, which is not a step's: it is fitted with the costs. Steps
    come in much the same proportions in every batch, so that times alone do not tell their costs
    apart. The usual proportions decide as far as the times do not.

    Examples
    --------
    >>> measured = MeasuredCosts()
    >>> for size in range(1, 51):
    ...     measured.add(np.array([2_000, 2_000, 8_000, 8_000]) * size, seconds=0.1 + 0.04 * size)
    ...     measured.hand_over(rows=8_000 * size, seconds=0.04 * size)
    >>> costs = measured.costs
    >>> round(costs.of(arrivals=1e5, inserted=1e5, compared=4e5, results=4e5), 1)
    4.0
    """

    def __init__(self) -> None:
        usual = Costs.usual()
        self._usual = np.array([usual.arrival, usual.insert, usual.compare, usual.result])
        self._handing = (1.0 - _LOOP_SHARE) * usual.result
        self._usual[3] -= self._handing
        self._squares = np.zeros((5, 5))
        self._sums = np.zeros(5)
        self._batches = 0
        self._hands_over = True
        self._handed = np.zeros(2)  # seconds, and rows; faded
        self._fitted = np.append(self._usual, _FIXED)

    def add(self, counted: Any, seconds: float) -> None:  # noqa: ANN401  # anything like an array
        """Take in a batch: arrivals, insertions, comparisons and results, and its time."""
        row = np.append(np.asarray(counted, np.float64), 1.0)
        if not row[0] or seconds <= 0.0:
            return
        if self._batches >= _FIRST:
            expected = float(row @ self._fitted)
            seconds = min(max(seconds, expected / _MOST), expected * _MOST)
        self._batches += 1
        # Errors are taken to be in proportion to the time.
        self._squares = self._squares * _FADES + np.outer(row, row) / seconds**2
        self._sums = self._sums * _FADES + row / seconds
        self._fit()

    def hand_over(self, rows: int, seconds: float) -> None:
        """Take in how long results took until Spark had them."""
        if not rows:
            return
        if self._handed[1]:
            expected = rows * float(self._handed[0] / self._handed[1])
            seconds = min(seconds, max(expected, rows * self._handing) * _MOST)
        self._handed = self._handed * _FADES + [seconds, rows]

    def hand_over_nothing(self) -> None:
        """Note that the times of batches have all that results cost: they stay in the process."""
        self._hands_over = False

    @property
    def costs(self) -> Costs:
        """The costs, as far as they are known."""
        arrival, insert, compare, result, _ = self._fitted.tolist()
        if self._hands_over or not self._batches:
            seconds, rows = self._handed.tolist()
            result += seconds / rows if rows else self._handing
        return Costs(arrival=arrival, insert=insert, compare=compare, result=result)

    def _fit(self) -> None:
        """Fit the machine's speed and the fixed time, and from there on single costs."""
        together = np.zeros((5, 2))
        together[:4, 0], together[4, 1] = self._usual, 1.0
        speed = _least_squares(
            together.T @ self._squares @ together,
            together.T @ self._sums,
            prior=np.array([1.0, _FIXED]),
            counts=_SPEED_COUNTS,
            least=np.array([_LEAST, 0.0]),
        )
        prior = together @ speed
        self._fitted = _least_squares(
            self._squares,
            self._sums,
            prior=prior,
            counts=_SINGLE_COUNTS,
            least=np.append(_LEAST * prior[:4], 0.0),
        )

    def save(self) -> dict[str, Any]:
        """Return the state, for `restore`."""
        return {
            "squares": self._squares.tolist(),
            "sums": self._sums.tolist(),
            "batches": self._batches,
            "hands_over": self._hands_over,
            "handed": self._handed.tolist(),
            "fitted": self._fitted.tolist(),
        }

    def restore(self, saved: Mapping[str, Any]) -> None:
        """Continue from a saved state."""
        self._batches = saved["batches"]
        # A state of an earlier version does not say it.
        self._hands_over = saved.get("hands_over", True)
        for name in ("squares", "sums", "handed", "fitted"):
            setattr(self, f"_{name}", np.array(saved[name]))


def _least_squares(
    squares: Floats, sums: Floats, *, prior: Floats, counts: float, least: Floats
) -> Floats:
    """Return what solves normal equations best, with a ridge towards `prior`, all above `least`.

    The ridge is in proportion to the equations' diagonal, so that units do not matter.

    >>> _least_squares(
    ...     np.array([[2.0, 1.0], [1.0, 2.0]]),
    ...     np.array([3.0, 0.0]),
    ...     prior=np.zeros(2),
    ...     counts=0.0,
    ...     least=np.zeros(2),
    ... ).tolist()
    [1.5, 0.0]
    """
    lengths = np.sqrt(np.diag(squares))
    lengths[lengths == 0.0] = 1.0
    matrix = squares / np.outer(lengths, lengths)
    target = (sums - squares @ least) / lengths + counts * (prior - least) * lengths
    matrix[np.diag_indices_from(matrix)] += counts
    size = target.size
    best, least_error = np.zeros(size), 0.0
    # The unknowns that are above their least are few: all choices are tried, the likeliest first.
    for free in range(size, 0, -1):
        for chosen in combinations(range(size), free):
            at = list(chosen)
            found = np.linalg.lstsq(matrix[np.ix_(at, at)], target[at])[0]
            error = -float(target[at] @ found)
            if error < least_error and np.all(found >= 0.0):
                best, least_error = np.zeros(size), error
                best[at] = found
        if free == size and least_error < 0.0:
            break
    return least + best / lengths

"""The age curve: how the results of a row are spread over its time in the window."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from numba import njit

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["AgeCurve"]

Floats = npt.NDArray[np.float64]

# Two rates closer than this, relative to the best, are equal: rounding errors must not decide
# which row is evicted.
_TOLERANCE = 1e-9


@dataclass(frozen=True, eq=False)
class AgeCurve:
    """p_i(k) of one window: the number of results of a row at each age.

    A result counts for those of its members that wait in memory when the last one arrives. The
    window is divided into equal parts; `matches` has one number for each, the newest first.

    Parameters
    ----------
    matches
        p(1), p(2), ...: results of one row in each part of its window; none negative.

    Examples
    --------
    >>> curve = AgeCurve([1, 1, 2, 1])
    >>> curve.total, curve.best_age, curve.has_minima
    (5.0, 3, False)
    >>> curve.priorities().tolist()
    [1.333..., 1.5, 2.0, 1.0, 0.0]

    References
    ----------
    `srivastava04` 2.2 (Definition 2.2) and 3.2.1; the worked example is 3.3.
    """

    matches: Floats

    def __init__(self, matches: Sequence[float] | npt.NDArray[Any]) -> None:
        object.__setattr__(self, "matches", np.array(matches, np.float64))
        self.matches.setflags(write=False)

    @property
    def parts(self) -> int:
        """Number of parts into which the window is divided."""
        return self.matches.size

    @cached_property
    def total(self) -> float:
        """n: results of a row over its whole life."""
        return float(self.matches.sum())

    def cumulative(self) -> Floats:
        """Return C(0) = 0, C(1), ...: results of a row up to each age."""
        return self._cumulative

    @cached_property
    def _cumulative(self) -> Floats:
        return np.concatenate([[0.0], np.cumsum(self.matches)])

    @property
    def best_age(self) -> int:
        """k_opt: the age, in parts of the window, up to which a row gives most results per time."""
        ages = np.arange(1, self.parts + 1)
        gain = self.cumulative()[1:] / ages
        return int(ages[gain >= gain.max() * (1 - _TOLERANCE)][0])

    @property
    def has_minima(self) -> bool:
        """Whether the curve rises again after it has fallen."""
        steps = np.diff(self.matches)
        fallen = np.flatnonzero(steps < -_TOLERANCE * self.matches.max(initial=0.0))
        return bool(fallen.size and (steps[fallen[0] :] > 0).any())

    def priorities(self) -> Floats:
        """Return Priority(i) for each age i, 0 included: the highest rate of results still to come.

        Priority(i) = max over j > i of (C(j) - C(i)) / (j - i): the slope at i of the smallest
        concave curve above C from i on. At the end of the window it is 0.

        References
        ----------
        `srivastava04` 3.2.1, the greedy rule. It equals the rules for k_opt if the curve has no
        minima.
        """
        return self._priorities

    @cached_property
    def _priorities(self) -> Floats:
        priorities = _steepest(self._cumulative)
        # Rounded, so that ties stay ties whatever the last bits of the sums.
        unit = _TOLERANCE * max(priorities.max(), np.finfo(float).tiny)
        rounded: Floats = np.round(priorities / unit) * unit
        return rounded

    def output(self, rows: float | npt.ArrayLike, *, rate: float, window: float) -> Floats:
        """Compute R, the results per unit of time that AGE finds with `rows` rows of memory.

        Parameters
        ----------
        rows
            M, rows that may be held; numbers of any shape.
        rate
            r, rows per unit of time.
        window
            W, units of time.

        Examples
        --------
        >>> curve = AgeCurve([1, 1, 2, 1])
        >>> curve.output([1, 2, 3, 4], rate=1, window=4).tolist()
        [1.333..., 2.666..., 4.0, 5.0]

        References
        ----------
        `srivastava04` 3.2.2, eqs. 2 and 3.
        """
        memory = np.asarray(rows, np.float64)
        if not self.parts or window <= 0 or rate <= 0:
            return np.zeros(memory.shape)
        part = window / self.parts
        cumulative = self.cumulative()
        best = self.best_age
        held_for = np.minimum(memory / (rate * part), self.parts)  # parts, if all are admitted
        staggered = memory * cumulative[best] / (best * part)
        all_rows = rate * np.interp(held_for, np.arange(cumulative.size), cumulative)
        return np.where(held_for <= best, np.minimum(staggered, rate * self.total), all_rows)


@njit(cache=True, error_model="numpy")  # type: ignore[untyped-decorator, unused-ignore]
def _steepest(heights: Floats) -> Floats:
    """Compute from each place the steepest slope to a later one; 0 from the last."""
    slopes = np.zeros(heights.size)
    # From the end backwards, with the corners of the smallest concave curve above the rest. A
    # corner is dropped if it lies below the line from here to the next one.
    corners = np.empty(heights.size, np.int64)
    corners[0] = heights.size - 1
    last = 0
    for start in range(heights.size - 2, -1, -1):
        slope = (heights[corners[last]] - heights[start]) / (corners[last] - start)
        while last > 0:
            further = corners[last - 1]
            other = (heights[further] - heights[start]) / (further - start)
            if other < slope:
                break
            slope = other
            last -= 1
        slopes[start] = slope
        last += 1
        corners[last] = start
    return slopes

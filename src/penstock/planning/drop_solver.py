"""Shares of streams that give the most within limits."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from penstock.planning.geometric import Posynomial, maximize_product
from penstock.planning.knapsack import fill_knapsack

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from penstock.planning.drop_functions import Functions, Kept
    from penstock.planning.geometric import Limit

__all__ = ["ROUNDING", "Goal", "between", "settle", "starts_of"]

Floats = npt.NDArray[np.float64]

ROUNDING = 1e-9
"""Sums of costs are compared with bounds up to this: Example 1 needs exactly what there is."""

# Products that approximate the output, one after the other.
_MOST_ROUNDS = 60
_SMALL_GAIN = 1e-6
# Where coefficients depend on the shares.
_MOST_TURNS, _MOST_HALVINGS = 8, 60
_SAME_SHARES = 1e-4
_MOST_PAIRED = 4


@dataclass(frozen=True, eq=False)
class _Objective:
    """The output, in which streams may count more than others."""

    output: Posynomial
    extra: Floats

    def at(self, kept: Floats) -> float:
        return self.output.at(kept) * float(np.prod(np.maximum(kept, 1e-300) ** self.extra))


def _weighted(problem: Functions, weight: Floats) -> _Objective:
    """Return what to maximise.

    The weight of a stream with a window by rows is a factor of the terms that it is in. That of a
    stream with a window by time, which is in all terms, is a power of its share.
    """
    of_rows = np.where(problem.by_time, 1.0, weight)
    factors = np.prod(np.where(problem.output.exponents > 0, of_rows, 1.0), axis=1)
    output = Posynomial(problem.output.coefficients * factors, problem.output.exponents)
    return _Objective(output, np.where(problem.by_time, weight - 1, 0.0))


@dataclass(frozen=True, eq=False)
class Goal:
    """What is maximised, and within which limits."""

    functions: Kept
    weight: Floats
    bound: float
    rows: float | None
    least: Floats

    def limits(self, problem: Functions) -> list[Limit]:
        """Return the sums that have bounds."""
        rows = [] if self.rows is None else [(problem.memory, self.rows)]
        return [(problem.cost, self.bound), *rows]

    def fits(self, kept: Floats) -> bool:
        """Return whether some shares are within the limits, as the model computes them."""
        return self.excess(kept) <= ROUNDING

    def excess(self, kept: Floats) -> float:
        """Return by how much the limit is exceeded that is exceeded most, as a share of it."""
        limits = self.limits(self.functions.at(kept))
        return max(sums.at(kept) / max(limit, 1e-300) for sums, limit in limits) - 1

    def value(self, kept: Floats) -> float:
        """Return what some shares give, as the model computes it."""
        return _weighted(self.functions.at(kept), self.weight).at(kept)

    def solve(
        self, problem: Functions, starts: Sequence[Floats], rounds: int = _MOST_ROUNDS
    ) -> Floats:
        """Return the best shares if the coefficients of the sums stay as they are."""
        limits, least = self.limits(problem), self.least
        objective = _weighted(problem, self.weight)
        if any(sums.at(least) >= bound * (1 - ROUNDING) for sums, bound in limits):
            return least
        if not objective.output.coefficients.size:
            return maximize_product(np.ones(least.size), limits, least)
        if not problem.by_time.any():
            # Every exponent is that of one stream: both are linear. Memory does not change.
            gain = objective.output.exponents.T @ objective.output.coefficients
            cost = problem.cost.exponents.T @ problem.cost.coefficients
            return fill_knapsack(gain, cost, limits[0][1], least)
        best, most = least, -np.inf
        for start in starts:
            found = _climb(objective, limits, least, np.maximum(start, least), rounds)
            value = objective.at(found)
            if value > most * (1 + 1e-9):
                best, most = found, value
        return best


def settle(goal: Goal) -> Floats:
    """Solve with the coefficients of the last shares, again and again, and return the best found.

    A solution that exceeds a limit with coefficients of its own is moved towards the least shares
    until it fits. One that leaves something is moved towards all. There can be several solutions:
    so there are several beginnings.
    """
    everything = np.ones(goal.least.size)
    full = goal.functions.full
    if not full.output.coefficients.size:
        return between(goal.least, goal.solve(full, []), goal.excess)
    best, most = goal.least, -np.inf
    seen: list[Floats] = []

    def add(kept: Floats) -> None:
        nonlocal best, most
        if goal.excess(kept) > 0:
            kept = between(goal.least, kept, goal.excess)
        for each in (kept, between(kept, everything, goal.excess)):
            value = goal.value(each)
            if value > most * (1 + ROUNDING) and goal.fits(each):
                best, most = each, value

    for start in _corners(goal):
        kept = start
        add(kept)
        for turn in range(_MOST_TURNS):
            found = goal.solve(goal.functions.at(kept), [np.maximum(kept, 1e-3)], rounds=1)
            if any(np.abs(found - each).max() <= _SAME_SHARES for each in seen):
                break
            seen.append(found)
            add(found)
            # Where the solutions jump between corners, their means settle.
            kept = found if turn < _MOST_TURNS // 2 else (found + kept) / 2
    return best


def between(inside: Floats, outside: Floats, excess: Callable[[Floats], float]) -> Floats:
    """Return the last shares that fit on the way from some that do, by false position.

    What is returned fits, whatever the function is.
    """
    low, high = 0.0, 1.0
    below, above = excess(inside), excess(outside)
    first = below
    if above <= 0:
        return outside
    for turn in range(_MOST_HALVINGS):
        # A limit that no shares change may be reached from the beginning.
        if below > max(first, -ROUNDING) or high - low < ROUNDING * high:
            break
        middle = low + (high - low) * below / (below - above)
        if turn % 3 == 2 or not low < middle < high:
            middle = (low + high) / 2
        now = excess(inside + middle * (outside - inside))
        if now <= 0:
            low, below = middle, now
        else:
            high, above = middle, now
    return inside + low * (outside - inside)


def _corners(goal: Goal) -> list[Floats]:
    """Return points to begin at: all, and all but one or two streams with windows by rows.

    The less is kept of such a stream, the longer its window lasts.
    """
    streams = np.flatnonzero(goal.functions.full.by_rows & (goal.least < 1)).tolist()
    pairs = combinations(streams, 2) if len(streams) <= _MOST_PAIRED else ()
    chosen = [(), *((one,) for one in streams), *pairs]
    corners = []
    for few in chosen:
        corner = np.ones(goal.least.size)
        corner[list(few)] = goal.least[list(few)]
        corners.append(corner)
    return corners


def starts_of(by_rows: npt.NDArray[np.bool_]) -> list[Floats]:
    """Return points to begin at: all streams alike, and each stream with a window by rows alone."""
    starts = [np.ones(by_rows.size)]
    starts += [
        np.where(~by_rows | (np.arange(by_rows.size) == at), 1.0, 1e-3)
        for at in np.flatnonzero(by_rows)
    ]
    return starts


def _climb(
    objective: _Objective, limits: Sequence[Limit], least: Floats, at: Floats, rounds: int
) -> Floats:
    """Approximate the output by a product at the last point, and maximise that, until it stays.

    A weighted mean is never below the product with the same weights. So the product is a lower
    bound that is exact at the point, and each step finds more.
    """
    last = -np.inf
    for _ in range(rounds):
        terms = objective.output.terms(at)
        powers = objective.output.exponents.T @ (terms / terms.sum()) + objective.extra
        at = maximize_product(np.maximum(powers, 0.0), limits, least)
        now = objective.at(at)
        is_a_product = (objective.output.exponents == objective.output.exponents[0]).all()
        if is_a_product or now <= last * (1 + _SMALL_GAIN):
            break
        last = now
    return at

"""Near-optimal choice of the parts of windows that rows probe, from frontiers of cost and output.

What a direction costs and puts out does not depend on the others, and what follows a hop does not
depend on what came before it. So the best choices for a direction are built from its last hop to
its first, then those of the directions are put together. At each step only choices are kept
that put out more than all cheaper ones: the frontier. Kept whole, frontiers lead to the optimum
(`penstock.yardsticks.harvest_optimum`). Here they are thinned, so that it takes little time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt
from numba import njit

from penstock.statistics.harvest_greedy import budget_of, climb, evaluate

if TYPE_CHECKING:
    from penstock.statistics.harvest_model import Harvest, HarvestModel, HarvestTable

__all__ = ["best_harvest"]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

_BEST_DELTA: Final = 2
# Points that a frontier may have. More take longer, and fewer lose more by thinning.
_POINTS: Final = 128


def best_harvest(model: HarvestModel, throttle: float, *, parts: bool = False) -> Harvest:
    """Set harvest fractions near the optimum.

    It takes the better of two: what thinned frontiers lead to, and the greedy choice
    (`greedy`, best-delta). Both are then filled up, as long as another sub-window fits. So it is
    never below the greedy choice.

    Parameters
    ----------
    model
        The join.
    throttle
        z, the share of the exact join's cost that may be spent; above 0, at most 1.
    parts
        Whether the last sub-window of one hop may be probed in part, so that all of the cost that
        is allowed is spent.

    Returns
    -------
    Harvest
        Never above `throttle` times the full cost.

    Examples
    --------
    >>> from penstock.statistics.harvest_model import HarvestModel
    >>> model = HarvestModel.of(
    ...     rates=[10.0, 10.0],
    ...     windows=[4.0, 4.0],
    ...     length=2.0,
    ...     selectivity=[[0.0, 0.1], [0.1, 0.0]],
    ...     scores=[[[0.0, 0.0], [0.2, 0.6]], [[0.5, 0.5], [0.0, 0.0]]],
    ... )
    >>> best_harvest(model, 0.3).fractions.tolist()
    [[0.5], [0.0]]
    >>> found = best_harvest(model, 0.3, parts=True)
    >>> found.fractions.round(3).tolist(), round(found.cost / model.full_cost, 3)
    ([[0.5], [0.1]], 0.3)

    References
    ----------
    Ours, for the optimal window harvesting problem of Gedik, Wu, Yu and Liu, GrubJoin (2005),
    section 4.2.2. The paper solves it by its greedy heuristic.
    """
    budget = budget_of(model, throttle)
    table = model.table
    taken = np.zeros(table.steps.shape, np.int64)
    search(table, budget, _POINTS, taken)
    fractions = taken / table.steps
    if parts:
        _fill(table, budget, taken, fractions)
    return model.harvest(fractions)


@njit(cache=True, error_model="numpy")
def search(table: HarvestTable, budget: float, points: int, taken: Integers) -> None:
    """Find how many sub-windows to take of each direction and hop."""
    m, hops = taken.shape
    other = np.zeros((m, hops), np.int64)
    climb(table, budget, _BEST_DELTA, other)
    _by_frontiers(table, budget, points, taken)
    climb(table, budget, _BEST_DELTA, taken)
    found = greedily = 0.0
    for i in range(m):
        found += evaluate(table, i, taken[i])[1]
        greedily += evaluate(table, i, other[i])[1]
    if greedily > found:
        taken[:] = other


@njit(cache=True, error_model="numpy")
def _by_frontiers(table: HarvestTable, budget: float, points: int, taken: Integers) -> None:
    m, hops = taken.shape
    most = points + 1
    # By direction and hop: a point's cost and output, its sub-windows, its place in the next one.
    figures = np.zeros((m, hops + 1, 2, most))
    links = np.zeros((m, hops + 1, 2, most), np.int64)
    sizes = np.zeros(m, np.int64)
    for i in range(m):
        sizes[i] = _frontier(table, i, budget, figures[i], links[i])
    # Directions together: a point's place in the joint frontier before, and in its direction's.
    joint = np.zeros((m, 2, most))
    places = np.zeros((m, 2, most), np.int64)
    size = sizes[0]
    joint[0] = figures[0, 0]
    places[0, 1] = np.arange(most)
    for i in range(1, m - 1):
        own = figures[i, 0, :, : sizes[i]]
        size = _merge(joint[i - 1, :, :size], own, budget, joint[i], places[i])
    # The last direction: the best that fits beside each point. Both are in ascending order.
    last = m - 1
    best, before, own_place = -1.0, 0, 0
    at = sizes[last] - 1
    for p in range(size):
        while at > 0 and joint[last - 1, 0, p] + figures[last, 0, 0, at] > budget:
            at -= 1
        found = joint[last - 1, 1, p] + figures[last, 0, 1, at]
        if found > best:
            best, before, own_place = found, p, at
    for i in range(last, -1, -1):
        point = own_place
        for j in range(hops):
            taken[i, j] = links[i, j, 0, point]
            point = links[i, j, 1, point]
        if i > 0:
            own_place, before = places[i - 1, 1, before], places[i - 1, 0, before]


@njit(cache=True, error_model="numpy")
def _frontier(table: HarvestTable, i: int, budget: float, figures: Floats, links: Integers) -> int:
    """Build the frontier of a direction, from its last hop to its first; return its size.

    Costs and outputs of a hop are those of one partial result that reaches it. Points are put into
    buckets by the root of their cost, and of each bucket the one with the most output is kept.
    """
    hops = table.sizes.shape[1]
    points = figures.shape[2] - 1
    # The most that what follows may cost, if as little as possible is taken before.
    limits = np.zeros(hops + 1)
    limits[0] = budget / max(table.rates[i], 1e-300)
    for j in range(hops):
        left = limits[j] - table.sizes[i, j] / table.steps[i, j]
        growth = table.yields[i, j, 1] * table.matches[i, j]
        if left < 0.0 or growth <= 0.0:
            return 1
        limits[j + 1] = left / growth
    kept = np.zeros((2, points))
    kept_links = np.zeros((2, points), np.int64)
    figures[hops, 1, 0] = 1.0
    size = 1
    for j in range(hops - 1, -1, -1):
        kept[:] = 0.0
        scale = points / limits[j] * points
        step = table.sizes[i, j] / table.steps[i, j]
        for count in range(1, table.steps[i, j] + 1):
            growth = table.yields[i, j, count] * table.matches[i, j]
            for p in range(size):
                cost = step * count + growth * figures[j + 1, 0, p]
                if cost > limits[j]:
                    break
                output = growth * figures[j + 1, 1, p]
                bucket = min(points - 1, int(np.sqrt(cost * scale)))
                if output > kept[1, bucket] or (
                    output == kept[1, bucket] and cost < kept[0, bucket]
                ):
                    kept[0, bucket], kept[1, bucket] = cost, output
                    kept_links[0, bucket], kept_links[1, bucket] = count, p
        # A direction may also be left out: its first point.
        begin = 1 if j == 0 else 0
        size = _collect(kept, kept_links, figures[j, :, begin:], links[j, :, begin:], 0.0) + begin
        if size == 0:
            return 1
    figures[0] *= table.rates[i]
    return size


@njit(cache=True, error_model="numpy")
def _merge(before: Floats, own: Floats, budget: float, joint: Floats, places: Integers) -> int:
    """Put a direction beside those before it; return the size of the joint frontier."""
    points = joint.shape[1] - 1
    kept = np.full((2, points), -1.0)
    kept_places = np.zeros((2, points), np.int64)
    scale = points / budget
    for p in range(before.shape[1]):
        for q in range(own.shape[1]):
            cost = before[0, p] + own[0, q]
            if cost > budget:
                break
            output = before[1, p] + own[1, q]
            bucket = min(points - 1, int(cost * scale))
            if output > kept[1, bucket] or (output == kept[1, bucket] and cost < kept[0, bucket]):
                kept[0, bucket], kept[1, bucket] = cost, output
                kept_places[0, bucket], kept_places[1, bucket] = p, q
    return _collect(kept, kept_places, joint, places, -1.0)


@njit(cache=True, error_model="numpy")
def _collect(
    kept: Floats, kept_links: Integers, figures: Floats, links: Integers, least: float
) -> int:
    """Copy what puts out more than all cheaper buckets; return how many these are."""
    size = 0
    most = least
    for bucket in range(kept.shape[1]):
        if kept[1, bucket] > most:
            most = kept[1, bucket]
            figures[:, size] = kept[:, bucket]
            links[:, size] = kept_links[:, bucket]
            size += 1
    return size


@njit(cache=True, error_model="numpy")
def _fill(table: HarvestTable, budget: float, taken: Integers, fractions: Floats) -> None:
    """Spend what is left on a part of one more sub-window, where it adds most."""
    m, hops = taken.shape
    left = budget
    for i in range(m):
        left -= evaluate(table, i, taken[i])[0]
    best, u, v, share = 0.0, -1, -1, 0.0
    for i in range(m):
        cost, output = evaluate(table, i, taken[i])
        begun = taken[i].min() > 0
        for j in range(hops):
            if taken[i, j] == table.steps[i, j] or not (begun or hops == 1):
                continue
            taken[i, j] += 1
            new_cost, new_output = evaluate(table, i, taken[i])
            taken[i, j] -= 1
            # Cost and output are linear in the part.
            part = min(1.0, left / max(new_cost - cost, 1e-300))
            if part * (new_output - output) > best:
                best, u, v, share = part * (new_output - output), i, j, part
    if u >= 0:
        fractions[u, v] += share / table.steps[u, v]

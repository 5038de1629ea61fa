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
from penstock.statistics.harvest_model import HarvestTable

if TYPE_CHECKING:
    from penstock.statistics.harvest_model import Harvest, HarvestModel

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
    # By direction and hop: a point's cost, output, sub-windows, and place in the next frontier.
    costs, outputs = np.zeros((m, hops + 1, most)), np.zeros((m, hops + 1, most))
    counts = np.zeros((m, hops + 1, most), np.int64)
    nexts = np.zeros((m, hops + 1, most), np.int64)
    sizes = np.zeros(m, np.int64)
    for i in range(m):
        sizes[i] = _frontier(
            table, i, budget, points, costs[i], outputs[i], counts[i], nexts[i]
        )
    # Directions together: a point's places in the frontiers of the directions before, and of this.
    joint_costs, joint_outputs = np.zeros((m, most)), np.zeros((m, most))
    befores, owns = np.zeros((m, most), np.int64), np.zeros((m, most), np.int64)
    size = sizes[0]
    joint_costs[0, :size] = costs[0, 0, :size]
    joint_outputs[0, :size] = outputs[0, 0, :size]
    owns[0, :size] = np.arange(size)
    for i in range(1, m - 1):
        size = _merge(
            joint_costs[i - 1, :size],
            joint_outputs[i - 1, :size],
            costs[i, 0, : sizes[i]],
            outputs[i, 0, : sizes[i]],
            budget,
            joint_costs[i],
            joint_outputs[i],
            befores[i],
            owns[i],
        )
    # The last direction: the best that fits beside each point. Both are in ascending order.
    last = m - 1
    best, before, own = -1.0, 0, 0
    at = sizes[last] - 1
    for p in range(size):
        while at > 0 and joint_costs[last - 1, p] + costs[last, 0, at] > budget:
            at -= 1
        found = joint_outputs[last - 1, p] + outputs[last, 0, at]
        if found > best:
            best, before, own = found, p, at
    for i in range(last, -1, -1):
        point = own
        for j in range(hops):
            taken[i, j] = counts[i, j, point]
            point = nexts[i, j, point]
        if i > 0:
            own, before = owns[i - 1, before], befores[i - 1, before]


@njit(cache=True, error_model="numpy")
def _frontier(
    table: HarvestTable,
    i: int,
    budget: float,
    points: int,
    costs: Floats,
    outputs: Floats,
    counts: Integers,
    nexts: Integers,
) -> int:
    """Build the frontier of a direction, from its last hop to its first; return its size.

    Costs and outputs of a hop are those of one partial result that reaches it. Points are put into
    buckets by the root of their cost, and of each bucket the one with the most output is kept.
    """
    hops = table.sizes.shape[1]
    # The most that what follows may cost, if as little as possible is taken before.
    limits = np.zeros(hops + 1)
    limits[0] = budget / max(table.rates[i], 1e-300)
    for j in range(hops):
        left = limits[j] - table.sizes[i, j] / table.steps[i, j]
        growth = table.yields[i, j, 1] * table.matches[i, j]
        if left < 0.0 or growth <= 0.0:
            return 1
        limits[j + 1] = left / growth
    bucket_costs, bucket_outputs = np.zeros(points), np.zeros(points)
    bucket_counts, bucket_nexts = np.zeros(points, np.int64), np.zeros(points, np.int64)
    outputs[hops, 0] = 1.0
    size = 1
    for j in range(hops - 1, -1, -1):
        bucket_outputs[:] = 0.0
        scale = points / limits[j]
        step = table.sizes[i, j] / table.steps[i, j]
        for count in range(1, table.steps[i, j] + 1):
            growth = table.yields[i, j, count] * table.matches[i, j]
            for p in range(size):
                cost = step * count + growth * costs[j + 1, p]
                if cost > limits[j]:
                    break
                output = growth * outputs[j + 1, p]
                bucket = min(points - 1, int(np.sqrt(cost * scale * points)))
                kept = bucket_outputs[bucket]
                if output > kept or (output == kept and cost < bucket_costs[bucket]):
                    bucket_outputs[bucket], bucket_costs[bucket] = output, cost
                    bucket_counts[bucket], bucket_nexts[bucket] = count, p
        first = j == 0
        size = 1 if first else 0  # a direction may also be left out
        most = 0.0
        factor = table.rates[i] if first else 1.0
        for bucket in range(points):
            if bucket_outputs[bucket] > most:
                most = bucket_outputs[bucket]
                costs[j, size], outputs[j, size] = bucket_costs[bucket] * factor, most * factor
                counts[j, size], nexts[j, size] = bucket_counts[bucket], bucket_nexts[bucket]
                size += 1
        if size == 0:
            return 1
    return size


@njit(cache=True, error_model="numpy")
def _merge(
    costs: Floats,
    outputs: Floats,
    own_costs: Floats,
    own_outputs: Floats,
    budget: float,
    joint_costs: Floats,
    joint_outputs: Floats,
    befores: Integers,
    owns: Integers,
) -> int:
    """Put a direction beside those before it; return the size of the joint frontier."""
    points = joint_costs.size - 1
    bucket_costs, bucket_outputs = np.zeros(points), np.full(points, -1.0)
    bucket_befores, bucket_owns = np.zeros(points, np.int64), np.zeros(points, np.int64)
    scale = points / budget
    for p in range(costs.size):
        for q in range(own_costs.size):
            cost = costs[p] + own_costs[q]
            if cost > budget:
                break
            output = outputs[p] + own_outputs[q]
            bucket = min(points - 1, int(cost * scale))
            kept = bucket_outputs[bucket]
            if output > kept or (output == kept and cost < bucket_costs[bucket]):
                bucket_outputs[bucket], bucket_costs[bucket] = output, cost
                bucket_befores[bucket], bucket_owns[bucket] = p, q
    size = 0
    most = -1.0
    for bucket in range(points):
        if bucket_outputs[bucket] > most:
            most = bucket_outputs[bucket]
            joint_costs[size], joint_outputs[size] = bucket_costs[bucket], most
            befores[size], owns[size] = bucket_befores[bucket], bucket_owns[bucket]
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

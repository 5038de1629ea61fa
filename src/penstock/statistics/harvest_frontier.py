"""Near-optimal choice of the parts of windows that rows probe, from frontiers of cost and output.

What a direction costs and puts out does not depend on the others, and what follows a hop does not
depend on what came before it. So the best choices for a direction are built from its last hop to
its first, then those of the directions are put together. At each step only choices are kept
that put out more than all cheaper ones: the frontier. Kept whole, frontiers lead to the optimum
(`penstock.yardsticks.harvest_optimum`). Here they are thinned, so that it takes little time.

Where an arriving row scans a window once, whatever it has found before, the cost of a hop is not in
proportion to the partial results that reach it. Then a direction's choices are built from its first
hop to its last, by the share of the partial results that is left.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt
from numba import njit

from penstock.statistics.harvest_greedy import budget_of, climb, cost_of_hop, evaluate
from penstock.statistics.harvest_model import scans_of

if TYPE_CHECKING:
    from penstock.statistics.harvest_model import Harvest, HarvestModel, HarvestTable

__all__ = ["best_harvest"]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

_BEST_DELTA: Final = 2
# Points that a frontier may have. More take longer, and fewer lose more by thinning.
_POINTS: Final = 128
# Shares of partial results that are distinguished, on a scale of logarithms down to the least one.
_SHARES: Final = 512
_LEAST_LOG: Final = -12.0
_PER_LOG: Final = _SHARES / _LEAST_LOG
# Halvings by which the part of a sub-window is found that still fits.
_HALVINGS: Final = 40


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
        is allowed is spent. If not even one sub-window of each hop fits, a part of the first hop's
        is probed.

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
    if budget <= 0.0:  # nothing costs anything
        return model.harvest(np.ones(table.steps.shape))
    taken = np.zeros(table.steps.shape, np.int64)
    search(table, budget, _POINTS, table.is_linear, taken)
    fractions = taken / table.steps
    if parts:
        _fill(table, budget, taken, fractions)
    return model.harvest(fractions)


@njit(cache=True, error_model="numpy")
def search(
    table: HarvestTable,
    budget: float,
    points: int,
    is_linear: bool,  # noqa: FBT001 -- Numba has no keywords-only arguments
    taken: Integers,
) -> None:
    """Find how many sub-windows to take of each direction and hop."""
    m, hops = taken.shape
    other = np.zeros((m, hops), np.int64)
    climb(table, budget, _BEST_DELTA, other)
    _by_frontiers(table, budget, points, is_linear, taken)
    climb(table, budget, _BEST_DELTA, taken)
    found = greedily = 0.0
    for i in range(m):
        found += evaluate(table, i, taken[i])[1]
        greedily += evaluate(table, i, other[i])[1]
    if greedily > found:
        taken[:] = other


@njit(cache=True, error_model="numpy")
def _by_frontiers(
    table: HarvestTable,
    budget: float,
    points: int,
    is_linear: bool,  # noqa: FBT001
    taken: Integers,
) -> None:
    m, hops = taken.shape
    most = points + 1
    # By direction and hop: a point's cost and output, its sub-windows, its place in the next one.
    figures = np.zeros((m, hops + 1, 2, most))
    links = np.zeros((m, hops + 1, 2, most), np.int64)
    sizes = np.zeros(m, np.int64)
    for i in range(m):
        if is_linear:
            sizes[i] = _frontier(table, i, budget, figures[i], links[i])
        else:
            sizes[i] = _frontier_by_shares(table, i, budget, figures[i], links[i])
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
        left = limits[j] - cost_of_hop(table, i, j, 1, 1.0)
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
        scale = points / max(limits[j], 1e-300) * points
        for count in range(1, table.steps[i, j] + 1):
            growth = table.yields[i, j, count] * table.matches[i, j]
            own = cost_of_hop(table, i, j, count, 1.0)
            for p in range(size):
                cost = own + growth * figures[j + 1, 0, p]
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
def _frontier_by_shares(
    table: HarvestTable, i: int, budget: float, figures: Floats, links: Integers
) -> int:
    """Build the frontier of a direction, from its first hop to its last; return its size.

    What follows a hop depends only on the share of the partial results that is left. Choices are
    put into buckets by its logarithm, and of each bucket the one with the least cost for its share
    is kept.
    """
    hops = table.sizes.shape[1]
    points = figures.shape[2] - 1
    # By hop and bucket: cost and share; the sub-windows of the hop, and the bucket before it.
    states = np.zeros((hops + 1, 2, _SHARES))
    came = np.zeros((hops + 1, 2, _SHARES), np.int64)
    states[0, 1, 0] = 1.0
    whole = table.rates[i]  # partial results that reach the hop, in whole windows
    logs = np.zeros(table.yields.shape[2])
    for j in range(hops):
        steps = table.steps[i, j]
        for count in range(1, steps + 1):
            logs[count] = np.log(max(table.yields[i, j, count], 1e-300))
        for at in range(_SHARES):
            cost, share = states[j, 0, at], states[j, 1, at]
            if share == 0.0:
                continue
            # As `cost_of_hop` for each count: powers and logarithms take most of the time.
            log = np.log(share)
            reaching = whole * share
            scan = scans_of(share, table.scanned[i, j]) * table.sizes[i, j] / steps
            for count in range(1, steps + 1):
                found = table.yields[i, j, count]
                new = cost + reaching * (scan * count + table.checks[i, j] * found)
                if new > budget:
                    break
                left = share * found
                if left <= 0.0:
                    continue
                place = min(_SHARES - 1, int(max((log + logs[count]) * _PER_LOG, 0.0)))
                kept = states[j + 1, 1, place]
                if kept == 0.0 or new / left < states[j + 1, 0, place] / kept:
                    states[j + 1, 0, place], states[j + 1, 1, place] = new, left
                    came[j + 1, 0, place], came[j + 1, 1, place] = count, at
        whole *= table.matches[i, j]
    kept_points = np.zeros((2, points))
    ends = np.zeros((2, points), np.int64)
    for at in range(_SHARES):
        cost, output = states[hops, 0, at], whole * states[hops, 1, at]
        bucket = min(points - 1, int(np.sqrt(cost / budget) * points))
        if output > kept_points[1, bucket]:
            kept_points[0, bucket], kept_points[1, bucket] = cost, output
            ends[0, bucket] = at
    # A direction may also be left out: its first point.
    found = np.zeros((2, points), np.int64)
    size = _collect(kept_points, ends, figures[0, :, 1:], found, 0.0) + 1
    for p in range(1, size):
        at = found[0, p - 1]
        for j in range(hops, 0, -1):
            links[j - 1, 0, p], links[j - 1, 1, p] = came[j, 0, at], p
            at = came[j, 1, at]
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
    """Spend what is left on a part of one more sub-window, where it adds most.

    Or all that a direction costs, or all there is, on a part of its first hop's best one, with as
    many of the other hops as give most for it. Where little is allowed, that is more than whole
    ones give.
    """
    m, hops = taken.shape
    left, total = budget, 0.0
    for i in range(m):
        cost, output = evaluate(table, i, taken[i])
        left -= cost
        total += output
    best, u, alone = total, -1, False
    filled = np.zeros(hops)
    own = np.zeros(hops)
    for i in range(m):
        cost, output = evaluate(table, i, taken[i])
        begun = taken[i].min() > 0
        for j in range(-2, hops if begun else 0):
            if j >= 0 and taken[i, j] == table.steps[i, j]:
                continue
            own[:] = taken[i]
            if j < 0:
                _most_for_a_part(table, i, own)
                own[0] = 0.0
            most, others = cost + left, total - output
            if j == -2:
                most, others = budget, 0.0
            part = _part_that_fits(table, i, max(j, 0), own, most)
            own[max(j, 0)] += part
            found = others + _evaluate_parts(table, i, own)[1]
            if found > best:
                best, u, alone = found, i, j == -2
                filled[:] = own
    if u < 0:
        return
    if alone:
        fractions[:] = 0.0
    for j in range(hops):
        fractions[u, j] = filled[j] / table.steps[u, j]


@njit(cache=True, error_model="numpy")
def _most_for_a_part(table: HarvestTable, i: int, own: Floats) -> None:
    """Set the hops after the first so that a part of one sub-window of that gives most."""
    own[:] = 1.0
    cost, output = _evaluate_parts(table, i, own)
    changed = True
    while changed:
        changed = False
        for j in range(1, own.size):
            if own[j] >= table.steps[i, j]:
                continue
            own[j] += 1.0
            new_cost, new_output = _evaluate_parts(table, i, own)
            if new_output * cost > output * new_cost:
                cost, output = new_cost, new_output
                changed = True
            else:
                own[j] -= 1.0


@njit(cache=True, error_model="numpy")
def _part_that_fits(table: HarvestTable, i: int, j: int, own: Floats, most: float) -> float:
    """Return how much more of a sub-window of a hop can be probed for a cost of `most`.

    Found by halving: where a window is scanned once for several partial results, cost is not
    in proportion to the part.
    """
    before = own[j]
    low, high = 0.0, 1.0
    own[j] = before + 1.0
    if _evaluate_parts(table, i, own)[0] <= most:
        low = 1.0
    else:
        for _ in range(_HALVINGS):
            middle = (low + high) / 2.0
            own[j] = before + middle
            if _evaluate_parts(table, i, own)[0] <= most:
                low = middle
            else:
                high = middle
    own[j] = before
    return low


@njit(cache=True, error_model="numpy")
def _evaluate_parts(table: HarvestTable, i: int, own: Floats) -> tuple[float, float]:
    """Return what direction i costs and puts out with so many sub-windows of each hop, or parts."""
    cost = 0.0
    reaching = table.rates[i]
    share = 1.0
    for j in range(own.size):
        steps = table.steps[i, j]
        count = min(int(own[j]), steps)
        found = table.yields[i, j, count]
        if count < steps:
            found += (own[j] - count) * (table.yields[i, j, count + 1] - found)
        scans = scans_of(share, table.scanned[i, j])
        each = scans * table.sizes[i, j] * own[j] / steps + table.checks[i, j] * found
        cost += reaching * each
        share *= found
        reaching *= found * table.matches[i, j]
    return cost, reaching

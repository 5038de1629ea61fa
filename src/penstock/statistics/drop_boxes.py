"""How many rows of each stream to drop before an m-way join with time windows, for little work.

A drop box thins out its stream's arrivals and with them its window. So output is a product of what
the boxes let through, and cost is a sum of such products (a posynomial).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt
from numba import njit

from penstock.statistics.harvest_greedy import budget_of

if TYPE_CHECKING:
    from penstock.statistics.harvest_model import HarvestModel, HarvestTable

__all__ = ["best_drop_boxes", "common_drop_box", "cost_of_boxes"]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

_BISECTIONS: Final = 60
# Sweeps over the streams for each price, and the relative change below which they end.
_SWEEPS: Final = 500
_CHANGE: Final = 1e-10


def best_drop_boxes(model: HarvestModel, throttle: float) -> Floats:
    """Return the share of each stream's rows to let through, so that most results are left.

    Maximizes the product of the shares x_i, to which output is in proportion, within a cost. In
    the logarithms of the shares that is a concave problem. At its optimum the part of the cost in
    which a stream takes part is the same for all streams of which rows are dropped. For a price of
    cost this is solved stream by stream, and the price is found by bisection.

    Parameters
    ----------
    model
        The join; scores are not used.
    throttle
        z, the share of the exact join's cost that may be spent; above 0, at most 1.

    Examples
    --------
    The first stream is the fastest, and most of its rows are dropped.

    >>> from penstock.statistics.harvest_model import HarvestModel
    >>> model = HarvestModel.of(
    ...     rates=[30.0, 10.0, 10.0],
    ...     windows=[10.0, 10.0, 10.0],
    ...     length=10.0,
    ...     selectivity=np.full((3, 3), 0.01),
    ...     scores=np.ones((3, 3, 1)),
    ...     orders=[[1, 2], [2, 0], [0, 1]],
    ... )
    >>> x = best_drop_boxes(model, 0.1)
    >>> x.round(3).tolist(), round(cost_of_boxes(model, x) / model.full_cost, 6)
    ([0.194, 0.581, 0.581], 0.1)

    References
    ----------
    RandomDrop of Gedik, Wu, Yu and Liu, GrubJoin (2005), section 6.2, by "the static optimization
    framework" of Ayad and Naughton (SIGMOD 2004). Departs from the latter, whose problem is linear:
    its windows are of rows, which a drop box does not thin out. With windows of time the linear
    problem would shut off whole streams, and no results would be left.
    """
    budget = budget_of(model, throttle)
    boxes = np.ones(model.streams)
    if throttle < 1.0:
        _solve(model.table, model.orders, budget, boxes)
    return boxes


def common_drop_box(model: HarvestModel, throttle: float) -> float:
    """Return the share of all streams' rows to let through, the same for all, within a cost.

    Examples
    --------
    >>> from penstock.statistics.harvest_model import HarvestModel
    >>> model = HarvestModel.of(
    ...     rates=[10.0, 10.0],
    ...     windows=[10.0, 10.0],
    ...     length=10.0,
    ...     selectivity=np.full((2, 2), 0.01),
    ...     scores=np.ones((2, 2, 1)),
    ... )
    >>> round(common_drop_box(model, 0.25), 6)  # half of the rows, compared with half of the rows
    0.5
    """
    budget = budget_of(model, throttle)
    low, high = 0.0, 1.0
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2.0
        if cost_of_boxes(model, np.full(model.streams, middle)) <= budget:
            low = middle
        else:
            high = middle
    return high if throttle == 1.0 else low


def cost_of_boxes(model: HarvestModel, boxes: Floats) -> float:
    """Return the comparisons in a unit of time if so much of each stream is let through."""
    shares = np.empty(model.streams)
    return float(_parts(model.table, model.orders, boxes, shares))


@njit(cache=True, error_model="numpy")
def _parts(table: HarvestTable, orders: Integers, boxes: Floats, parts: Floats) -> float:
    """Return the cost, and set the part of it in which each stream takes part."""
    m, hops = orders.shape
    total = 0.0
    parts[:] = 0.0
    for i in range(m):
        reaching = table.rates[i] * boxes[i]
        for j in range(hops):
            # Comparisons at this hop depend on the boxes of i and of the hops up to this one.
            cost = reaching * table.sizes[i, j] * boxes[orders[i, j]]
            total += cost
            parts[i] += cost
            for k in range(j + 1):
                parts[orders[i, k]] += cost
            reaching *= table.matches[i, j] * boxes[orders[i, j]]
    return total


@njit(cache=True, error_model="numpy")
def _solve(table: HarvestTable, orders: Integers, budget: float, boxes: Floats) -> None:
    m = boxes.size
    parts = np.empty(m)
    # What a stream may take part in: from nothing to more than all.
    low, high = 0.0, 2.0 * _parts(table, orders, np.ones(m), parts)
    found = np.zeros(m)
    trial = np.ones(m)  # each solution is near the one before
    for _ in range(_BISECTIONS):
        allowed = (low + high) / 2.0
        for _sweep in range(_SWEEPS):
            change = 0.0
            for i in range(m):
                _parts(table, orders, trial, parts)
                # A stream's part of the cost is in proportion to its box.
                box = min(1.0, trial[i] * allowed / max(parts[i], 1e-300))
                change = max(change, abs(box - trial[i]) / trial[i])
                trial[i] = box
            if change < _CHANGE:
                break
        if _parts(table, orders, trial, parts) <= budget:
            low = allowed
            found[:] = trial
        else:
            high = allowed
    boxes[:] = found

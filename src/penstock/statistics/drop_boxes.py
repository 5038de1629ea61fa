"""How many rows of each stream to drop before an m-way join with time windows, for little work.

A drop box thins out its stream's arrivals and with them its window. So output is a product of what
the boxes let through, and cost is a sum of such products (a posynomial).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from penstock.statistics.harvest_greedy import budget_of
from penstock.statistics.harvest_model import scans_of

if TYPE_CHECKING:
    from penstock.statistics.harvest_model import HarvestModel, HarvestTable

__all__ = ["Charges", "best_drop_boxes", "common_drop_box", "cost_of_boxes"]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

_BISECTIONS: Final = 60
# Sweeps over the streams for each price, and the relative change below which they end.
_SWEEPS: Final = 500
_CHANGE: Final = 1e-10


class Charges(NamedTuple):
    """What steps cost; by default comparisons are all that costs."""

    compare: float = 1.0
    insert: float = 0.0
    result: float = 0.0


_COMPARISONS: Final = Charges()


def best_drop_boxes(
    model: HarvestModel, throttle: float, charges: Charges = _COMPARISONS
) -> Floats:
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
    charges
        What makes up that cost.

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
    budget = _budget(model, throttle, charges)
    boxes = np.ones(model.streams)
    if throttle < 1.0:
        _solve(model.table, model.orders, charges, budget, boxes)
    return boxes


def common_drop_box(model: HarvestModel, throttle: float, charges: Charges = _COMPARISONS) -> float:
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
    budget = _budget(model, throttle, charges)
    low, high = 0.0, 1.0
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2.0
        if cost_of_boxes(model, np.full(model.streams, middle), charges) <= budget:
            low = middle
        else:
            high = middle
    return high if throttle == 1.0 else low


def cost_of_boxes(model: HarvestModel, boxes: Floats, charges: Charges = _COMPARISONS) -> float:
    """Return the work in a unit of time if so much of each stream is let through."""
    shares = np.empty(model.streams)
    return float(_parts(model.table, model.orders, charges, boxes, shares))


def _budget(model: HarvestModel, throttle: float, charges: Charges) -> float:
    """Return the share of the cost of the exact join."""
    if charges == _COMPARISONS:
        return budget_of(model, throttle)
    full = cost_of_boxes(model, np.ones(model.streams), charges)
    return budget_of(model, throttle) / model.full_cost * full


@njit(cache=True, error_model="numpy")
def _parts(
    table: HarvestTable, orders: Integers, charges: Charges, boxes: Floats, parts: Floats
) -> float:
    """Return the cost, and set the part of it in which each stream takes part.

    That is, by how much the cost grows with the logarithm of the stream's box.
    """
    m, hops = orders.shape
    total = 0.0
    parts[:] = 0.0
    for i in range(m):
        reaching = table.rates[i] * boxes[i]
        total += reaching * charges.insert
        parts[i] += reaching * charges.insert
        share = 1.0
        for j in range(hops):
            # The cost of this hop depends on the boxes of i and of the hops up to this one.
            other = boxes[orders[i, j]]
            scans = scans_of(share, table.scanned[i, j])
            scanned = charges.compare * reaching * scans * table.sizes[i, j] * other
            cost = charges.compare * reaching * table.checks[i, j] * other
            grows = cost + scanned * _growth(share, table.scanned[i, j])
            cost += scanned
            total += cost
            parts[i] += cost
            parts[orders[i, j]] += cost
            for k in range(j):
                parts[orders[i, k]] += grows
            share *= other
            reaching *= table.matches[i, j] * other
        cost = charges.result * reaching
        total += cost
        parts[i] += cost
        for k in range(hops):
            parts[orders[i, k]] += cost
    return total


@njit(cache=True, error_model="numpy")
def _growth(share: float, scanned: float) -> float:
    """Return by which power of the share of partial results that is left the scans grow."""
    if scanned >= 1.0 or share <= 0.0:
        return 1.0
    k = 1.0 / scanned
    power: float = share * k * (1.0 - share) ** (k - 1.0) / (1.0 - (1.0 - share) ** k)
    return power


@njit(cache=True, error_model="numpy")
def _solve(
    table: HarvestTable, orders: Integers, charges: Charges, budget: float, boxes: Floats
) -> None:
    m = boxes.size
    parts = np.empty(m)
    # What a stream may take part in: from nothing to more than all.
    low, high = 0.0, 2.0 * _parts(table, orders, charges, np.ones(m), parts)
    found = np.zeros(m)
    trial = np.ones(m)  # each solution is near the one before
    for _ in range(_BISECTIONS):
        allowed = (low + high) / 2.0
        for _sweep in range(_SWEEPS):
            change = 0.0
            for i in range(m):
                _parts(table, orders, charges, trial, parts)
                # A stream's part of the cost is about in proportion to its box.
                box = min(1.0, trial[i] * allowed / max(parts[i], 1e-300))
                change = max(change, abs(box - trial[i]) / trial[i])
                trial[i] = box
            if change < _CHANGE:
                break
        if _parts(table, orders, charges, trial, parts) <= budget:
            low = allowed
            found[:] = trial
        else:
            high = allowed
    boxes[:] = found

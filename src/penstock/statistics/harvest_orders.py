"""Join orders for windows of which only parts are probed, chosen together with the parts."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from penstock.statistics.harvest_frontier import best_harvest

if TYPE_CHECKING:
    from penstock.statistics.harvest_model import Harvest, HarvestModel

__all__ = ["best_harvest_in_any_order", "orders_for_parts"]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

# Orders and parts are found in turn, at most so often. Two or three times are enough as a rule.
_ROUNDS = 6


def orders_for_parts(model: HarvestModel, fractions: Floats) -> Integers:
    """Return the join orders with the fewest comparisons, if these parts of windows are probed.

    Windows are sorted by (T - 1) / C, the lowest first: of the rows that are probed there T match,
    and C are compared. Where nothing is probed, the best sub-window counts.

    Parameters
    ----------
    model
        The join, with windows in some order. Its costs have to be those of the paper: a window is
        scanned for each partial result.
    fractions
        z_{i,j} by direction and hop, in the order of the model.

    Examples
    --------
    Partners in the window of stream 1 may be anywhere, those in the window of stream 2 are all in
    one of its four sub-windows. It is probed last: there most partial results look for partners.

    >>> from penstock.statistics.harvest_model import HarvestModel
    >>> spread, narrow = [0.25] * 4, [0.0, 0.0, 1.0, 0.0]
    >>> model = HarvestModel.of(
    ...     rates=[10.0] * 3,
    ...     windows=[8.0] * 3,
    ...     length=2.0,
    ...     selectivity=[[0.0, 0.1, 0.1], [0.1, 0.0, 0.1], [0.1, 0.1, 0.0]],
    ...     scores=[[spread, spread, narrow], [spread] * 3, [spread] * 3],
    ...     orders=[[2, 1], [0, 2], [0, 1]],
    ... )
    >>> orders_for_parts(model, np.array([[0.25, 1.0]] + [[1.0, 1.0]] * 2))[0].tolist()
    [1, 2]

    References
    ----------
    Ours. `gedik05` 5.3 has low selectivity first, of whole windows. The rule is that of Ibaraki and
    Kameda, *On the optimal nesting order for computing N-relational joins* (1984).
    """
    table = model.table
    probed = np.where(fractions > 0.0, fractions, 1.0 / table.steps)
    matches = model.yield_of(probed) * table.matches
    ranks = (matches - 1.0) / np.maximum(table.sizes * probed, 1e-300)
    return np.take_along_axis(model.orders, np.argsort(ranks, axis=1, kind="stable"), axis=1)


def best_harvest_in_any_order(model: HarvestModel, throttle: float) -> Harvest:
    """Choose join orders and harvest fractions that together put out nearly the most results.

    A local search: parts for the orders, then orders for the parts, as long as there are more
    results. It begins with the orders of the model, and once more with those that are best for a
    single sub-window of each window. It never puts out less than `best_harvest`.

    Parameters
    ----------
    model
        The join. Its costs have to be those of the paper.
    throttle
        z, the share of the exact join's cost, in the orders of the model, that may be spent.

    Returns
    -------
    Harvest
        Its model has the orders that were chosen. Parts of sub-windows are probed, too.

    Examples
    --------
    >>> from penstock.statistics.harvest_model import HarvestModel
    >>> spread, narrow = [0.25] * 4, [0.0, 0.0, 1.0, 0.0]
    >>> model = HarvestModel.of(
    ...     rates=[10.0] * 3,
    ...     windows=[8.0] * 3,
    ...     length=2.0,
    ...     selectivity=[[0.0, 0.1, 0.1], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]],
    ...     scores=[[spread, spread, narrow], [spread] * 3, [spread] * 3],
    ...     orders=[[2, 1], [0, 2], [0, 1]],
    ... )
    >>> found = best_harvest_in_any_order(model, 0.1)
    >>> found.model.orders[0].tolist(), round(found.output)
    ([1, 2], 235)
    >>> round(best_harvest(model, 0.1, parts=True).output)  # in the orders of the model
    85

    References
    ----------
    Ours.
    """
    budget = throttle * model.full_cost
    best = best_harvest(model, throttle, parts=True)
    for begin in (best, model.harvest(1.0 / model.table.steps)):
        current = begin
        for _ in range(_ROUNDS):
            orders = orders_for_parts(current.model, current.fractions)
            if np.array_equal(orders, current.model.orders):
                break
            other = replace(model, orders=orders)
            share = min(1.0, budget / other.full_cost) if other.full_cost > 0.0 else 1.0
            found = best_harvest(other, share, parts=True)
            if current is not begin and found.output <= current.output:
                break
            current = found
            if found.output > best.output:
                best = found
    return best

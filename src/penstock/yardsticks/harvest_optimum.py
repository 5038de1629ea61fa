"""The optimum of the window harvesting problem, by search that leaves out only what cannot win."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from penstock.errors import SpecificationError, must
from penstock.statistics.harvest_greedy import budget_of

if TYPE_CHECKING:
    from penstock.statistics.harvest_model import Harvest, HarvestModel

__all__ = ["harvest_optimum"]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

# Choices that are compared at once, at most: some hundred MB.
_MOST = 20_000_000


def harvest_optimum(model: HarvestModel, throttle: float) -> Harvest:
    """Return the best harvest fractions in whole sub-windows.

    It equals trying all fractions. Of two ways to take the hops from one on, the one that costs
    more and puts out no more cannot be part of an optimum, whatever comes before. Nor can such a
    way to take a direction, whatever the others do. Leaving these out makes it feasible: 0.01 s
    for three streams with 10 sub-windows, where there are a million ways.

    Parameters
    ----------
    model
        The join.
    throttle
        z, the share of the exact join's cost that may be spent; above 0, at most 1.

    Raises
    ------
    SpecificationError
        If there are too many streams or sub-windows to compare what is left, or if a window is
        scanned once for several partial results (`HarvestModel.scanned`): then what follows a hop
        does depend on what came before.

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
    >>> harvest_optimum(model, 0.5).fractions.tolist()
    [[0.5], [0.5]]

    References
    ----------
    Gedik, Wu, Yu and Liu, GrubJoin (2005), section 4.4, the bruteforce solution. A direction may
    also be left out, which the paper does not count among its settings but needs at small z.
    """
    budget = budget_of(model, throttle)
    if not model.table.is_linear:
        hint = "leave scanned out; best_harvest is near the optimum"
        least = float(model.table.scanned.min())
        raise SpecificationError(must("scans for each partial result", "1", least, hint))
    hops = model.streams - 1
    ways = _direction(model, 0, budget)
    for i in range(1, model.streams):
        own = _direction(model, i, budget)
        first, second = _pairs(ways.costs.size, own.costs.size)
        cost = ways.costs[first] + own.costs[second]
        fits = cost <= budget
        first, second = first[fits], second[fits]
        ways = _Ways(
            cost[fits],
            ways.outputs[first] + own.outputs[second],
            np.concatenate([ways.taken[first], own.taken[second]], axis=1),
        ).frontier()
    best = int(np.argmax(ways.outputs))
    taken = ways.taken[best].reshape(model.streams, hops)
    return model.harvest(taken / model.table.steps)


@dataclass(frozen=True, eq=False)
class _Ways:
    """Ways to take some hops: their costs, outputs and sub-windows."""

    costs: Floats
    outputs: Floats
    taken: Integers

    def frontier(self) -> _Ways:
        """Return the ways that put out more than all cheaper ones, in order of cost."""
        order = np.lexsort((-self.outputs, self.costs))
        outputs = self.outputs[order]
        before = np.concatenate([[-1.0], np.maximum.accumulate(outputs)[:-1]])
        kept = order[outputs > before]
        return _Ways(self.costs[kept], self.outputs[kept], self.taken[kept])


def _direction(model: HarvestModel, i: int, budget: float) -> _Ways:
    """Return the frontier of a direction, with the way to leave it out."""
    table = model.table
    hops = model.streams - 1
    ways = _Ways(np.zeros(1), np.ones(1), np.zeros((1, 0), np.int64))
    for j in range(hops - 1, -1, -1):
        steps = int(table.steps[i, j])
        first, second = _pairs(steps, ways.costs.size)
        count = first + 1
        growth = table.yields[i, j, count] * table.matches[i, j]
        ways = _Ways(
            table.sizes[i, j] * count / steps
            + table.checks[i, j] * table.yields[i, j, count]
            + growth * ways.costs[second],
            growth * ways.outputs[second],
            np.column_stack([count, ways.taken[second]]),
        ).frontier()
    costs, outputs = table.rates[i] * ways.costs, table.rates[i] * ways.outputs
    fits = costs <= budget
    return _Ways(
        np.concatenate([[0.0], costs[fits]]),
        np.concatenate([[0.0], outputs[fits]]),
        np.concatenate([np.zeros((1, hops), np.int64), ways.taken[fits]]),
    ).frontier()


def _pairs(first: int, second: int) -> tuple[Integers, Integers]:
    if first * second > _MOST:
        raise SpecificationError(
            must(
                "the model",
                f"small enough that at most {_MOST:,} choices are compared at once",
                first * second,
                "take fewer streams or sub-windows; best_harvest is near the optimum",
            )
        )
    numbers = np.arange(first * second)
    return numbers // second, numbers % second

"""Greedy choice of the parts of windows that rows probe (GrubJoin's Figure 5)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, get_args

import numpy as np
import numpy.typing as npt
from numba import njit

from penstock.errors import SpecificationError, must
from penstock.statistics.harvest_model import scans_of

if TYPE_CHECKING:
    from penstock.statistics.harvest_model import Harvest, HarvestModel, HarvestTable

__all__ = ["Metric", "Way", "budget_of", "climb", "cost_of_hop", "evaluate", "greedy"]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

Metric = Literal["best-output", "best-output-per-cost", "best-delta"]
Way = Literal["forward", "reverse", "double-sided"]

_METRICS: Final[tuple[Metric, ...]] = get_args(Metric)
# The sum of steps may exceed C(1) by a rounding error.
_TOLERANCE: Final = 1.0 + 1e-9
# Scores closer than this are equal: rounding errors must not decide.
_TIE: Final = 1e-12


def greedy(
    model: HarvestModel, throttle: float, *, metric: Metric = "best-delta", way: Way = "forward"
) -> Harvest:
    """Set harvest fractions one sub-window at a time, the best next.

    Parameters
    ----------
    model
        The join.
    throttle
        z, the share of the exact join's cost that may be spent; above 0, at most 1.
    metric
        What is best: the most output, the most output per cost, or the most additional output per
        additional cost.
    way
        ``"forward"`` begins with nothing and adds, ``"reverse"`` begins with everything and takes
        away, ``"double-sided"`` does what is shorter.

    Returns
    -------
    Harvest
        Whole sub-windows; never above `throttle` times the full cost.

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
    >>> found = greedy(model, 0.25)
    >>> found.fractions.tolist(), round(found.output / model.full_output, 3)
    ([[0.5], [0.0]], 0.375)
    >>> greedy(model, 0.5, way="reverse").fractions.tolist()
    [[0.5], [0.5]]

    References
    ----------
    Gedik, Wu, Yu and Liu, GrubJoin (2005), section 5.1 and Figure 5; reverse and double-sided in
    section 6.1. In the figure "r C(1)" is z C(1), and lines 31 and 32 mean d_{u,j} and d_{u,v}.
    What it leaves open: a candidate that adds no output is never taken; one that costs nothing
    and adds output comes first; of equals the lower stream and hop comes first; a direction
    may be left out. Reverse is the mirror image: it takes away the sub-window with the least
    output per cost, and a direction of which a window would be empty is left out as a whole.
    """
    if metric not in _METRICS:
        known = ", ".join(f'"{each}"' for each in _METRICS)
        raise SpecificationError(must("metric", f"one of {known}", metric, "choose one of these"))
    if way not in get_args(Way):
        known = ", ".join(f'"{each}"' for each in get_args(Way))
        raise SpecificationError(must("way", f"one of {known}", way, "choose one of these"))
    budget = budget_of(model, throttle)
    table = model.table
    if way == "double-sided":
        way = "forward" if throttle <= 0.5 ** ((model.streams - 1) / 2) else "reverse"
    number = _METRICS.index(metric)
    if way == "forward":
        taken = np.zeros(table.steps.shape, np.int64)
        climb(table, budget, number, taken)
    else:
        taken = table.steps.copy()
        descend(table, budget, number, taken)
    return model.harvest(taken / table.steps)


def budget_of(model: HarvestModel, throttle: float) -> float:
    """Return z C(1), with room for rounding errors."""
    if not 0.0 < throttle <= 1.0:
        raise SpecificationError(
            must("throttle", "above 0 and at most 1", throttle, "it is a share of the full cost")
        )
    return throttle * model.full_cost * _TOLERANCE


@njit(cache=True, error_model="numpy")
def evaluate(table: HarvestTable, i: int, taken: Integers) -> tuple[float, float]:
    """Return what direction i costs and puts out with so many sub-windows of each hop."""
    cost = 0.0
    reaching = table.rates[i]
    share = 1.0
    for j in range(taken.size):
        cost += reaching * cost_of_hop(table, i, j, taken[j], share)
        share *= table.yields[i, j, taken[j]]
        reaching *= table.yields[i, j, taken[j]] * table.matches[i, j]
    return cost, reaching


@njit(cache=True, error_model="numpy")
def cost_of_hop(table: HarvestTable, i: int, j: int, taken: int, share: float) -> float:
    """Return what a hop costs for a partial result, if a share of these is left before it."""
    scans = scans_of(share, table.scanned[i, j])
    scanned = scans * table.sizes[i, j] * taken / table.steps[i, j]
    cost: float = scanned + table.checks[i, j] * table.yields[i, j, taken]
    return cost


@njit(cache=True, error_model="numpy")
def climb(table: HarvestTable, budget: float, metric: int, taken: Integers) -> int:
    """Add sub-windows to those taken while that is possible; return how many were tried.

    What a candidate adds depends on its own direction alone, so only the candidates of the
    direction that was changed last are evaluated again.
    """
    m, hops = taken.shape
    costs, outputs = np.zeros(m), np.zeros(m)
    new_costs, new_outputs = np.zeros((m, hops)), np.zeros((m, hops))
    frozen = np.zeros((m, hops), np.bool_)
    for i in range(m):
        costs[i], outputs[i] = evaluate(table, i, taken[i])
    tried = 0
    changed = -1
    while True:
        cost, output = costs.sum(), outputs.sum()
        best, u, v = 0.0, -1, -1
        for i in range(m):
            begun = taken[i].min() > 0
            for j in range(hops if begun else 1):
                if frozen[i, j] or (begun and taken[i, j] == table.steps[i, j]):
                    continue
                if changed in (-1, i):
                    if begun:
                        taken[i, j] += 1
                        new_costs[i, j], new_outputs[i, j] = evaluate(table, i, taken[i])
                        taken[i, j] -= 1
                    else:
                        new_costs[i, j], new_outputs[i, j] = evaluate(
                            table, i, np.ones(hops, np.int64)
                        )
                    tried += 1
                more = new_costs[i, j] - costs[i]
                gain = new_outputs[i, j] - outputs[i]
                if cost + more > budget:
                    frozen[i, j] = True
                    continue
                if metric == 0:
                    score = output + gain
                elif metric == 1:
                    score = (output + gain) / (cost + more)
                elif more > 0.0:
                    score = gain / more
                else:
                    score = np.inf if gain > 0.0 else 0.0
                if score > best * (1.0 + _TIE) and gain > 0.0:
                    best, u, v = score, i, j
        if u < 0:
            return tried
        if taken[u].min() > 0:
            taken[u, v] += 1
        else:
            taken[u] = 1
        costs[u], outputs[u] = new_costs[u, v], new_outputs[u, v]
        changed = u


@njit(cache=True, error_model="numpy")
def descend(table: HarvestTable, budget: float, metric: int, taken: Integers) -> int:
    """Take sub-windows away until the rest is within the budget; return how many were tried."""
    m, hops = taken.shape
    costs, outputs = np.zeros(m), np.zeros(m)
    new_costs, new_outputs = np.zeros((m, hops)), np.zeros((m, hops))
    for i in range(m):
        costs[i], outputs[i] = evaluate(table, i, taken[i])
    tried = 0
    changed = -1
    while costs.sum() > budget:
        cost, output = costs.sum(), outputs.sum()
        best, u, v = -np.inf, -1, -1
        for i in range(m):
            if taken[i].max() == 0:
                continue
            for j in range(hops):
                if changed in (-1, i):
                    if taken[i, j] > 1:
                        taken[i, j] -= 1
                        new_costs[i, j], new_outputs[i, j] = evaluate(table, i, taken[i])
                        taken[i, j] += 1
                    else:
                        new_costs[i, j], new_outputs[i, j] = 0.0, 0.0
                    tried += 1
                saved = costs[i] - new_costs[i, j]
                lost = outputs[i] - new_outputs[i, j]
                if saved <= 0.0:
                    continue
                if metric == 0:
                    score = output - lost
                elif metric == 1:
                    score = (output - lost) / max(cost - saved, 1e-300)
                else:
                    score = -lost / saved
                if u < 0 or score > best + _TIE * abs(best):
                    best, u, v = score, i, j
        if taken[u, v] > 1:
            taken[u, v] -= 1
        else:
            taken[u] = 0
        costs[u], outputs[u] = new_costs[u, v], new_outputs[u, v]
        changed = u
    return tried

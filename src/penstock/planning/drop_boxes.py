"""Drop boxes: how much of each stream a plan should keep if it cannot have all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from penstock.errors import SpecificationError, must
from penstock.planning.geometric import Posynomial, maximize_product
from penstock.planning.knapsack import fill_knapsack
from penstock.planning.tree import streams_below
from penstock.wording import percent

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from penstock.planning.estimate import PlanEstimate
    from penstock.planning.model import QueryModel

__all__ = ["DropBoxes", "keep_within", "solve_drop_boxes"]

Floats = npt.NDArray[np.float64]

# Sums of costs are compared with bounds up to rounding: Example 1 needs exactly what there is.
_ROUNDING = 1e-9
_MOST_ROUNDS = 60
_SMALL_GAIN = 1e-7


@dataclass(frozen=True)
class DropBoxes:
    """What is kept of each stream, and what that gives.

    Attributes
    ----------
    kept
        Share of the rows of each stream that passes its drop box; 1 if it needs none.
    rate
        Results per unit of time.
    cost
        Time that the plan then needs per unit of time.
    value
        What was maximised: the results, and with weights more for important streams.
    """

    kept: Mapping[str, float]
    rate: float
    cost: float
    value: float


@dataclass(frozen=True, eq=False)
class _Problem:
    """Results and cost of a plan as functions of what is kept of each stream."""

    names: tuple[str, ...]
    by_time: npt.NDArray[np.bool_]
    output: Posynomial
    cost: Posynomial


def keep_within(
    plan: PlanEstimate,
    model: QueryModel,
    bound: float,
    *,
    weights: Mapping[str, float] | None = None,
    minimum: Mapping[str, float] | None = None,
) -> DropBoxes:
    """Return the drop boxes with which a plan gives the most results within a bound of cost.

    Only streams have them. Observations 2 and 3: dropping rows before any operator is never worse
    than dropping them later. Windows by rows: a linear programme. Windows by time: a geometric
    one. Both kinds at once: the output is approximated by a product, from below, again and again;
    this ends where no small change is better.

    Parameters
    ----------
    plan, model
        The plan, and the query that it is of.
    bound
        Time per unit of time that it may need: 0.8 with a head room of 20 %, 2 with two
        processors.
    weights
        Importance of streams, 1 if not given. A stream with windows by rows counts so many times
        as much; one with a window by time counts by its share to this power, since a factor would
        not change what is best.
    minimum
        Smallest share to be kept of a stream, 0 if not given.

    Raises
    ------
    SpecificationError
        If the smallest shares alone exceed the bound.

    References
    ----------
    `ayad04` 5, equations 18 to 29, and the issues 1 and 2 at its end.

    Examples
    --------
    >>> from penstock.planning.estimate import Estimator
    >>> from penstock.planning.examples import EXAMPLE_1_PLANS, example_1
    >>> model = example_1(0.005)
    >>> boxes = keep_within(Estimator(model).estimate(EXAMPLE_1_PLANS["a"]), model, 1.0)
    >>> {name: round(share, 3) for name, share in boxes.kept.items()}, round(boxes.rate)
    ({'A': 1.0, 'B': 0.583, 'C': 1.0}, 917)
    """
    return solve_drop_boxes([(plan, model)], bound, weights=weights, minimum=minimum)


def solve_drop_boxes(
    plans: Sequence[tuple[PlanEstimate, QueryModel]],
    bound: float,
    *,
    weights: Mapping[str, float] | None = None,
    minimum: Mapping[str, float] | None = None,
    shared_cost: Posynomial | None = None,
) -> DropBoxes:
    """Return the drop boxes of one plan, or of several over the same streams in one bound.

    Parameters are those of `keep_within`; `shared_cost` replaces the sum of the costs where
    operators are shared.
    """
    problem = _problem(plans, shared_cost)
    weight = _by_stream(problem.names, weights, 1.0, "weights")
    least = _by_stream(problem.names, minimum, 0.0, "minimum")
    if (least > 1).any():
        hint = "0.1 keeps a tenth of its rows at least"
        raise SpecificationError(must("minimum", "a share from 0 to 1", minimum, hint))
    needed = problem.cost.at(least)
    if needed > bound * (1 + _ROUNDING):
        excess = f"{percent(needed)} of a processor, {percent(needed / bound - 1)} more than"
        hint = f"they need {excess} the {percent(bound)} that there is; lower them"
        raise SpecificationError(must("minimum", "within the budget", minimum, hint))
    weighted = _weighted(problem, weight)
    kept = np.ones(len(problem.names))
    if problem.cost.at(kept) > bound * (1 + _ROUNDING):
        kept = _solve(problem, weighted, bound, least)
    return DropBoxes(
        dict(zip(problem.names, kept.tolist(), strict=True)),
        problem.output.at(kept),
        problem.cost.at(kept),
        weighted.at(kept),
    )


def _problem(
    plans: Sequence[tuple[PlanEstimate, QueryModel]], shared_cost: Posynomial | None
) -> _Problem:
    streams: dict[str, bool] = {}
    for _, model in plans:
        for each in model.relations:
            if not each.is_table:
                streams[each.name] = each.duration is not None
    names = tuple(streams)
    outputs = [
        posynomial([(streams_below(plan.root.tree), plan.root.newest)], model, names)
        for plan, model in plans
    ]
    costs = [cost_of(plan, model, names) for plan, model in plans]
    output, cost = outputs[0], costs[0]
    for other, more in zip(outputs[1:], costs[1:], strict=True):
        output, cost = output.plus(other), cost.plus(more)
    return _Problem(names, np.array(list(streams.values())), output, shared_cost or cost)


def cost_of(plan: PlanEstimate, model: QueryModel, names: tuple[str, ...]) -> Posynomial:
    """Return the cost of a plan as a function of what is kept of each stream: equation 28."""
    root = plan.root
    project = (streams_below(root.tree), model.costs.project * model.project * root.newest)
    return posynomial([*(term for node in plan.nodes for term in node.work), project], model, names)


def posynomial(
    work: Iterable[tuple[int, Floats]], model: QueryModel, names: tuple[str, ...]
) -> Posynomial:
    """Return sums by set and newest member as a function of what is kept of each stream.

    A row of relation k comes x_k times as often. It finds as many others as before in a window by
    rows, and x_i times as many in a window by time.
    """
    coefficients, exponents = [], []
    for sets, amounts in work:
        for k, amount in enumerate(amounts):
            if amount <= 0:
                continue
            powers = np.zeros(len(names))
            for i, relation in enumerate(model.relations):
                if i == k or (sets >> i & 1 and relation.duration is not None):
                    powers[names.index(relation.name)] = 1.0
            coefficients.append(float(amount))
            exponents.append(powers)
    return Posynomial(
        np.array(coefficients), np.array(exponents).reshape(len(coefficients), len(names))
    )


@dataclass(frozen=True, eq=False)
class _Objective:
    """The output, in which streams may count more than others."""

    output: Posynomial
    extra: Floats

    def at(self, kept: Floats) -> float:
        return self.output.at(kept) * float(np.prod(np.maximum(kept, 1e-300) ** self.extra))


def _weighted(problem: _Problem, weight: Floats) -> _Objective:
    """Return what to maximise.

    The weight of a stream with a window by rows is a factor of the terms that it is in. That of a
    stream with a window by time, which is in all terms, is a power of its share.
    """
    of_rows = np.where(problem.by_time, 1.0, weight)
    factors = np.prod(np.where(problem.output.exponents > 0, of_rows, 1.0), axis=1)
    output = Posynomial(problem.output.coefficients * factors, problem.output.exponents)
    return _Objective(output, np.where(problem.by_time, weight - 1, 0.0))


def _solve(problem: _Problem, objective: _Objective, bound: float, least: Floats) -> Floats:
    if problem.cost.at(least) >= bound * (1 - _ROUNDING):
        return least
    if not problem.by_time.any():
        # Every exponent is that of one stream: both are linear.
        gain = objective.output.exponents.T @ objective.output.coefficients
        cost = problem.cost.exponents.T @ problem.cost.coefficients
        return fill_knapsack(gain, cost, bound, least)
    best, most = least, -np.inf
    for start in _starts(problem.by_time):
        found = _climb(objective, problem.cost, bound, least, np.maximum(start, least))
        value = objective.at(found)
        if value > most * (1 + 1e-9):
            best, most = found, value
    return best


def _starts(by_time: npt.NDArray[np.bool_]) -> list[Floats]:
    """Return points to begin at: all streams alike, and each stream with a window by rows alone."""
    starts = [np.ones(by_time.size)]
    if not by_time.all():
        starts += [
            np.where(by_time | (np.arange(by_time.size) == at), 1.0, 1e-3)
            for at in np.flatnonzero(~by_time)
        ]
    return starts


def _climb(
    objective: _Objective, cost: Posynomial, bound: float, least: Floats, at: Floats
) -> Floats:
    """Approximate the output by a product at the last point, and maximise that, until it stays.

    A weighted mean is never below the product with the same weights. So the product is a lower
    bound that is exact at the point, and each step finds more.
    """
    last = -np.inf
    for _ in range(_MOST_ROUNDS):
        terms = objective.output.terms(at)
        powers = objective.output.exponents.T @ (terms / terms.sum()) + objective.extra
        at = maximize_product(np.maximum(powers, 0.0), cost, bound, least)
        now = objective.at(at)
        is_a_product = (objective.output.exponents == objective.output.exponents[0]).all()
        if is_a_product or now <= last * (1 + _SMALL_GAIN):
            break
        last = now
    return at


def _by_stream(
    names: tuple[str, ...], given: Mapping[str, float] | None, otherwise: float, what: str
) -> Floats:
    for name, value in (given or {}).items():
        if name not in names:
            hint = f"the streams are {', '.join(names)}"
            raise SpecificationError(must(what, "given for streams of the query", name, hint))
        if not value >= 0:
            raise SpecificationError(
                must(f'{what} of "{name}"', "0 or more", value, "leave it out for the usual one")
            )
    return np.array([float((given or {}).get(name, otherwise)) for name in names])

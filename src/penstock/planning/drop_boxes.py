"""Drop boxes: how much of each stream a plan should keep if it cannot have all."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from numbers import Real
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from penstock.errors import SpecificationError, must
from penstock.planning.geometric import Posynomial, maximize_product
from penstock.planning.knapsack import fill_knapsack
from penstock.planning.plan_text import processor_words
from penstock.planning.tree import streams_below
from penstock.wording import about, percent

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from penstock.planning.estimate import PlanEstimate
    from penstock.planning.geometric import Limit
    from penstock.planning.model import QueryModel

__all__ = ["DropBoxes", "NotWithinError", "keep_within", "solve_drop_boxes"]

Floats = npt.NDArray[np.float64]

# Sums of costs are compared with bounds up to rounding: Example 1 needs exactly what there is.
_ROUNDING = 1e-9
_MOST_ROUNDS = 60
_SMALL_GAIN = 1e-6


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


class NotWithinError(SpecificationError):
    """Raised if the smallest shares of the streams alone need more than there is.

    Attributes
    ----------
    excess
        What they need, as a multiple of what there is.
    is_hopeless
        Whether a plan would need more even if nothing were kept of any stream: windows by rows do
        not shrink.
    """

    def __init__(self, message: str, excess: float, *, is_hopeless: bool = False) -> None:
        super().__init__(message)
        self.excess, self.is_hopeless = excess, is_hopeless


@dataclass(frozen=True, eq=False)
class _Problem:
    """Results, cost and memory of a plan as functions of what is kept of each stream.

    A stream has a window by time, by rows, or both of them in several queries.
    """

    names: tuple[str, ...]
    by_time: npt.NDArray[np.bool_]
    by_rows: npt.NDArray[np.bool_]
    output: Posynomial
    cost: Posynomial
    memory: Posynomial


def keep_within(
    plan: PlanEstimate,
    model: QueryModel,
    bound: float,
    *,
    rows: float | None = None,
    weights: Mapping[str, float] | None = None,
    minimum: Mapping[str, float] | None = None,
    fill: float = 0.0,
) -> DropBoxes:
    """Return the drop boxes with which a plan gives the most results within a bound of cost.

    Only streams have them. Observations 2 and 3: dropping rows before any operator is never worse
    than dropping them later. Windows by rows: a linear programme. Windows by time: a geometric
    one. Both kinds at once: the output is approximated by a product, from below, again and again;
    this ends where no small change is better. If no results are expected, no stream is preferred:
    the product of the shares is maximised.

    Parameters
    ----------
    plan, model
        The plan, and the query that it is of.
    bound
        Time per unit of time that it may need: 0.8 with a head room of 20 %, 2 with two
        processors.
    rows
        Rows that it may keep; None for any number. Behind a drop box a window by time holds fewer
        rows, and a window by rows as many as before.
    weights
        Importance of streams, 1 if not given. A stream with windows by rows counts so many times
        as much; one with a window by time counts by its share to this power, since a factor would
        not change what is best.
    minimum
        Smallest share to be kept of a stream, 0 if not given.
    fill
        Smallest share of each stream with a window by rows that `minimum` does not name, so that
        its window fills. It is lower where these rows would need more than half of what `minimum`
        leaves. With 0 a stream may be shut off, as in the paper: then its window holds what it
        held before, and as a plan runs that is nothing.

    Raises
    ------
    NotWithinError
        If the smallest shares alone exceed the bound, or need more rows.

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
    return solve_drop_boxes(
        [(plan, model)], bound, rows=rows, weights=weights, minimum=minimum, fill=fill
    )


def solve_drop_boxes(
    plans: Sequence[tuple[PlanEstimate, QueryModel]],
    bound: float,
    *,
    rows: float | None = None,
    weights: Mapping[str, float] | None = None,
    minimum: Mapping[str, float] | None = None,
    fill: float = 0.0,
    shared_cost: Posynomial | None = None,
) -> DropBoxes:
    """Return the drop boxes of one plan, or of several over the same streams in one bound.

    Parameters are those of `keep_within`; `shared_cost` replaces the sum of the costs where
    operators are shared.
    """
    problem = _problem(plans, shared_cost)
    weight = _by_stream(problem.names, weights, 1.0, "weights")
    least = _by_stream(problem.names, minimum, 0.0, "minimum", most=1.0)
    limits: list[Limit] = [(problem.cost, bound)]
    if rows is not None:
        limits.append((problem.memory, rows))
    _check_least(problem, least, minimum, bound, rows)
    least = _filled(problem, least, minimum or {}, fill, bound)
    weighted = _weighted(problem, weight)
    kept = np.ones(len(problem.names))
    if any(sums.at(kept) > limit * (1 + _ROUNDING) for sums, limit in limits):
        kept = _solve(problem, weighted, limits, least)
    return DropBoxes(
        dict(zip(problem.names, kept.tolist(), strict=True)),
        problem.output.at(kept),
        problem.cost.at(kept),
        weighted.at(kept),
    )


def _check_least(
    problem: _Problem,
    least: Floats,
    minimum: Mapping[str, float] | None,
    bound: float,
    rows: float | None,
) -> None:
    """Raise if the smallest shares need too much, and say by how much."""
    nothing = problem.memory.at(np.zeros(least.size))
    if rows is not None and nothing > rows * (1 + _ROUNDING):
        hint = "drop boxes do not help, since windows by rows do not shrink: shorten them"
        requirement = f"at least {about(nothing)} with this plan"
        message = must("rows of a budget", requirement, rows, hint)
        raise NotWithinError(message, nothing / max(rows, 1e-300), is_hopeless=True)
    needed = problem.cost.at(least)
    if needed > bound * (1 + _ROUNDING):
        of_a = "" if needed >= 10 else " of a processor"
        excess = f"{processor_words(needed)}{of_a}, {_more(needed / bound)}"
        hint = f"they need {excess} the {processor_words(bound)} that is allowed; lower them"
        message = must("minimum", "within the budget", minimum, hint)
        raise NotWithinError(message, needed / bound)
    stored = problem.memory.at(least)
    if rows is not None and stored > rows * (1 + _ROUNDING):
        excess = f"{about(stored)} rows, {_more(stored / rows)}"
        hint = f"they keep {excess} the {about(rows)} that are allowed; lower them"
        raise NotWithinError(must("minimum", "within the budget", minimum, hint), stored / rows)


def _more(factor: float) -> str:
    """Return by how much a limit is exceeded.

    >>> _more(1.25), _more(12.0)
    ('25% more than', '12 times')
    """
    return f"{percent(factor - 1)} more than" if factor <= 2 else f"{about(factor)} times"


def _filled(
    problem: _Problem, least: Floats, minimum: Mapping[str, float], fill: float, bound: float
) -> Floats:
    """Return the smallest shares with which windows by rows fill."""
    named = np.array([name in minimum for name in problem.names])
    more = np.where(problem.by_rows & ~named, fill, 0.0)
    room = 0.5 * (bound - problem.cost.at(least))
    # The cost is convex along a line: a part of the way needs at most that part.
    needed = problem.cost.at(least + more) - problem.cost.at(least)
    return least + more * min(1.0, max(room, 0.0) / max(needed, 1e-300))


def _problem(
    plans: Sequence[tuple[PlanEstimate, QueryModel]], shared_cost: Posynomial | None
) -> _Problem:
    streams: dict[str, set[bool]] = {}
    for _, model in plans:
        for each in model.relations:
            if not each.is_table:
                streams.setdefault(each.name, set()).add(each.duration is not None)
    names = tuple(streams)
    outputs = [
        posynomial([(streams_below(plan.root.tree), plan.root.newest)], model, names)
        for plan, model in plans
    ]
    costs = [cost_of(plan, model, names) for plan, model in plans]
    return _Problem(
        names,
        np.array([True in kinds for kinds in streams.values()]),
        np.array([False in kinds for kinds in streams.values()]),
        reduce(Posynomial.plus, outputs),
        shared_cost or reduce(Posynomial.plus, costs),
        reduce(Posynomial.plus, [memory_of(plan, model, names) for plan, model in plans]),
    )


def cost_of(plan: PlanEstimate, model: QueryModel, names: tuple[str, ...]) -> Posynomial:
    """Return the cost of a plan as a function of what is kept of each stream: equation 28."""
    work = posynomial([term for node in plan.nodes for term in node.work], model, names)
    return work.plus(project_of(plan, model, names))


def project_of(plan: PlanEstimate, model: QueryModel, names: tuple[str, ...]) -> Posynomial:
    """Return the cost of the projection at the end of a plan, in the same way."""
    root = plan.root
    each = model.costs.project * model.project
    return posynomial([(streams_below(root.tree), each * root.newest)], model, names)


def memory_of(plan: PlanEstimate, model: QueryModel, names: tuple[str, ...]) -> Posynomial:
    """Return the rows that a plan keeps as a function of what is kept of each stream."""
    stored = [each for node in plan.nodes for each in node.stored if each[1] > 0]
    exponents = np.zeros((len(stored), len(names)))
    for at, (sets, _) in enumerate(stored):
        for i, relation in enumerate(model.relations):
            if sets >> i & 1 and relation.duration is not None:
                exponents[at, names.index(relation.name)] = 1.0
    return Posynomial(np.array([rows for _, rows in stored]), exponents)


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


def _solve(
    problem: _Problem, objective: _Objective, limits: Sequence[Limit], least: Floats
) -> Floats:
    if any(sums.at(least) >= bound * (1 - _ROUNDING) for sums, bound in limits):
        return least
    if not objective.output.coefficients.size:
        return maximize_product(np.ones(least.size), limits, least)
    if not problem.by_time.any():
        # Every exponent is that of one stream: both are linear. Memory does not change.
        gain = objective.output.exponents.T @ objective.output.coefficients
        cost = problem.cost.exponents.T @ problem.cost.coefficients
        return fill_knapsack(gain, cost, limits[0][1], least)
    best, most = least, -np.inf
    for start in _starts(problem.by_rows):
        found = _climb(objective, limits, least, np.maximum(start, least))
        value = objective.at(found)
        if value > most * (1 + 1e-9):
            best, most = found, value
    return best


def _starts(by_rows: npt.NDArray[np.bool_]) -> list[Floats]:
    """Return points to begin at: all streams alike, and each stream with a window by rows alone."""
    starts = [np.ones(by_rows.size)]
    starts += [
        np.where(~by_rows | (np.arange(by_rows.size) == at), 1.0, 1e-3)
        for at in np.flatnonzero(by_rows)
    ]
    return starts


def _climb(objective: _Objective, limits: Sequence[Limit], least: Floats, at: Floats) -> Floats:
    """Approximate the output by a product at the last point, and maximise that, until it stays.

    A weighted mean is never below the product with the same weights. So the product is a lower
    bound that is exact at the point, and each step finds more.
    """
    last = -np.inf
    for _ in range(_MOST_ROUNDS):
        terms = objective.output.terms(at)
        powers = objective.output.exponents.T @ (terms / terms.sum()) + objective.extra
        at = maximize_product(np.maximum(powers, 0.0), limits, least)
        now = objective.at(at)
        is_a_product = (objective.output.exponents == objective.output.exponents[0]).all()
        if is_a_product or now <= last * (1 + _SMALL_GAIN):
            break
        last = now
    return at


def _by_stream(
    names: tuple[str, ...],
    given: Mapping[str, float] | None,
    otherwise: float,
    what: str,
    most: float = np.inf,
) -> Floats:
    for name, value in (given or {}).items():
        if name not in names:
            hint = f"the streams are {', '.join(names)}"
            raise SpecificationError(must(what, "given for streams of the query", name, hint))
        is_number = isinstance(value, Real) and not isinstance(value, bool)
        if not is_number or not 0 <= value <= most or value == np.inf:
            requirement = "a share from 0 to 1" if most == 1 else "a number of 0 or more"
            hint = "0.1 keeps a tenth of its rows at least" if most == 1 else "1 is the usual one"
            raise SpecificationError(must(f'{what} of "{name}"', requirement, value, hint))
    return np.array([float((given or {}).get(name, otherwise)) for name in names])

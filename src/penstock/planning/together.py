"""Several queries over the same streams: one bound, and what they have in common is done once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from itertools import product
from math import prod
from typing import TYPE_CHECKING, TypeAlias

from penstock.errors import SpecificationError, must
from penstock.planning.all_plans import all_plans, count_shapes
from penstock.planning.drop_boxes import DropBoxes, solve_drop_boxes
from penstock.planning.drop_functions import posynomial, project_of
from penstock.planning.estimate import Estimator, Node, PlanEstimate
from penstock.planning.geometric import Posynomial
from penstock.planning.search import cheapest, plans_by_split
from penstock.planning.tree import Filter, Read, Tree, inputs_of, streams_below

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence

    from penstock.planning.model import QueryModel

__all__ = ["JointPlan", "plan_together"]

Signature: TypeAlias = "Hashable"

# Plans of a query that are all tried, and combinations of plans of all queries.
_MOST_PLANS, _MOST_COMBINATIONS = 120, 5_000


@dataclass(frozen=True, eq=False)
class JointPlan:
    """A plan for each of several queries.

    Attributes
    ----------
    trees
        The plans, in the order of the queries.
    cost
        Time per unit of time of all together, shared operators once.
    alone
        The same if nothing were shared.
    memory
        Rows that all keep, those of shared operators once.
    boxes
        What is kept of each stream, so that all fit the bound.
    """

    trees: tuple[Tree, ...]
    cost: float
    alone: float
    memory: float
    boxes: DropBoxes


def plan_together(
    models: Sequence[QueryModel],
    bound: float,
    *,
    weights: Mapping[str, float] | None = None,
    minimum: Mapping[str, float] | None = None,
) -> JointPlan:
    """Choose a plan for each of several queries, for the least cost of all together.

    Selections and joins are shared if they have the same conditions over relations of the same
    names, and joins also the same windows. Small queries are tried in all combinations; otherwise
    each in turn takes the plan that adds least to the others, until none changes.

    Parameters
    ----------
    models
        The queries with their numbers. A name is that of the same stream, with the same rate, in
        all of them.
    bound
        Time that may be used per unit of time, by all together.
    weights, minimum
        As in `penstock.planning.drop_boxes.keep_within`.

    References
    ----------
    `ayad04` 6 names it as an extension: the cost is the sum over all operators, of which each
    counts once.

    Examples
    --------
    >>> from penstock.planning.examples import example_1
    >>> joint = plan_together([example_1(0.001), example_1(0.001)], 1.0)
    >>> round(joint.cost, 6), round(joint.alone, 6)
    (0.25, 0.5)
    """
    _check(models)
    estimators = [Estimator(model) for model in models]
    candidates = [_candidates(model) for model in models]
    estimates = [
        [estimator.estimate(tree) for tree in trees]
        for estimator, trees in zip(estimators, candidates, strict=True)
    ]
    signed = [
        [_signed(model, each) for each in group]
        for model, group in zip(models, estimates, strict=True)
    ]
    if prod(map(len, candidates)) <= _MOST_COMBINATIONS:
        choices = product(*(range(len(group)) for group in candidates))
        best = min(choices, key=lambda choice: _total(signed, choice))
    else:
        best = _in_turn(signed)
    chosen = [group[at] for group, at in zip(estimates, best, strict=True)]
    shared = _shared(signed, best)
    boxes = solve_drop_boxes(
        list(zip(chosen, models, strict=True)),
        bound,
        weights=weights,
        minimum=minimum,
        shared_cost=_shared_cost,
    )
    return JointPlan(
        trees=tuple(group[at] for group, at in zip(candidates, best, strict=True)),
        cost=sum(node.cost for _, node in shared.values()) + sum(each.project for each in chosen),
        alone=sum(each.cost for each in chosen),
        memory=sum(node.memory for _, node in shared.values()),
        boxes=boxes,
    )


def _shared_cost(
    plans: Sequence[tuple[PlanEstimate, QueryModel]], names: tuple[str, ...]
) -> Posynomial:
    """Return the cost of several plans, shared operators once, as a function of what is kept."""
    shared: dict[Signature, tuple[QueryModel, Node]] = {}
    for plan, model in plans:
        shared |= _signed(model, plan)
    parts = [posynomial(node.work, model, names) for model, node in shared.values()]
    # Queries select columns of their own, each at its end.
    parts += [project_of(plan, model, names) for plan, model in plans if plan.project]
    return reduce(Posynomial.plus, parts)


def _check(models: Sequence[QueryModel]) -> None:
    rates: dict[str, float] = {}
    origins: dict[str, str] = {}
    for model in models:
        for each in model.relations:
            if origins.setdefault(each.name, each.read_from) != each.read_from:
                hint = f'"{each.name}" is also {origins[each.name]}: use one name for one stream'
                raise SpecificationError(
                    must(f'stream "{each.name}"', "the same in all queries", each.read_from, hint)
                )
            if rates.setdefault(each.name, each.rate) != each.rate:
                hint = "use one name for one stream in all queries"
                raise SpecificationError(
                    must(f'rate of "{each.name}"', "the same in all queries", each.rate, hint)
                )


def _candidates(model: QueryModel) -> list[Tree]:
    if count_shapes(len(model.relations)) <= _MOST_PLANS:
        found = all_plans(model)
        if len(found) <= _MOST_PLANS:
            return found
    return list(dict.fromkeys([cheapest(model), *plans_by_split(model)]))[:_MOST_PLANS]


def _signed(model: QueryModel, plan: PlanEstimate) -> dict[Signature, tuple[QueryModel, Node]]:
    return {_signature(model, node.tree): (model, node) for node in plan.nodes}


def _signature(model: QueryModel, tree: Tree) -> Signature:
    """Return what makes an operator the same as one of another query."""
    below = frozenset(_signature(model, each) for each in inputs_of(tree))
    match tree:
        case Read(relation=relation):
            return model.names[relation]
        case Filter(selection=selection):
            chosen = model.selections[selection]
            return ("select", chosen.relation, chosen.text, chosen.selectivity, below)
        case _:
            sets = streams_below(tree)
            inside = [each for at, each in enumerate(model.relations) if sets >> at & 1]
            names = {each.name for each in inside}
            conditions = frozenset(
                each for each in model.conditions if {each.left, each.right} <= names
            )
            return (type(tree).__name__, frozenset(inside), conditions, below)


def _shared(
    signed: Sequence[Sequence[dict[Signature, tuple[QueryModel, Node]]]], choice: Sequence[int]
) -> dict[Signature, tuple[QueryModel, Node]]:
    found: dict[Signature, tuple[QueryModel, Node]] = {}
    for group, at in zip(signed, choice, strict=True):
        found |= group[at]
    return found


def _total(
    signed: Sequence[Sequence[dict[Signature, tuple[QueryModel, Node]]]], choice: Sequence[int]
) -> float:
    return sum(node.cost for _, node in _shared(signed, choice).values())


def _in_turn(
    signed: Sequence[Sequence[dict[Signature, tuple[QueryModel, Node]]]],
) -> tuple[int, ...]:
    """Change one query's plan at a time, as long as that makes all together cheaper."""
    choice = [
        min(range(len(group)), key=lambda at: sum(node.cost for _, node in group[at].values()))
        for group in signed
    ]
    last = _total(signed, choice)
    while True:
        for query, group in enumerate(signed):
            choice[query] = min(
                range(len(group)),
                key=lambda at: _total(signed, [*choice[:query], at, *choice[query + 1 :]]),
            )
        total = _total(signed, choice)
        if total >= last * (1 - 1e-12):
            return tuple(choice)
        last = total

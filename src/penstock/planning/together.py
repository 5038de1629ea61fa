"""Several queries over the same streams: one bound, and what they have in common is done once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from itertools import product
from math import prod
from typing import TYPE_CHECKING, TypeAlias

from penstock.errors import SpecificationError, must
from penstock.planning.all_plans import all_plans, count_shapes
from penstock.planning.choose import LEAST_KEPT, beginnings, fits
from penstock.planning.drop_boxes import DropBoxes, NotWithinError, solve_drop_boxes
from penstock.planning.drop_functions import is_uneven, posynomial, project_of
from penstock.planning.estimate import Estimator, Node, PlanEstimate
from penstock.planning.geometric import Posynomial
from penstock.planning.search import cheapest, plans_by_split
from penstock.planning.tree import Filter, Read, Tree, inputs_of, streams_below

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Mapping, Sequence

    from penstock.planning.model import QueryModel

__all__ = ["JointPlan", "plan_together"]

Signature: TypeAlias = "Hashable"
Operators: TypeAlias = "dict[Signature, tuple[QueryModel, Node]]"

# Plans of a query that are all tried, and combinations of plans of all queries.
_MOST_PLANS, _MOST_COMBINATIONS = 120, 5_000
# Combinations that are all tried with drop boxes; fewer if selectivities depend on what is kept.
_MOST_BOXED, _MOST_UNEVEN = 300, 30


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

    If that exceeds the bound, the plans that give most with drop boxes are chosen.

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
    search = _Search(models, bound, weights, minimum)
    best = search.cheapest(models)
    if not fits(search.cost(best), bound):
        best = search.best_with_drop_boxes()
    chosen = search.plans(best)
    shared = _shared(search.signed, best)
    return JointPlan(
        trees=tuple(plan.root.tree for plan, _ in chosen),
        cost=search.cost(best),
        alone=sum(plan.cost for plan, _ in chosen),
        memory=sum(node.memory for _, node in shared.values()),
        boxes=search.boxes(best),
    )


class _Search:
    """Looks for a plan of each query; a choice has the number of the plan of each."""

    def __init__(
        self,
        models: Sequence[QueryModel],
        bound: float,
        weights: Mapping[str, float] | None,
        minimum: Mapping[str, float] | None,
    ) -> None:
        self._models, self._bound = models, bound
        self._weights, self._minimum = weights, minimum
        self._candidates = [_candidates(model) for model in models]
        self._estimates = self._estimated(models)
        self.signed = self._signed(models, self._estimates)
        self._found: dict[tuple[int, ...], DropBoxes] = {}
        self._refused: list[NotWithinError] = []

    def _estimated(self, models: Sequence[QueryModel]) -> list[list[PlanEstimate]]:
        estimators = [Estimator(model) for model in models]
        return [
            [estimator.estimate(tree) for tree in trees]
            for estimator, trees in zip(estimators, self._candidates, strict=True)
        ]

    @staticmethod
    def _signed(
        models: Sequence[QueryModel], estimates: Sequence[Sequence[PlanEstimate]]
    ) -> list[list[Operators]]:
        return [
            [_signed(model, each) for each in group]
            for model, group in zip(models, estimates, strict=True)
        ]

    def _choices(self) -> Iterable[tuple[int, ...]]:
        """Return all choices."""
        return product(*(range(len(group)) for group in self._candidates))

    def cheapest(self, models: Sequence[QueryModel]) -> tuple[int, ...]:
        """Return the choice of the least cost, for these rates."""
        signed = (
            self.signed if models is self._models else self._signed(models, self._estimated(models))
        )
        if prod(map(len, self._candidates)) <= _MOST_COMBINATIONS:
            return min(self._choices(), key=lambda choice: _total(signed, choice))
        return _in_turn(signed)

    def plans(self, choice: tuple[int, ...]) -> list[tuple[PlanEstimate, QueryModel]]:
        """Return the plans of a choice."""
        chosen = (group[at] for group, at in zip(self._estimates, choice, strict=True))
        return list(zip(chosen, self._models, strict=True))

    def cost(self, choice: tuple[int, ...]) -> float:
        """Return what a choice needs with nothing dropped."""
        return _total(self.signed, choice) + sum(plan.project for plan, _ in self.plans(choice))

    def boxes(self, choice: tuple[int, ...]) -> DropBoxes:
        """Return the drop boxes of a choice."""
        return solve_drop_boxes(
            self.plans(choice),
            self._bound,
            weights=self._weights,
            minimum=self._minimum,
            shared_cost=shared_cost_of,
        )

    def best_with_drop_boxes(self) -> tuple[int, ...]:
        """Return the choice that gives most with drop boxes.

        A few are all compared. Otherwise plans and drop boxes are improved in turn, from several
        beginnings: the choice that is cheapest for what is kept, then what to keep with it.
        """
        uneven = any(map(is_uneven, self._models))
        if prod(map(len, self._candidates)) <= (_MOST_UNEVEN if uneven else _MOST_BOXED):
            for choice in self._choices():
                self._add(choice)
        else:
            streams = {
                each.name: 1.0 for model in self._models for each in model.relations if each.rate
            }
            for kept in beginnings(list(streams)):
                self._improve(kept)
        if not self._found:
            raise min(self._refused, key=lambda each: each.excess)
        top = max(boxes.value for boxes in self._found.values())
        equal = [choice for choice, boxes in self._found.items() if boxes.value >= top * (1 - 1e-9)]
        return min(equal, key=self.cost)

    def _add(self, choice: tuple[int, ...]) -> DropBoxes | None:
        """Return the drop boxes of a choice; None if the smallest shares alone are too much."""
        if choice not in self._found:
            try:
                self._found[choice] = self.boxes(choice)
            except NotWithinError as error:
                self._refused.append(error)
                return None
        return self._found[choice]

    def _improve(self, kept: Mapping[str, float]) -> None:
        """Improve plans and drop boxes in turn, until neither changes."""
        last = -1.0
        while True:
            shares = {name: max(share, LEAST_KEPT) for name, share in kept.items()}
            boxes = self._add(self.cheapest([model.kept(shares) for model in self._models]))
            if boxes is None or boxes.value <= last * (1 + 1e-9):
                return
            last, kept = boxes.value, boxes.kept


def shared_cost_of(
    plans: Sequence[tuple[PlanEstimate, QueryModel]], names: tuple[str, ...]
) -> Posynomial:
    """Return the cost of several plans, shared operators once, as a function of what is kept."""
    shared: Operators = {}
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


def _signed(model: QueryModel, plan: PlanEstimate) -> Operators:
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


def _shared(signed: Sequence[Sequence[Operators]], choice: Sequence[int]) -> Operators:
    found: Operators = {}
    for group, at in zip(signed, choice, strict=True):
        found |= group[at]
    return found


def _total(signed: Sequence[Sequence[Operators]], choice: Sequence[int]) -> float:
    return sum(node.cost for _, node in _shared(signed, choice).values())


def _in_turn(
    signed: Sequence[Sequence[Operators]],
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

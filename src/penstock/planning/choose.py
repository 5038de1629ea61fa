"""Which plan: the cheapest that fits, or the one that gives most with drop boxes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from penstock.planning.all_plans import all_plans, count_shapes
from penstock.planning.drop_boxes import DropBoxes, NotWithinError, keep_within
from penstock.planning.drop_functions import is_uneven
from penstock.planning.estimate import Estimator, PlanEstimate
from penstock.planning.search import Search, cheapest, pushed_and_placed, single_plans

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from penstock.planning.model import QueryModel
    from penstock.planning.tree import Tree

__all__ = [
    "LEAST_KEPT",
    "Choice",
    "beginnings",
    "best_with_drop_boxes",
    "choose",
    "fits",
    "within_memory",
]

# Plans that are compared one by one: a geometric programme takes some milliseconds, and some tenths
# of a second go by if selectivities depend on what is kept.
_MOST_LINEAR, _MOST_GEOMETRIC, _MOST_UNEVEN = 2_000, 150, 30
# Prices of memory that are tried for many relations.
_PRICES = 24
_ROUNDING = 1e-9
LEAST_KEPT = 1e-4
"""Of a stream of which nothing is kept, for the comparison of plans: they would be equal."""


@dataclass(frozen=True, eq=False)
class Choice:
    """A plan, what it needs, and what is kept of the streams.

    Attributes
    ----------
    tree
        The plan.
    full
        What it needs if nothing is dropped.
    boxes
        What is kept of each stream, and what that gives; all of it if the plan is feasible.
    """

    tree: Tree
    full: PlanEstimate
    boxes: DropBoxes


def fits(amount: float, bound: float) -> bool:
    """Return whether an amount is within a bound, up to rounding.

    Equations 7, 10 and 15 ask for less than the bound. Example 1 calls a plan feasible that needs
    exactly what there is, and section 5 makes approximated plans need just that.
    """
    return amount <= bound * (1 + _ROUNDING)


def choose(
    model: QueryModel,
    bound: float,
    *,
    rows: float | None = None,
    weights: Mapping[str, float] | None = None,
    minimum: Mapping[str, float] | None = None,
    fill: float = 0.0,
) -> Choice | None:
    """Return the cheapest plan if it is feasible, or else the plan that gives most within a bound.

    Parameters
    ----------
    model
        The query and its numbers.
    bound
        Time that may be used per unit of time.
    rows
        Rows that the plan may keep; None for no limit.
    weights, minimum, fill
        As in `penstock.planning.drop_boxes.keep_within`.

    Returns
    -------
    Choice | None
        None if no plan keeps so few rows, also with drop boxes: they make windows by time hold
        fewer rows, but not windows by rows.

    Examples
    --------
    >>> from penstock.planning.examples import example_1
    >>> choice = choose(example_1(0.005), 1.0)
    >>> round(choice.full.cost, 6), round(choice.boxes.rate, 1)
    (1.25, 916.7)
    """
    estimator = Estimator(model)
    tree: Tree | None = cheapest(model)
    if tree is not None and rows is not None and not fits(estimator.estimate(tree).memory, rows):
        tree = within_memory(model, rows)
    if tree is not None:
        full = estimator.estimate(tree)
        if fits(full.cost, bound):
            boxes = keep_within(full, model, bound, weights=weights, minimum=minimum)
            return Choice(tree, full, boxes)
    return best_with_drop_boxes(
        model, bound, rows=rows, weights=weights, minimum=minimum, fill=fill
    )


def within_memory(model: QueryModel, rows: float) -> Tree | None:
    """Return the cheapest plan that keeps at most so many rows; None if there is none.

    All plans are compared if there are few. For more relations a row is given a price, which is
    raised until the plan with the least cost and price fits: plans between two prices are missed.

    References
    ----------
    `ayad04` equations 16 and 17.
    """
    estimator = Estimator(model)
    if _are_few(model, _MOST_LINEAR):
        plans: Iterable[Tree] = all_plans(model)
    else:
        plans = [*single_plans(model), *_priced_plans(model)]
    fitting = [
        (estimate.cost, number, plan)
        for number, plan in enumerate(plans)
        for estimate in [estimator.estimate(plan)]
        if fits(estimate.memory, rows)
    ]
    return min(fitting)[2] if fitting else None


def _priced_plans(model: QueryModel) -> list[Tree]:
    """Return the best plans for several prices of memory, the last for memory alone."""
    estimator = Estimator(model)
    smallest = Search(model, memory_price=1.0, cost_weight=0.0).best()
    cost = estimator.estimate(cheapest(model)).cost
    scale = cost / max(estimator.estimate(smallest).memory, 1e-300)
    prices = scale * np.geomspace(1e-4, 1e4, _PRICES)
    found = [Search(model, memory_price=float(price)).best() for price in prices]
    return list(dict.fromkeys([*found, smallest]))


def best_with_drop_boxes(
    model: QueryModel,
    bound: float,
    *,
    rows: float | None = None,
    weights: Mapping[str, float] | None = None,
    minimum: Mapping[str, float] | None = None,
    fill: float = 0.0,
    exhaustive: bool | None = None,
) -> Choice | None:
    """Return the plan that gives most with drop boxes, which need not be the cheapest.

    A few plans are all compared. Otherwise plan and drop boxes are improved in turn, from several
    beginnings: the plan that is cheapest for what is kept, then what to keep with that plan. No
    step makes it worse. The study ayad04-choice compares the two.

    Parameters
    ----------
    exhaustive
        Whether all plans are compared; None if they are few.

    Raises
    ------
    NotWithinError
        If there is no plan in which the smallest shares alone are within both limits.

    References
    ----------
    `ayad04` 5.2 leaves the choice as an open problem.
    """
    tried = _Tried(model, bound, rows, weights, minimum, fill)
    most = _MOST_LINEAR if model.by_rows else _MOST_GEOMETRIC
    most = _MOST_UNEVEN if is_uneven(model) else most
    if _are_few(model, most) if exhaustive is None else exhaustive:
        for tree in all_plans(model):
            tried.add(tree)
    else:
        for tree in single_plans(model):
            tried.add(tree)
        for kept in beginnings([each.name for each in model.relations if not each.is_table]):
            tried.improve(kept)
        for tree in [] if rows is None else _priced_plans(model):
            tried.add(tree)
    return tried.best()


class _Tried:
    """The plans that were tried, each with its best drop boxes."""

    def __init__(
        self,
        model: QueryModel,
        bound: float,
        rows: float | None,
        weights: Mapping[str, float] | None,
        minimum: Mapping[str, float] | None,
        fill: float,
    ) -> None:
        self._model, self._bound, self._rows = model, bound, rows
        self._weights, self._minimum, self._fill = weights, minimum, fill
        self._estimator = Estimator(model)
        self._found: dict[Tree, Choice] = {}
        self._refused: list[NotWithinError] = []

    def add(self, tree: Tree) -> Choice | None:
        """Return a plan with its best drop boxes; None if it needs too much with any."""
        if tree not in self._found:
            full = self._estimator.estimate(tree)
            try:
                boxes = keep_within(
                    full,
                    self._model,
                    self._bound,
                    rows=self._rows,
                    weights=self._weights,
                    minimum=self._minimum,
                    fill=self._fill,
                )
            except NotWithinError as error:
                self._refused.append(error)
                return None
            self._found[tree] = Choice(tree, full, boxes)
        return self._found[tree]

    def improve(self, kept: Mapping[str, float]) -> None:
        """Improve plan and drop boxes in turn, until neither changes."""
        last = -1.0
        while True:
            shares = {name: max(share, LEAST_KEPT) for name, share in kept.items()}
            choice = self.add(Search(self._model.kept(shares)).best())
            if choice is None or choice.boxes.value <= last * (1 + 1e-9):
                return
            last, kept = choice.boxes.value, choice.boxes.kept

    def best(self) -> Choice | None:
        """Return the plan that gives most; of equal ones the cheapest without drop boxes."""
        if not self._found:
            too_high = [each for each in self._refused if not each.is_hopeless]
            if too_high:
                raise min(too_high, key=lambda each: each.excess)
            return None
        top = max(choice.boxes.value for choice in self._found.values())
        equal = [each for each in self._found.values() if each.boxes.value >= top * (1 - 1e-9)]
        return min(equal, key=lambda each: each.full.cost)


def beginnings(streams: Sequence[str]) -> list[dict[str, float]]:
    """Return what is kept at first: all or a little of each, in several combinations."""
    found = [dict.fromkeys(streams, 1.0), dict.fromkeys(streams, 0.1)]
    for number, name in enumerate(streams):
        rest = dict.fromkeys(streams, 0.01)
        found += [rest | {name: 1.0}, dict.fromkeys(streams, 1.0) | {name: 0.01}]
        found += [rest | {name: 1.0, other: 1.0} for other in streams[number + 1 :]]
    return found


def _are_few(model: QueryModel, most: int) -> bool:
    """Return whether there are at most so many plans, about."""
    _, placed = pushed_and_placed(model)
    # A selection can be at each node above its relation.
    places: int = len(model.relations) ** len(placed)
    return count_shapes(len(model.relations)) * places <= most

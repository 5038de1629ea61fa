"""Plans by the paper's equations 1 to 11 alone, one operator after the other.

The twin of `penstock.planning.estimate`, which computes the same from sets of relations; and of the
searches, by trying everything. Drop boxes can be on any edge here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from penstock.planning.tree import Filter, Pair, Read, Tree

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from penstock.planning.model import QueryModel


@dataclass(frozen=True)
class Flow:
    """What an operator gives, and what all operators up to it cost and keep."""

    rate: float
    window: float
    relations: frozenset[int]
    cost: float = 0.0
    memory: float = 0.0


def flow(model: QueryModel, tree: Tree, boxes: Mapping[Tree, float] | None = None) -> Flow:
    """Return what a plan gives with drop boxes above some of its operators.

    Windows are all by rows, which a drop box does not shrink, or all by time, which it does.
    """
    boxes = boxes or {}
    found = _flow(model, tree, boxes)
    kept = boxes.get(tree, 1.0)
    window = found.window if model.by_rows else found.window * kept
    return Flow(found.rate * kept, window, found.relations, found.cost, found.memory)


def _flow(model: QueryModel, tree: Tree, boxes: Mapping[Tree, float]) -> Flow:
    costs = model.costs
    if isinstance(tree, Read):
        relation = model.relations[tree.relation]
        return Flow(relation.rate, relation.window, frozenset([tree.relation]))
    if isinstance(tree, Filter):
        below = flow(model, tree.below, boxes)
        selection = model.selections[tree.selection]
        each = costs.select if selection.cost is None else selection.cost
        return Flow(
            selection.selectivity * below.rate,  # 1
            selection.selectivity * below.window,  # 2
            below.relations,
            below.cost + each * below.rate,  # 7
            below.memory,
        )
    assert isinstance(tree, Pair)
    left, right = flow(model, tree.left, boxes), flow(model, tree.right, boxes)
    f = 1.0
    for condition in model.conditions:
        ends = {model.index(condition.left), model.index(condition.right)}
        if len(ends & left.relations) == 1 and len(ends & right.relations) == 1:
            f *= condition.selectivity
    rate = f * (right.window * left.rate + left.window * right.rate)  # 3
    each = costs.insert + costs.invalidate + costs.probe
    cost = (left.rate + right.rate) * each + costs.result * rate  # 9
    memory = left.window + right.window  # 11
    return Flow(
        rate,
        f * left.window * right.window,  # 4
        left.relations | right.relations,
        left.cost + right.cost + cost,
        left.memory + right.memory + memory,
    )


def every_plan(model: QueryModel) -> Iterator[Tree]:
    """Yield all plans: every shape, every selection at every place above its relation."""
    trees = list(_shapes(frozenset(range(len(model.relations)))))
    for number, selection in enumerate(model.selections):
        relation = model.index(selection.relation)
        trees = [more for tree in trees for more in _with(tree, number, relation)]
    yield from trees


def _shapes(relations: frozenset[int]) -> Iterator[Tree]:
    ordered = sorted(relations)
    if len(ordered) == 1:
        yield Read(ordered[0])
        return
    rest = ordered[1:]
    for mask in range(2 ** len(rest) - 1):
        left = frozenset([ordered[0], *(r for bit, r in enumerate(rest) if mask >> bit & 1)])
        for one in _shapes(left):
            for other in _shapes(relations - left):
                yield Pair(one, other)


def _with(tree: Tree, selection: int, relation: int) -> Iterator[Tree]:
    """Yield a tree with one more selection, at each place where it can be."""
    if not _reads(tree, relation):
        return
    yield Filter(selection, tree)
    if isinstance(tree, Filter):
        yield from (
            Filter(tree.selection, below) for below in _with(tree.below, selection, relation)
        )
    elif isinstance(tree, Pair):
        yield from (Pair(left, tree.right) for left in _with(tree.left, selection, relation))
        yield from (Pair(tree.left, right) for right in _with(tree.right, selection, relation))


def _reads(tree: Tree, relation: int) -> bool:
    if isinstance(tree, Read):
        return tree.relation == relation
    if isinstance(tree, Filter):
        return _reads(tree.below, relation)
    assert isinstance(tree, Pair)
    return _reads(tree.left, relation) or _reads(tree.right, relation)

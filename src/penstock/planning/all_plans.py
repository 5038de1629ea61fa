"""All plans of a small query, one by one."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from penstock.planning.search import pushed_and_placed, select_in_order, single_plans
from penstock.planning.tree import Filter, Pair, Read, Tree

if TYPE_CHECKING:
    from penstock.planning.model import QueryModel

__all__ = ["all_plans", "count_shapes"]


def count_shapes(relations: int) -> int:
    """Return the number of binary trees over so many relations: (2n - 3)!!.

    >>> [count_shapes(n) for n in (1, 2, 3, 4, 5, 6)]
    [1, 1, 3, 15, 105, 945]
    """
    total = 1
    for factor in range(3, 2 * relations - 2, 2):
        total *= factor
    return total


def all_plans(model: QueryModel) -> list[Tree]:
    """Return every plan: all shapes, selections at every place that can be best.

    Selections that are surely best at their relation are there and nowhere else.

    Examples
    --------
    >>> from penstock.planning.examples import example_1
    >>> from penstock.planning.tree import short
    >>> for plan in all_plans(example_1(0.001)):
    ...     print(short(plan, ("A", "B", "C")))
    (A ⋈ C) ⋈ B
    (A ⋈ B) ⋈ C
    A ⋈ (B ⋈ C)
    """
    pushed, placed = pushed_and_placed(model)
    at = [model.index(model.selections[each].relation) for each in placed]
    pushed_at = [model.index(model.selections[each].relation) for each in pushed]

    @cache
    def plans(sets: int, applied: int) -> list[Tree]:
        found: list[Tree] = []
        if not model.may_join(sets):
            return found
        if sets & (sets - 1) == 0 and not applied:
            relation = sets.bit_length() - 1
            own = [each for each, of in zip(pushed, pushed_at, strict=True) if of == relation]
            found.append(select_in_order(model, Read(relation), own))
        for bit, selection in enumerate(placed):
            if applied >> bit & 1:
                found += [Filter(selection, below) for below in plans(sets, applied & ~(1 << bit))]
        first, rest = sets & -sets, sets & (sets - 1)
        part = rest
        while part:
            # part is what is joined with the first relation's side; at least one relation
            part = (part - 1) & rest
            left, right = first | part, rest ^ part
            of_left = sum(1 << bit for bit, of in enumerate(at) if left >> of & 1)
            found += [
                Pair(one, other)
                for one in plans(left, applied & of_left)
                for other in plans(right, applied & ~of_left)
            ]
        return found

    everything = (1 << len(model.relations)) - 1
    return plans(everything, (1 << len(placed)) - 1) + single_plans(model)

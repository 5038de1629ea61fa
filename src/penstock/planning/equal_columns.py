"""Columns that a query says are equal, and the equalities that follow from others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.planning.parsed import JoinCondition, spelled
from penstock.predicates import Equal

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["equal_columns", "implied"]


def implied(conditions: Sequence[JoinCondition]) -> Iterator[JoinCondition]:
    """Yield equalities that follow from others: a.x = c.z from a.x = b.y and b.y = c.z."""
    for members in equal_columns(conditions):
        said = {frozenset([each.left, each.right]) for each in conditions}
        for at, right in enumerate(members):
            for left in members[:at]:
                if left[0] != right[0] and frozenset([left, right]) not in said:
                    text = f"{spelled(left)} = {spelled(right)}"
                    place = next(
                        each.place for each in conditions if right in (each.left, each.right)
                    )
                    predicate = Equal(**dict([left, right]))
                    yield JoinCondition(left, right, predicate, text, follows=True, place=place)


def equal_columns(conditions: Sequence[JoinCondition]) -> list[list[tuple[str, str]]]:
    """Return the columns that are equal to each other, in groups, in the order of the query."""
    groups: list[list[tuple[str, str]]] = []
    for each in conditions:
        if not isinstance(each.predicate, Equal):
            continue
        touched = [group for group in groups if each.left in group or each.right in group]
        merged = list(
            dict.fromkeys([*(c for group in touched for c in group), each.left, each.right])
        )
        groups = [group for group in groups if group not in touched] + [merged]
    return groups

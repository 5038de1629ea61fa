"""Which conditions of a query a join tests itself, and which are tested on its results."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from penstock.planning.equal_columns import equal_columns
from penstock.predicates import Band, Compare, Equal, Within

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from penstock.planning.parsed import JoinCondition
    from penstock.predicates import Predicate

__all__ = ["JoinOn", "between", "join_on"]

Column: TypeAlias = tuple[str, str]

# What finds few rows comes first: the rest is tested on the results.
_ORDER: tuple[type[Predicate], ...] = (Within, Band, Compare)


@dataclass(frozen=True)
class JoinOn:
    """What a join compares.

    Attributes
    ----------
    kind
        The condition that it tests, if that is no equality.
    columns
        For each input the columns that it compares, as relation and column; None where all rows
        have the same value.
    rest
        Conditions to be tested on its results.
    """

    kind: Predicate | None
    columns: tuple[tuple[Column | None, ...], ...]
    rest: tuple[JoinCondition, ...]

    def predicate(self, names: Sequence[str], columns: Mapping[str, tuple[str, ...]]) -> Predicate:
        """Return the predicate of the join; `columns` are called so in each of its inputs."""
        if self.kind is None:
            return Equal(**columns)
        each = {name: columns[name][0] for name in names}
        match self.kind:
            case Within():
                return Within(self.kind.distance, **each)
            case Band():
                return Band(low=self.kind.low, high=self.kind.high, **each)
            case Compare():
                return Compare(self.kind.operator, **each)
        message = f"no such predicate: {self.kind!r}"
        raise AssertionError(message)


def between(
    conditions: Sequence[JoinCondition], left: Sequence[str], right: Sequence[str]
) -> tuple[JoinCondition, ...]:
    """Return the conditions between two sets of relations."""
    return tuple(
        each
        for each in conditions
        if (each.left[0] in left and each.right[0] in right)
        or (each.left[0] in right and each.right[0] in left)
    )


def join_on(
    conditions: Sequence[JoinCondition], sides: Sequence[Sequence[str]], *, is_single: bool
) -> JoinOn:
    """Return what a join of sets of relations compares.

    All equalities are tested together. Without one, the first distance, band or comparison is, and
    the rest on its results. Without any condition all rows have the same key: a product.
    """
    if is_single:
        return _single(conditions, sides)
    left, right = sides
    found = between(conditions, left, right)
    equal = [each for each in found if isinstance(each.predicate, Equal)]
    rest = [each for each in found if not isinstance(each.predicate, Equal)]
    if equal:
        chosen, more = _equalities(conditions, equal, left, right)
        return JoinOn(None, _by_side(chosen, left), (*more, *rest))
    if rest:
        first = min(rest, key=lambda each: _ORDER.index(type(each.predicate)))
        rest.remove(first)
        return JoinOn(_directed(first, left), _by_side([first], left), tuple(rest))
    return JoinOn(None, ((None,), (None,)), ())


def _by_side(
    conditions: Sequence[JoinCondition], left: Sequence[str]
) -> tuple[tuple[Column, ...], tuple[Column, ...]]:
    pairs = [
        (each.left, each.right) if each.left[0] in left else (each.right, each.left)
        for each in conditions
    ]
    return tuple(one for one, _ in pairs), tuple(other for _, other in pairs)


def _directed(condition: JoinCondition, left: Sequence[str]) -> Predicate:
    """Return a predicate as it reads from the left input to the right one."""
    predicate = condition.predicate
    if condition.left[0] in left:
        return predicate
    mirrored = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
    names = dict([condition.right, condition.left])
    match predicate:
        case Band():
            return Band(low=-predicate.high, high=-predicate.low, **names)
        case Compare():
            return Compare(mirrored.get(predicate.operator, predicate.operator), **names)
    return predicate


def _equalities(
    conditions: Sequence[JoinCondition],
    found: Sequence[JoinCondition],
    left: Sequence[str],
    right: Sequence[str],
) -> tuple[list[JoinCondition], list[JoinCondition]]:
    """Return one equality of each group of equal columns, and those that do not follow from it.

    Columns of a group that are on one side are equal to each other already if they are of several
    relations there. If one relation has several of them, only this join compares them.
    """
    chosen, more = [], []
    for group in equal_columns(conditions):
        among = [each for each in found if each.left in group]
        if not among:
            continue
        first = among[0]
        chosen.append(first)
        alone = []
        for side in (left, right):
            relations = {name for name, _ in group if name in side}
            if len(relations) == 1:
                alone += [each for each in group if each[0] in relations]
        ends = {first.left, first.right}
        more += [
            next(each for each in among if column in _ends(each) and ends & _ends(each))
            for column in alone
            if column not in ends
        ]
    return chosen, more


def _ends(condition: JoinCondition) -> set[Column]:
    return {condition.left, condition.right}


def _single(conditions: Sequence[JoinCondition], sides: Sequence[Sequence[str]]) -> JoinOn:
    """Return what one operator over all streams compares: one equality, or one distance."""
    inside = {name for side in sides for name in side}
    among = [each for each in conditions if {each.left[0], each.right[0]} <= inside]
    columns = dict(side for each in among for side in (each.left, each.right))
    kind = among[0].predicate
    by_side = tuple(((side[0], columns[side[0]]),) for side in sides)
    return JoinOn(None if isinstance(kind, Equal) else kind, by_side, ())

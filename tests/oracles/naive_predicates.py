"""What the predicates say, in Python's own arithmetic."""

from __future__ import annotations

import math
import operator
from decimal import Decimal
from itertools import combinations, pairwise
from typing import TYPE_CHECKING, Any

from penstock.predicates import Band, Compare, Equal, Predicate, Similar, Within

if TYPE_CHECKING:
    from collections.abc import Sequence

OPERATORS = {
    "<": operator.lt,
    "<=": operator.le,
    "=": operator.eq,
    "!=": operator.ne,
    ">=": operator.ge,
    ">": operator.gt,
}


def key_of(predicate: Predicate, values: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """Return a row's key; None if it can match nothing."""
    if isinstance(predicate, Similar):
        return _vector_of(predicate, values[0])
    for value in values:
        if value is None or value != value:  # noqa: PLR0124 -- a NaN is what differs from itself
            return None
        if isinstance(predicate, Within | Band) and math.isinf(value):
            return None  # at no distance from anything
    return values


def holds(predicate: Predicate, names: Sequence[str], keys: Sequence[tuple[Any, ...]]) -> bool:
    """Return whether a predicate holds for one row of each stream, in the order of the names."""
    if isinstance(predicate, Equal):
        return all(key == keys[0] for key in keys)
    assert predicate.streams is not None
    values = [keys[names.index(stream)][0] for stream in predicate.streams]
    if isinstance(predicate, Similar):
        return all(_are_similar(predicate, x, y) for x, y in combinations(values, 2))
    if isinstance(predicate, Within):
        distance = _like(predicate.distance, values)
        return all(abs(x - y) <= distance for x in values for y in values)
    if isinstance(predicate, Band):
        low, high = _like(predicate.low, values), _like(predicate.high, values)
        return all(low <= y - x <= high for x, y in pairwise(values))
    assert isinstance(predicate, Compare)
    related = OPERATORS[predicate.operator]
    return all(related(x, y) for x, y in pairwise(values))


def _like(bound: Any, values: Sequence[Any]) -> Any:  # noqa: ANN401 -- a number of any kind
    """Among decimals a bound of 0.3 means three tenths, not the float next to it."""
    if isinstance(bound, float) and any(isinstance(value, Decimal) for value in values):
        return Decimal(repr(bound))
    return bound


def _vector_of(predicate: Similar, value: list[float | None] | None) -> tuple[Any, ...] | None:
    """Return a vector as a key; the predicate must say how many numbers it has."""
    assert predicate.dimensions is not None
    if value is None or len(value) != predicate.dimensions:
        return None
    if any(number is None or not math.isfinite(number) for number in value):
        return None
    if predicate.metric == "cosine" and not any(value):
        return None
    return (tuple(value),)


def _are_similar(predicate: Similar, x: Sequence[float], y: Sequence[float]) -> bool:
    """Compare two vectors; the numbers of tests are such that no sum is rounded."""
    if predicate.metric == "euclidean":
        return math.dist(x, y) <= float(predicate.distance)
    dot: float = sum(map(operator.mul, x, y))
    return 1 - dot / (math.hypot(*x) * math.hypot(*y)) <= float(predicate.distance)

"""Vectors of a join's tables and their distances, in plain Python."""

from __future__ import annotations

import math
from collections import Counter
from itertools import combinations
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from penstock.errors import SchemaError, must

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from penstock.predicates import Similar
    from penstock.spec import Specification

# Lengths whose squares a float64 can tell apart from 0 and from infinity.
_LENGTHS = 1e-140, 1e140
# 1 less the cosine of vectors in the same direction, at most, as it is rounded.
_SAME = 1e-24


def usable_vector(
    predicate: Similar, join: Specification, tables: Mapping[str, pa.Table]
) -> Callable[[Any], tuple[float, ...] | None]:
    """Return a function from a value to its vector, None for one that matches nothing.

    Raises
    ------
    SchemaError
        If a column has no lists.
    """
    dimensions = _dimensions(predicate, join, tables)

    def vector(value: Any) -> tuple[float, ...] | None:  # noqa: ANN401 -- a value of any column
        if value is None or len(value) != dimensions:
            return None
        if any(number is None or not math.isfinite(number) for number in value):
            return None
        length = _length(value)
        if predicate.metric == "cosine" and not _LENGTHS[0] <= length <= _LENGTHS[1]:
            return None
        return tuple(value)

    return vector


def all_near(predicate: Similar, vectors: Sequence[tuple[float, ...]]) -> bool:
    """Return whether any two vectors are within the distance."""
    far = float(predicate.distance)
    measure = _angle if predicate.metric == "cosine" else _distance
    return all(measure(x, y) <= far for x, y in combinations(vectors, 2))


def _dimensions(
    predicate: Similar, join: Specification, tables: Mapping[str, pa.Table]
) -> int | None:
    """Return the dimensions that are said, or else those of most rows of all streams."""
    if predicate.dimensions is not None:
        return predicate.dimensions
    for name in join.streams:
        column = tables[name][predicate.columns_of(name)[0]]
        if pa.types.is_fixed_size_list(column.type):
            return int(column.type.list_size)
        if not (pa.types.is_list(column.type) or pa.types.is_large_list(column.type)):
            label = f'column "{predicate.columns_of(name)[0]}" of stream "{name}"'
            raise SchemaError(must(label, "lists of floats", str(column.type), "cast it"))
    columns = [tables[name][predicate.columns_of(name)[0]] for name in join.streams]
    sizes = Counter(len(value) for column in columns for value in column.to_pylist() if value)
    return min(sizes, key=lambda size: (-sizes[size], size), default=None)


def _sum(numbers: Sequence[float]) -> float:
    # One after the other: Python's own `sum` is more exact, and so not what is promised.
    total = 0.0
    for number in numbers:
        total += number
    return total


def _length(x: Sequence[float]) -> float:
    return math.sqrt(_sum([a * a for a in x]))


def _distance(x: Sequence[float], y: Sequence[float]) -> float:
    return math.sqrt(_sum([(a - b) * (a - b) for a, b in zip(x, y, strict=True)]))


def _angle(x: Sequence[float], y: Sequence[float]) -> float:
    by_x, by_y = 1.0 / _length(x), 1.0 / _length(y)
    differences = [a * by_x - b * by_y for a, b in zip(x, y, strict=True)]
    half = 0.5 * _sum([each * each for each in differences])
    return 0.0 if half <= _SAME else min(half, 2.0)

"""Conditions in SQL that hold for the same rows as in Penstock's own joins."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

import pyarrow as pa

from penstock.columns import plain
from penstock.engine.values import common_values
from penstock.planning.parsed import quoted
from penstock.predicates import Band, Compare, Within

if TYPE_CHECKING:
    from penstock.planning.parsed import JoinCondition
    from penstock.predicates import Number

__all__ = ["condition_sql"]


def condition_sql(condition: JoinCondition, left: pa.DataType, right: pa.DataType) -> str:
    """Return a condition between two relations in Spark's SQL.

    It never holds for NaN. Differences are computed as Penstock's joins compute them: of floats as
    doubles, of whole numbers so that they cannot overflow.

    Parameters
    ----------
    condition
        Between two relations.
    left, right
        Types of its columns.

    Examples
    --------
    >>> from penstock.planning.parsed import JoinCondition
    >>> near = JoinCondition(("a", "x"), ("b", "y"), Within(2, a="x", b="y"), "ABS(...) <= 2")
    >>> condition_sql(near, pa.int32(), pa.int32())
    'CAST(`b`.`y` AS BIGINT) - CAST(`a`.`x` AS BIGINT) BETWEEN -2 AND 2'
    """
    ends = ((condition.left, plain(left)), (condition.right, plain(right)))
    names = [".".join(map(quoted, column)) for column, _ in ends]
    parts = [_compared(condition, names, [kind for _, kind in ends])]
    parts += [
        f"NOT isnan({name})"
        for name, (_, kind) in zip(names, ends, strict=True)
        if pa.types.is_floating(kind)
    ]
    return " AND ".join(parts)


def _compared(condition: JoinCondition, names: list[str], kinds: list[pa.DataType]) -> str:
    one, other = names
    predicate = condition.predicate
    match predicate:
        case Compare():
            return f"{one} {predicate.operator} {other}"
        case Within():
            low, high = -predicate.distance, predicate.distance
        case Band():
            low, high = predicate.low, predicate.high
        case _:
            return f"{one} = {other}"
    (x, a), (y, b) = condition.left, condition.right
    scale = common_values({x: (a, kinds[0]), y: (b, kinds[1])})
    if scale.floating:
        bounds = [f"{float(each)!r}D" for each in (low, high)]
        return _difference(names, ["DOUBLE", "DOUBLE"], bounds)
    types = ["" if pa.types.is_decimal(each) else _wide(each) for each in kinds]
    return _difference(names, types, [_exact(each) for each in (low, high)])


def _difference(names: list[str], types: list[str], bounds: list[str]) -> str:
    one, other = (
        f"CAST({name} AS {kind})" if kind else name for name, kind in zip(names, types, strict=True)
    )
    return f"{other} - {one} BETWEEN {bounds[0]} AND {bounds[1]}"


def _wide(kind: pa.DataType) -> str:
    """Return a type that holds all differences of whole numbers."""
    return "BIGINT" if pa.types.is_integer(kind) and kind.bit_width <= 32 else "DECIMAL(20, 0)"


def _exact(number: Number) -> str:
    """Return a number as a literal that is a whole number or a decimal."""
    return format(Decimal(repr(number)) if isinstance(number, float) else Decimal(number), "f")

"""Columns brought to one type, in which equal values are the same bit by bit."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from penstock.columns import decoded
from penstock.errors import SchemaError
from penstock.planning.spark_values import NoValueError, cast, compared_as

if TYPE_CHECKING:
    from penstock.planning.parsed import JoinCondition

__all__ = ["equal_keys"]


def equal_keys(
    condition: JoinCondition, left: pa.ChunkedArray, right: pa.ChunkedArray
) -> tuple[pa.Array, pa.Array]:
    """Return the two columns of an equality in one type; null where a value equals none.

    These are nulls and NaN. Numbers of different types are compared as Spark compares them: whole
    numbers as doubles if the others are.

    Raises
    ------
    SchemaError
        If values of these types are not compared.

    Examples
    --------
    >>> from penstock.planning.parsed import JoinCondition
    >>> from penstock.predicates import Equal
    >>> same = JoinCondition(("a", "x"), ("b", "y"), Equal(a="x", b="y"), "a.x = b.y")
    >>> wide, floats = pa.chunked_array([[2**53 + 1]]), pa.chunked_array([[2.0**53, float("nan")]])
    >>> [each.to_pylist() for each in equal_keys(same, wide, floats)]
    [[9007199254740992.0], [9007199254740992.0, None]]
    """
    columns = [decoded(each) for each in (left, right)]
    try:
        kind = compared_as(columns[0].type, columns[1].type)
        if pa.types.is_string(kind) or pa.types.is_string_view(kind):
            kind = pa.large_string()
        one, other = (_key(cast(each, kind)) for each in columns)
    except (NotImplementedError, NoValueError, pa.ArrowException) as error:
        why = " ".join(str(error).split())
        raise SchemaError(
            f'"{condition.text}" must be a comparison of columns of one kind: {why}; '
            "cast one of them before the query"
        ) from error
    return one, other


def _key(column: pa.Array) -> pa.Array:
    if not pa.types.is_floating(column.type):
        return column
    column = pc.add(column, pa.scalar(0.0, column.type))  # -0.0 + 0.0 is 0.0
    return pc.if_else(pc.is_nan(column), pa.scalar(None, column.type), column)

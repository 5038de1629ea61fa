"""Conditions tested on rows that are joined already, as the engine would test them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.columns import decoded, plain
from penstock.engine.values import common_values
from penstock.predicates import Band, Compare, Equal, Within

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from penstock.engine.values import ValueScale
    from penstock.planning.parsed import JoinCondition
    from penstock.predicates import Predicate

    Values = npt.NDArray[np.generic]
    Mask = npt.NDArray[np.bool_]

__all__ = ["check_condition", "holds"]

# Differences of whole numbers up to this are whole numbers of 64 bits.
_FAR = 2**61

_COMPARISONS: dict[str, Callable[[Values, Values], Mask]] = {
    "<": np.less,
    "<=": np.less_equal,
    "=": np.equal,
    "!=": np.not_equal,
    ">": np.greater,
    ">=": np.greater_equal,
}


def check_condition(condition: JoinCondition, left: pa.DataType, right: pa.DataType) -> None:
    """Raise if columns of these types cannot be compared.

    Raises
    ------
    SchemaError
        With the column.
    """
    if not isinstance(condition.predicate, Equal):
        _scale(condition, left, right)


def holds(condition: JoinCondition, left: pa.ChunkedArray, right: pa.ChunkedArray) -> Mask:
    """Return for which rows a condition holds; for nulls and NaN it never does.

    Parameters
    ----------
    condition
        Between two relations.
    left, right
        Its columns, row by row.

    Examples
    --------
    >>> from penstock.planning.parsed import JoinCondition
    >>> near = JoinCondition(("a", "x"), ("b", "y"), Within(2, a="x", b="y"), "")
    >>> holds(near, pa.chunked_array([[1, 5, None]]), pa.chunked_array([[3, 9, 1]])).tolist()
    [True, False, False]
    """
    predicate = condition.predicate
    if isinstance(predicate, Equal):
        same = pc.fill_null(pc.equal(decoded(left), decoded(right)), fill_value=False)
        return np.asarray(same.to_numpy(zero_copy_only=False), np.bool_)
    scale = _scale(condition, left.type, right.type)
    (x, fine), (y, good) = scale.read(left), scale.read(right)
    valid: Mask = fine & good
    if isinstance(predicate, Compare):
        return valid & _COMPARISONS[predicate.operator](x, y)
    low, high = _bounds(predicate, scale)
    if x.dtype.kind == "f":
        valid &= np.isfinite(x) & np.isfinite(y)
        x, y = np.where(valid, x, 0.0), np.where(valid, y, 0.0)
    elif max(_size(x), _size(y), abs(low), abs(high)) > _FAR:
        x, y = x.astype(object), y.astype(object)
    step = y - x
    return valid & np.asarray((step >= low) & (step <= high), np.bool_)


def _bounds(predicate: Predicate, scale: ValueScale) -> tuple[int | float, int | float]:
    """Return the least and the greatest difference for which a distance or a band holds."""
    match predicate:
        case Within():
            return -scale.at_most(predicate.distance), scale.at_most(predicate.distance)
        case Band():
            return scale.at_least(predicate.low), scale.at_most(predicate.high)
    message = f"no such condition: {predicate!r}"
    raise AssertionError(message)


def _scale(condition: JoinCondition, left: pa.DataType, right: pa.DataType) -> ValueScale:
    return common_values(
        {
            condition.left[0]: (condition.left[1], plain(left)),
            condition.right[0]: (condition.right[1], plain(right)),
        }
    )


def _size(values: Values) -> int:
    return max(abs(int(values.max())), abs(int(values.min()))) if values.size else 0

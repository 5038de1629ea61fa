"""Conditions tested on rows that are joined already, as the engine would test them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.columns import plain
from penstock.engine.values import common_values
from penstock.planning.equal_keys import equal_keys
from penstock.predicates import Band, Compare, Equal, Within

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from penstock.engine.values import ValueScale
    from penstock.planning.parsed import JoinCondition
    from penstock.predicates import Predicate

    Values = npt.NDArray[Any]
    Mask = npt.NDArray[np.bool_]

__all__ = ["Test", "check_condition", "holds"]

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
    if isinstance(condition.predicate, Equal):
        same = pc.fill_null(pc.equal(*equal_keys(condition, left, right)), fill_value=False)
        return np.asarray(same.to_numpy(zero_copy_only=False), np.bool_)
    test = Test(condition, left.type, right.type)
    (x, fine), (y, good) = test.read(left), test.read(right)
    return fine & good & test.holds(x, y)


class Test:
    """A condition that is no equality, on values as the engine reads them.

    Parameters
    ----------
    condition
        Between two relations.
    left, right
        Types of its columns.
    """

    def __init__(self, condition: JoinCondition, left: pa.DataType, right: pa.DataType) -> None:
        self._predicate = condition.predicate
        self._scale = _scale(condition, left, right)

    def read(self, column: pa.ChunkedArray) -> tuple[Values, Mask]:
        """Return the values of a column, and which can fulfil the condition."""
        values, good = self._scale.read(column)
        if values.dtype.kind == "f" and not isinstance(self._predicate, Compare):
            good = good & np.isfinite(values)
            values = np.where(good, values, 0.0)
        return values, good

    def holds(self, x: Values, y: Values) -> Mask:
        """Return for which values of the two columns it holds; `x` may be a single one."""
        if isinstance(self._predicate, Compare):
            return _COMPARISONS[self._predicate.operator](x, y)
        low, high = _bounds(self._predicate, self._scale)
        is_whole = x.dtype.kind != "f"
        if is_whole and max(_size(x), _size(y), abs(low), abs(high)) > _FAR:
            x, y = x.astype(object), y.astype(object)
        step = y - x
        return np.asarray((step >= low) & (step <= high), np.bool_)


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

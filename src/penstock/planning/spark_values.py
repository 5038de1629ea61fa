"""Comparisons and arithmetic of Arrow values as Spark has them, in its ANSI mode.

NaN is equal to itself and greater than any number. A division by zero and a whole number that is
too large are errors. Whole numbers and decimals are compared with floats as doubles. Times without
a zone, and texts that are compared with times, are in UTC, which is the zone of
`penstock.spark.session`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from collections.abc import Callable

    Value: TypeAlias = Any  # an array or a scalar; Arrow has no types
    ColumnOf: TypeAlias = Callable[[str, str], pa.ChunkedArray | pa.Array]

__all__ = [
    "NoValueError",
    "arithmetic",
    "cast",
    "checked",
    "compare",
    "compared_as",
    "concat",
    "divide",
]


class NoValueError(Exception):
    """Raised where Spark raises an error, too: for a division by zero, for example."""


def compare(operator: str, left: Value, right: Value) -> Value:
    """Return a comparison: ``= <> < <= > >=``; null where a side is null.

    >>> numbers = pa.array([1.0, float("nan"), None])
    >>> compare(">", numbers, pa.scalar(0)).to_pylist()
    [True, True, None]
    >>> compare("=", numbers, numbers).to_pylist()
    [True, True, None]
    """
    if operator in {"<", "<="}:
        return compare({"<": ">", "<=": ">="}[operator], right, left)
    if operator == "<>":
        return pc.invert(compare("=", left, right))
    left, right = _alike(left, right)
    plain = {"=": pc.equal, ">": pc.greater, ">=": pc.greater_equal}[operator]
    found = plain(left, right)
    if not pa.types.is_floating(left.type):
        return found
    nan = pc.is_nan(left)
    also = {"=": pc.is_nan(right), ">": pc.invert(pc.is_nan(right)), ">=": pa.scalar(value=True)}
    return pc.or_kleene(found, pc.and_kleene(pc.and_kleene(nan, also[operator]), _valid(right)))


def _valid(value: Value) -> Value:
    """Return true where there is a value, and null elsewhere."""
    return pc.if_else(pc.is_valid(value), pa.scalar(value=True), pa.scalar(None, pa.bool_()))


def compared_as(one: pa.DataType, other: pa.DataType) -> pa.DataType:
    """Return the type in which values of two types are compared.

    Raises
    ------
    NotImplementedError
        If Spark would not compare them, or would read texts as numbers.

    Examples
    --------
    >>> compared_as(pa.int8(), pa.float32()), compared_as(pa.date32(), pa.timestamp("ms"))
    (DataType(double), TimestampType(timestamp[us]))
    """
    if one == other and not pa.types.is_floating(one):
        return one
    for common in (_as_numbers, _as_times, _as_others):
        kind = common(one, other) or common(other, one)
        if kind is not None:
            return kind
    message = f"{one} and {other} are not compared"
    raise NotImplementedError(message)


def _as_numbers(one: pa.DataType, other: pa.DataType) -> pa.DataType | None:
    if not (_is_number(one) and _is_number(other)):
        return None
    if pa.types.is_floating(one) or pa.types.is_floating(other):
        return pa.float64()
    if pa.types.is_decimal(one) or pa.types.is_decimal(other):
        return _common_decimal(one, other)
    return pa.int64()


def _as_times(one: pa.DataType, other: pa.DataType) -> pa.DataType | None:
    kinds = (one, other)
    if pa.types.is_date(one) and pa.types.is_date(other):
        return pa.date32()
    if not (_is_time(one) and _is_time(other)):
        return None
    units = {each.unit for each in kinds if pa.types.is_timestamp(each)}
    has_zone = any(pa.types.is_timestamp(each) and each.tz for each in kinds)
    return pa.timestamp("ns" if "ns" in units else "us", "UTC" if has_zone else None)


def _as_others(one: pa.DataType, other: pa.DataType) -> pa.DataType | None:
    if _is_text(one) and _is_text(other):
        return pa.large_string()
    if _is_bytes(one) and _is_bytes(other):
        return pa.large_binary()
    is_given = pa.types.is_null(one) or (_is_text(one) and _is_time(other))
    return other if is_given else None


def _alike(left: Value, right: Value) -> tuple[Value, Value]:
    kind = compared_as(left.type, right.type)
    return cast(left, kind), cast(right, kind)


def _common_decimal(one: pa.DataType, other: pa.DataType) -> pa.DataType:
    digits = [_digits(each) for each in (one, other)]
    scale = max(scale for _, scale in digits)
    precision = max(precision - scale_ for precision, scale_ in digits) + scale
    return pa.decimal128(precision, scale) if precision <= 38 else pa.decimal256(precision, scale)


def _digits(kind: pa.DataType) -> tuple[int, int]:
    if pa.types.is_decimal(kind):
        return kind.precision, kind.scale
    return {8: 3, 16: 5, 32: 10}.get(kind.bit_width, 20), 0


def arithmetic(operator: str, left: Value, right: Value) -> Value:
    """Return a sum, a difference, a product or a remainder: ``+ - * %``.

    >>> arithmetic("%", pa.array([-5, 5]), pa.scalar(3)).to_pylist()
    [-2, 2]
    """
    if pa.types.is_null(left.type) or pa.types.is_null(right.type):
        left, right = _alike(left, right)
    if not _is_number(left.type) or not _is_number(right.type):
        message = f"{left.type} {operator} {right.type}"
        raise NotImplementedError(message)
    if left.type != right.type and any(map(pa.types.is_floating, (left.type, right.type))):
        left, right = (cast(each, pa.float64()) for each in (left, right))
    if operator == "%":
        return _remainder(left, right)
    found = {"+": pc.add_checked, "-": pc.subtract_checked, "*": pc.multiply_checked}
    return checked(found[operator], left, right)


def divide(left: Value, right: Value) -> Value:
    """Return a quotient, a double.

    >>> divide(pa.array([1, None]), pa.scalar(2)).to_pylist()
    [0.5, None]
    """
    left, right = (cast(each, pa.float64()) for each in (left, right))
    _check_divisor(left, right)
    return pc.divide(left, right)


def _remainder(left: Value, right: Value) -> Value:
    """Return the remainder, which has the sign of the dividend."""
    kind = pc.add(left, right).type  # of several widths the widest
    if pa.types.is_decimal(kind):
        message = "remainders of decimals"
        raise NotImplementedError(message)
    _check_divisor(left, right)
    valid = pc.and_(pc.is_valid(left), pc.is_valid(right))
    x, y = (
        np.asarray(pc.fill_null(cast(each, kind), fill).cast(kind))
        if isinstance(each, pa.Array)
        else (fill if each.as_py() is None else each.as_py())
        for each, fill in ((left, 0), (right, 1))
    )
    with np.errstate(invalid="ignore"):  # the remainder of infinity is NaN
        found = np.fmod(x, np.where(np.equal(y, 0), 1, y))
    if isinstance(left, pa.Scalar) and isinstance(right, pa.Scalar):
        return pa.scalar(found.item() if valid.as_py() else None, kind)
    mask = np.broadcast_to(~np.asarray(valid), found.shape)
    return pa.array(found, kind, mask=mask)


def _check_divisor(left: Value, right: Value) -> None:
    zero = pc.and_(pc.is_valid(left), pc.equal(right, pa.scalar(0, right.type)))
    found = zero.as_py() if isinstance(zero, pa.Scalar) else pc.any(zero).as_py()
    if found:
        message = "division by zero"
        raise NoValueError(message)


def cast(value: Value, kind: pa.DataType) -> Value:
    """Return a value as another type, as CAST does.

    Raises
    ------
    NotImplementedError
        If Spark has another spelling for it, or reads texts that Arrow does not.

    Examples
    --------
    >>> cast(pa.scalar(-1.9), pa.int32()), cast(pa.scalar(" 12 "), pa.int64())
    (<pyarrow.Int32Scalar: -1>, <pyarrow.Int64Scalar: 12>)
    """
    types, own = pa.types, value.type
    if own == kind:
        return value
    if types.is_null(own):
        return pa.scalar(None, kind) if isinstance(value, pa.Scalar) else value.cast(kind)
    if _is_time(kind):
        return _as_time(value, kind)
    if _is_bytes(kind) and _is_bytes(own):
        return value.cast(kind)
    if types.is_floating(kind) and (_is_number(own) or types.is_boolean(own)):
        return value.cast(kind, safe=False)
    if _is_text(kind):
        known = (_is_text, types.is_integer, types.is_boolean)
    else:
        known = (_is_number, _is_text, types.is_boolean)
    if not any(is_one(own) for is_one in known):
        message = f"{own} as {kind}"
        raise NotImplementedError(message)
    if _is_number(kind):
        value = _before_number(value, kind)
    return checked(lambda each: each.cast(kind), value)


def _before_number(value: Value, kind: pa.DataType) -> Value:
    """Return a value so that Arrow casts it to a number as Spark does."""
    types, own = pa.types, value.type
    if _is_text(own):
        return pc.utf8_trim_whitespace(value)
    if types.is_integer(kind) and types.is_floating(own):
        return pc.trunc(value)
    if types.is_integer(kind) and types.is_decimal(own):
        return pc.trunc(value).cast(pa.decimal128(38, 0))
    if types.is_decimal(kind) and types.is_integer(own):  # Arrow asks for room for any of them
        return value.cast(pa.decimal128(min(20 + kind.scale, 38), kind.scale))
    return value


def _as_time(value: Value, kind: pa.DataType) -> Value:
    own = value.type
    if _is_text(own):
        value = value.cast(pa.date32() if pa.types.is_date(kind) else pa.timestamp("us"))
    elif not _is_time(own):
        message = f"{own} as {kind}"
        raise NotImplementedError(message)
    if pa.types.is_date(kind):
        if pa.types.is_timestamp(value.type):
            value = _in_utc(value)
        return value.cast(kind, safe=False)
    if pa.types.is_date(value.type):
        value = value.cast(pa.timestamp("ms"))
    if kind.tz is None:
        value = _in_utc(value)
    return value.cast(kind)


def _in_utc(value: Value) -> Value:
    """Return a timestamp with a zone as one without: the time in UTC."""
    if value.type.tz is None:
        return value
    return value.cast(pa.timestamp(value.type.unit, "UTC")).cast(pa.timestamp(value.type.unit))


def concat(values: list[Value]) -> Value:
    """Return texts one after the other; null if one is null.

    >>> concat([pa.array(["a", None]), pa.scalar(1)]).to_pylist()
    ['a1', None]
    """
    texts = [cast(each, pa.large_string()) for each in values]
    return pc.binary_join_element_wise(*texts, pa.scalar("", pa.large_string()))


def checked(compute: Callable[..., Value], *values: Value) -> Value:
    """Return what a function computes; what Arrow calls invalid has no value."""
    try:
        return compute(*values)
    except pa.ArrowInvalid as error:
        raise NoValueError(" ".join(str(error).split())) from error


def _is_number(kind: pa.DataType) -> bool:
    types = pa.types
    return any(is_one(kind) for is_one in (types.is_integer, types.is_floating, types.is_decimal))


def _is_text(kind: pa.DataType) -> bool:
    types = pa.types
    texts = (types.is_string, types.is_large_string, types.is_string_view)
    return any(is_one(kind) for is_one in texts)


def _is_time(kind: pa.DataType) -> bool:
    return any(is_one(kind) for is_one in (pa.types.is_timestamp, pa.types.is_date))


def _is_bytes(kind: pa.DataType) -> bool:
    types = pa.types
    kinds = (types.is_binary, types.is_large_binary, types.is_fixed_size_binary)
    return any(is_one(kind) for is_one in kinds)

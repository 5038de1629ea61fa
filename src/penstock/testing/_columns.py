"""Times and values of a join's tables, as Python numbers that compare exactly."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from penstock.columns import at_midnight
from penstock.errors import SchemaError, must
from penstock.predicates import Band, Number, Within
from penstock.tables import UNITS_PER_SECOND

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from penstock.spec import Specification


def times_of(column: pa.ChunkedArray, units: int | None) -> list[int | float | None]:
    """Return times as numbers, in `units` per second if they are timestamps; None if not usable."""
    times = _scaled(at_midnight(column), units) if units is not None else _numbers(column)
    return [time if time is not None and math.isfinite(time) else None for time in times]


def values_of(column: pa.ChunkedArray) -> list[Any]:
    """Return values that compare as the predicates define it; None for null and NaN."""
    kind = column.type
    if pa.types.is_timestamp(kind) or pa.types.is_duration(kind):
        return _scaled(column, 10**9)
    if pa.types.is_floating(kind):
        return [None if value is None or math.isnan(value) else value for value in _numbers(column)]
    values: list[Any] = column.to_pylist()
    return values


def arithmetic(join: Specification, tables: Mapping[str, pa.Table]) -> Callable[[Any], Any]:
    """Return the conversion of values and bounds before subtraction: to float, Decimal or none."""
    if not isinstance(join.on, Within | Band):
        return _as_it_is
    kinds = []
    for name in join.streams:
        column = join.on.columns_of(name)[0]
        kind = tables[name].schema.field(column).type
        if not (
            pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
        ):
            label = f'column "{column}" of stream "{name}"'
            hint = "Within and Band compare differences, which only numbers have"
            raise SchemaError(must(label, "a number", str(kind), hint))
        kinds.append(kind)
    if any(map(pa.types.is_floating, kinds)):
        return float
    if any(map(pa.types.is_decimal, kinds)):
        return _as_decimal
    return _as_it_is


def _scaled(column: pa.ChunkedArray, units: int) -> list[Any]:
    # Whole numbers of a unit, not datetimes, which would lose nanoseconds.
    scale = units // UNITS_PER_SECOND[column.type.unit]
    counts = column.cast(pa.int64()).to_pylist()
    return [None if count is None else count * scale for count in counts]


def _numbers(column: pa.ChunkedArray) -> list[Any]:
    exact = pa.types.is_integer(column.type)
    numbers: list[Any] = (column if exact else column.cast(pa.float64())).to_pylist()
    return numbers


def _as_it_is(value: Any) -> Any:  # noqa: ANN401 -- a value of any column
    return value


def _as_decimal(value: Number) -> Decimal:
    # A bound of 0.3 means three tenths, not the float next to it.
    return Decimal(repr(value)) if isinstance(value, float) else Decimal(value)

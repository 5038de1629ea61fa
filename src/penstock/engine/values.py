"""Columns of `Within`, `Band` and `Compare` as numbers that the kernels can compare.

Whole numbers stay as they are, and decimals become whole numbers of their last place, so both
compare exactly. If one stream has floating-point numbers, all values are compared as such.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal, localcontext
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from penstock.columns import as_numpy, decoded, plain
from penstock.errors import SchemaError, must

if TYPE_CHECKING:
    from collections.abc import Mapping

    from penstock.engine.arrays import Array, DType, Mask
    from penstock.predicates import Number

# Decimals of up to 18 digits fit a 64-bit integer.
_MOST_DIGITS = 18
# 1 / width must be finite, with a wide margin.
_NARROWEST = 1e-150
# Bounds on whole numbers must be 64-bit whole numbers too.
_FURTHEST = 2**63


@dataclass(frozen=True)
class ValueScale:
    """The unit of the values: floats, or whole numbers of 10**-scale."""

    floating: bool
    scale: int = 0

    @property
    def dtype(self) -> DType:
        """Type of a value inside the kernels."""
        return np.dtype(np.float64 if self.floating else np.int64)

    def read(self, column: pa.ChunkedArray) -> tuple[Array, Mask]:
        """Return a column's values in this scale, and which can match: not null, not NaN."""
        kind = plain(column.type)
        if self.floating:
            if pa.types.is_decimal(kind):
                column = decoded(column).cast(pa.float64())
            values, good = as_numpy(column, self.dtype)
            good &= ~np.isnan(values)
            return values, good
        if pa.types.is_decimal(kind):
            shift = self.scale - kind.scale
            # The underlying whole number: 12.50 with scale 2 is 1250.
            whole = decoded(column).cast(pa.decimal128(38, kind.scale))
            low_words = np.frombuffer(whole.buffers()[1], np.int64)[::2]
            good = whole.is_valid().to_numpy(zero_copy_only=False)
            values = np.where(good, low_words[whole.offset : whole.offset + len(whole)], 0)
        else:
            shift = self.scale
            values, good = as_numpy(column, self.dtype)
        if shift:
            # Values beyond any decimal of 18 digits: it is enough that they compare as larger.
            most = 2**63 - 1
            limit = most // 10**shift
            inside = (values <= limit) & (values >= -limit)
            scaled = np.where(inside, values, 0) * 10**shift
            values = np.where(inside, scaled, np.where(values > 0, most, -most))
        return values, good

    def at_least(self, number: Number) -> int | float:
        """Return the least value of this scale that is not below a number."""
        return self._round(number, ROUND_CEILING)

    def at_most(self, number: Number) -> int | float:
        """Return the greatest value of this scale that is not above a number.

        >>> (
        ...     ValueScale(floating=False).at_most(2.5),
        ...     ValueScale(floating=False, scale=2).at_most(2.5),
        ... )
        (2, 250)
        """
        return self._round(number, ROUND_FLOOR)

    def _round(self, number: Number, rounding: str) -> int | float:
        if self.floating:
            return float(number)
        exact = Decimal(repr(number)) if isinstance(number, float) else Decimal(number)
        with localcontext(prec=400):  # a float has up to 309 digits before the point
            whole = int(exact.scaleb(self.scale).to_integral_value(rounding=rounding))
        if abs(whole) >= _FURTHEST:
            raise SchemaError(
                must(
                    "a distance between whole numbers or decimals",
                    "below 2**63 units of their last place",
                    number,
                    "cast the columns to double to compare them at such distances",
                )
            )
        return whole


def common_values(columns: Mapping[str, tuple[str, pa.DataType]]) -> ValueScale:
    """Return the scale in which all streams' columns are compared.

    Raises
    ------
    SchemaError
        If a column is not numeric, or a decimal has too many digits.
    """
    floating, scale, digits = False, 0, 0
    for stream, (column, type_) in columns.items():
        kind = plain(type_)
        if pa.types.is_uint64(kind):
            raise SchemaError(
                must(
                    f'column "{column}" of stream "{stream}"',
                    "a signed number to be compared",
                    str(type_),
                    "cast it to int64 or to double",
                )
            )
        if not _is_number(kind):
            raise SchemaError(
                must(
                    f'column "{column}" of stream "{stream}"',
                    "numeric to be compared",
                    str(type_),
                    "cast it, or compare another column",
                )
            )
        floating |= pa.types.is_floating(kind)
        if pa.types.is_decimal(kind):
            scale = max(scale, kind.scale)
            digits = max(digits, kind.precision - kind.scale)
    for stream, (column, type_) in columns.items():
        kind = plain(type_)
        if pa.types.is_decimal(kind) and not floating and digits + scale > _MOST_DIGITS:
            raise SchemaError(
                must(
                    f'column "{column}" of stream "{stream}"',
                    f"a decimal of at most {_MOST_DIGITS} digits, all streams' scales considered",
                    str(type_),
                    "cast it to double or to a decimal of fewer digits",
                )
            )
    if scale and not floating:
        _check_whole(columns, scale)
    return ValueScale(floating, 0 if floating else scale)


def _check_whole(columns: Mapping[str, tuple[str, pa.DataType]], scale: int) -> None:
    """Raise if two columns have whole numbers too large to count in the decimals' last place.

    One such column is fine: its large numbers only need to compare as larger than any decimal.
    But large numbers of two columns would have to be compared with each other.
    """
    wide = [
        f'"{column}" of stream "{stream}"'
        for stream, (column, type_) in columns.items()
        if pa.types.is_int64(plain(type_))
    ]
    if len(wide) > 1:
        raise SchemaError(
            f"columns {' and '.join(wide)} must be narrower than int64 to be compared exactly "
            f"beside decimals; cast them to int32 or to a decimal of at most "
            f"{_MOST_DIGITS - scale} digits"
        )


def bucket_width(scale: ValueScale, low: float, high: float) -> int | float:
    """Return the width of value buckets for a band: the band's own, or a small one.

    A probe reads the buckets that its band touches, so narrower buckets never read more rows.
    """
    width = high - low
    if not scale.floating:
        return max(1, min(int(width), _FURTHEST - 1))
    if width > _NARROWEST and math.isfinite(width):
        return width
    return max(1.0, abs(low)) / 1024


def _is_number(kind: pa.DataType) -> bool:
    return (
        pa.types.is_integer(kind)
        or pa.types.is_floating(kind)
        or pa.types.is_decimal(kind)
        or pa.types.is_null(kind)
    )

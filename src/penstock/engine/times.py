"""Time columns: the unit in which a join counts time, and Arrow columns as numbers of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.columns import as_numpy, at_midnight, plain
from penstock.engine.kernels.layout import TIME_LIMIT
from penstock.errors import SchemaError, must

if TYPE_CHECKING:
    from collections.abc import Mapping

    from penstock.engine.arrays import Array, DType, Mask

TIME_TYPES = "a timestamp, a date or a number"
"""What a time column may hold, in words."""

_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


@dataclass(frozen=True)
class TimeScale:
    """How a join counts time: timestamps in one unit, or plain numbers; dates are timestamps.

    Attributes
    ----------
    type
        Arrow type of the result's ``time`` column.
    unit
        ``"us"`` or ``"ns"`` for timestamps, None for plain numbers.
    """

    type: pa.DataType
    unit: str | None

    @property
    def units_per_second(self) -> int | None:
        """Units in a second, None for plain numbers."""
        return None if self.unit is None else _PER_SECOND[self.unit]

    @property
    def dtype(self) -> DType:
        """Type of a time inside the kernels."""
        return np.dtype(np.float64 if pa.types.is_floating(self.type) else np.int64)

    def read(self, column: pa.ChunkedArray) -> tuple[Array, Mask]:
        """Return a column's times in this scale, and which of them can be used.

        Nulls, NaN, infinities, and times of 2**61 units or more away from 0 cannot be used. Such
        times are far beyond any clock, and computing with them could overflow.
        """
        column = at_midnight(column)
        kind = plain(column.type)
        if pa.types.is_timestamp(kind):
            raw, good = as_numpy(pc.cast(column, pa.int64()), np.dtype(np.int64))
            factor = _PER_SECOND[self.unit or "us"] // _PER_SECOND[kind.unit]
            good &= np.abs(raw.astype(np.float64)) < TIME_LIMIT / factor
            return (raw if factor == 1 else np.where(good, raw, 0) * factor), good
        if pa.types.is_uint64(kind):
            raw, good = as_numpy(column, np.dtype(np.uint64))
            good &= raw < np.uint64(TIME_LIMIT)
            return np.where(good, raw, np.uint64(0)).astype(self.dtype), good
        times, good = as_numpy(column, self.dtype)
        if self.dtype.kind == "f":
            good &= np.abs(times) < TIME_LIMIT  # false for NaN too
        else:
            good &= (times < TIME_LIMIT) & (times > -TIME_LIMIT)
        return times, good

    def to_arrow(self, times: Array) -> pa.Array:
        """Return times as the result's ``time`` column."""
        return pa.array(times).cast(self.type)


def common_scale(
    columns: Mapping[str, tuple[str, pa.DataType]], *, of_clock: bool = False
) -> TimeScale:
    """Return the scale for the time columns of all streams.

    Parameters
    ----------
    columns
        The name and the Arrow type of each stream's time column.
    of_clock
        Whether the windows are durations of the clock. This decides if all columns are of Arrow's
        null type, as they may be in tables without rows.

    Raises
    ------
    SchemaError
        If a column does not hold times, or the columns cannot be compared.
    """
    kinds: dict[str, pa.DataType] = {}
    for stream, (column, type_) in columns.items():
        kind = plain(type_)
        if not is_time(kind):
            raise SchemaError(
                must(
                    f'time column "{column}" of stream "{stream}"',
                    TIME_TYPES,
                    str(type_),
                    "cast it, or name another column in Stream(time=...)",
                )
            )
        if not pa.types.is_null(kind):
            kinds[stream] = kind
    if not kinds:
        return TimeScale(pa.timestamp("us"), "us") if of_clock else TimeScale(pa.int64(), None)
    first, kind = next(iter(kinds.items()))
    for stream, other in kinds.items():
        if _family(other) != _family(kind):
            raise SchemaError(
                f'time columns of streams "{first}" ({kind}) and "{stream}" ({other}) must be '
                f"comparable: all timestamps with a time zone, all without one (or dates), or all "
                f"numbers; cast one of them"
            )
    if _family(kind) != "number":
        unit = "ns" if any(getattr(k, "unit", "") == "ns" for k in kinds.values()) else "us"
        return TimeScale(pa.timestamp(unit, getattr(kind, "tz", None)), unit)
    floating = any(pa.types.is_floating(k) for k in kinds.values())
    return TimeScale(pa.float64() if floating else pa.int64(), None)


def is_time(kind: pa.DataType) -> bool:
    """Return whether a column of this type can hold times; one of nulls can."""
    return (
        pa.types.is_timestamp(kind)
        or pa.types.is_date(kind)
        or pa.types.is_integer(kind)
        or pa.types.is_floating(kind)
        or pa.types.is_null(kind)
    )


def _family(kind: pa.DataType) -> str:
    if pa.types.is_date(kind):
        return "local"
    if not pa.types.is_timestamp(kind):
        return "number"
    return "instant" if kind.tz else "local"

"""Checks of a sampled join that is to be estimated from, and look-up of its columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812  # as in Spark's documentation
from pyspark.sql.types import (
    DataType,
    IntegralType,
    NumericType,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from penstock.aggregates.request import MICROSECONDS, NOT_SAMPLED, find_path
from penstock.errors import SchemaError, must
from penstock.spark.frames import WATERMARK

if TYPE_CHECKING:
    from collections.abc import Iterator

    from penstock.aggregates.request import EstimateRequest, Windows
    from penstock.durations import DurationLike


@dataclass(frozen=True)
class FoundColumn:
    """A column of a frame: the name as requested, its last part, and the column itself."""

    requested: str
    name: str
    column: Column
    type: DataType


def check_sampled(df: object, every: DurationLike | None) -> None:
    """Check that a frame is a sampled join that can be estimated from.

    Raises
    ------
    SchemaError
        If it is no frame, lacks a column, or is streaming without windows or watermark.
    """
    if not isinstance(df, DataFrame):
        raise SchemaError(
            must(
                "df",
                "a DataFrame of Spark, or an Arrow table",
                type(df).__name__,
                "give the result of Join.stream or Join.batch, or the table of Join.replay",
            )
        )
    kinds = {field.name: field.dataType for field in df.schema}
    needed = ["weight", "cluster", *(["time"] if every is not None else [])]
    for name in needed:
        if name not in kinds:
            raise SchemaError(
                must("df", f'a frame with a column "{name}"', df.columns, NOT_SAMPLED)
            )
    if not isinstance(kinds["weight"], NumericType):
        raise SchemaError(
            must('column "weight"', "of numbers", kinds["weight"].simpleString(), NOT_SAMPLED)
        )
    if df.isStreaming:
        _check_streaming(df, every)


def _check_streaming(df: DataFrame, every: DurationLike | None) -> None:
    if every is None:
        raise SchemaError(
            must(
                "every",
                "given for a streaming frame, whose groups would never be complete otherwise",
                None,
                'write every="10 minutes", or estimate from the rows that the stream has written',
            )
        )
    time = df.schema["time"]
    if not isinstance(time.dataType, TimestampType | TimestampNTZType):
        raise SchemaError(
            must(
                'column "time" of a streaming frame',
                "a timestamp",
                time.dataType.simpleString(),
                "use timestamps as the streams' time columns: Spark has no windows of other times",
            )
        )
    if WATERMARK not in (time.metadata or {}):
        raise SchemaError(
            'column "time" of a streaming frame must have a watermark, which says when a window is '
            "complete; got none; use timestamps with a time zone (TIMESTAMP, not TIMESTAMP_NTZ) as "
            "the streams' time columns, and keep the join's own time column"
        )


def find_column(df: DataFrame, requested: str, what: str) -> FoundColumn:
    """Find a column, or a field within one, by a name such as ``"bids.price"``.

    Raises
    ------
    SchemaError
        If there is none.
    """
    kinds = dict(reversed(list(_paths(df.schema))))
    path = find_path(reversed(kinds), requested, what)
    column = F.col(".".join(f"`{part.replace('`', '``')}`" for part in path))
    return FoundColumn(requested, path[-1], column, kinds[path])


def find_number_column(df: DataFrame, requested: str, what: str) -> FoundColumn:
    """Find a column of numbers.

    Raises
    ------
    SchemaError
        If there is none, or it is not of numbers.
    """
    found = find_column(df, requested, what)
    if not isinstance(found.type, NumericType):
        raise SchemaError(
            must(
                f'"{requested}" of {what}',
                "a column of numbers",
                found.type.simpleString(),
                'cast it, as in df.withColumn("number", F.col(...).cast("double")), and use that',
            )
        )
    return found


def _paths(struct: StructType) -> Iterator[tuple[tuple[str, ...], DataType]]:
    """Yield the paths of all columns and of all fields within them, outer ones first."""
    for field in struct:
        yield (field.name,), field.dataType
    for field in struct:
        if isinstance(field.dataType, StructType):
            for path, kind in _paths(field.dataType):
                yield (field.name, *path), kind


def window_column(df: DataFrame, request: EstimateRequest) -> Column | None:
    """Return the windows of each row, as rows of their own with start and end; None without any.

    Raises
    ------
    SchemaError
        If the windows' length does not fit the type of the time.
    SpecificationError
        If it is not above zero.
    """
    if request.every is None:
        return None
    kind = df.schema["time"].dataType
    if isinstance(kind, TimestampType | TimestampNTZType):
        windows = request.windows(MICROSECONDS, 'column "time" is a timestamp')
        assert windows is not None  # noqa: S101  # there is `every`
        units = [f"{each} microseconds" for each in (windows.length, windows.slide)]
        return F.window(F.col("time"), *units)
    if not isinstance(kind, NumericType):
        raise SchemaError(
            must('column "time"', "a timestamp or a number", kind.simpleString(), NOT_SAMPLED)
        )
    windows = request.windows(None, 'column "time" is a number')
    assert windows is not None  # noqa: S101  # there is `every`
    return F.explode(_windows_of_numbers(kind, windows))


def _windows_of_numbers(kind: DataType, windows: Windows) -> Column:
    """Return an array of the windows that a number is in: none if it is null."""
    time = F.col("time")
    length, slide = windows.length, windows.slide
    if isinstance(kind, IntegralType) and isinstance(length, int) and isinstance(slide, int):
        # Without a division, so that whole numbers above 2**53 are not rounded.
        time, unit = time.cast("bigint"), "bigint"
        last = time - F.pmod(time, F.lit(slide).cast("bigint"))
        earlier = F.sequence(F.lit(0), F.lit(windows.overlap - 1))
        starts = F.transform(earlier, lambda i: last - i * F.lit(slide).cast("bigint"))
    else:
        time, unit = time.cast("double"), "double"
        number = F.floor(time / F.lit(float(slide)))
        earlier = F.sequence(F.lit(0), F.lit(windows.overlap - 1))
        starts = F.transform(earlier, lambda i: (number - i) * F.lit(float(slide)))
        last = number * F.lit(float(slide))
    # The last window that has begun is the row's in any case, however fractions are rounded.
    span = F.lit(length).cast(unit)
    open_then = F.filter(starts, lambda start: (start == last) | (start + span > time))
    made = F.transform(
        open_then, lambda start: F.struct(start.alias("start"), (start + span).alias("end"))
    )
    return F.when(time.isNotNull(), made)

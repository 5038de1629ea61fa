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

from penstock.durations import DurationLike, to_units
from penstock.errors import SchemaError, SpecificationError, did_you_mean, must
from penstock.spark.frames import WATERMARK

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_HINT = "is this the result of a join with goal=Sample()?"
_MICROSECONDS = 10**6  # in a second: the unit of Spark's timestamps


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
                "a DataFrame of Spark",
                type(df).__name__,
                "give the result of Join.stream or Join.batch",
            )
        )
    kinds = {field.name: field.dataType for field in df.schema}
    needed = ["weight", "cluster", *(["time"] if every is not None else [])]
    for name in needed:
        if name not in kinds:
            raise SchemaError(must("df", f'a frame with a column "{name}"', df.columns, _HINT))
    if not isinstance(kinds["weight"], NumericType):
        raise SchemaError(
            must('column "weight"', "of numbers", kinds["weight"].simpleString(), _HINT)
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
    for path, kind in _paths(df.schema):
        if ".".join(path) == requested:
            column = F.col(".".join(f"`{part.replace('`', '``')}`" for part in path))
            return FoundColumn(requested, path[-1], column, kind)
    names = [".".join(path) for path, _ in _paths(df.schema)]
    last = [name for name in names if name.rpartition(".")[2] == requested]
    hint = 'write "stream.column", or a column\'s name'
    hint = f'did you mean "{last[0]}"?' if last else did_you_mean(requested, reversed(names), hint)
    raise SchemaError(must(f'"{requested}" of {what}', f"one of {_listed(names)}", requested, hint))


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


def _listed(names: list[str], most: int = 12) -> str:
    return ", ".join(names[:most]) + (", ..." if len(names) > most else "")


def check_result_names(named: Iterable[tuple[str, str]]) -> None:
    """Check that the columns of the result have different names.

    Parameters
    ----------
    named
        Each column's name in the result, and where it comes from in the user's words.

    Raises
    ------
    SpecificationError
        If two have names that are the same to Spark.
    """
    seen: dict[str, str] = {}
    for name, source in named:
        other = seen.setdefault(name.casefold(), source)
        if other is not source:
            raise SpecificationError(
                must(
                    "names of the result's columns",
                    "different",
                    f"{name} from {other} and from {source}",
                    'name each once, or rename one, as in df.withColumn("bid_price", '
                    'F.col("bids.price")), and use that',
                )
            )


def window_column(df: DataFrame, every: DurationLike | None) -> Column | None:
    """Return the window of each row as a struct of start and end; None without `every`.

    Raises
    ------
    SchemaError
        If the windows' length does not fit the type of the time.
    SpecificationError
        If it is not above zero.
    """
    if every is None:
        return None
    kind = df.schema["time"].dataType
    time = F.col("time")
    if isinstance(kind, TimestampType | TimestampNTZType):
        length = to_units(every, _MICROSECONDS, "every", 'column "time" is a timestamp')
        _check_length(length, every, "a microsecond or more")
        return F.window(time, f"{length} microseconds")
    if not isinstance(kind, NumericType):
        raise SchemaError(
            must('column "time"', "a timestamp or a number", kind.simpleString(), _HINT)
        )
    step = to_units(every, None, "every", 'column "time" is a number')
    _check_length(step, every, "more than zero")
    if isinstance(kind, IntegralType) and isinstance(step, int):
        # Without a division, so that whole numbers above 2**53 are not rounded.
        whole = time.cast("bigint")
        start = whole - F.pmod(whole, F.lit(step).cast("bigint"))
    else:
        start = F.floor(time.cast("double") / F.lit(float(step))) * F.lit(float(step))
    window = F.struct(start.alias("start"), (start + F.lit(step)).alias("end"))
    return F.when(time.isNotNull(), window)


def _check_length(length: float, every: DurationLike, least: str) -> None:
    if length <= 0:
        raise SpecificationError(must("every", least, every, 'write it as "10 minutes"'))

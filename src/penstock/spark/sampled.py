"""What a sampled join must look like to be estimated from, and how its columns are found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812  # as Spark's own documentation has it
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

_IS_IT = "is this the result of a join with goal=Sample()?"
_MICROSECONDS = 10**6  # in a second: the unit of Spark's timestamps


@dataclass(frozen=True)
class Found:
    """A column of a frame: as it was asked for, its last name, and itself."""

    given: str
    name: str
    column: Column
    type: DataType


def check_sampled(df: object, every: DurationLike | None) -> None:
    """Refuse what is not a sampled join, or cannot be estimated from in this way.

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
                "give what Join.stream or Join.batch gave",
            )
        )
    kinds = {field.name: field.dataType for field in df.schema}
    needed = ["weight", "cluster", *(["time"] if every is not None else [])]
    for name in needed:
        if name not in kinds:
            raise SchemaError(must("df", f'a frame with a column "{name}"', df.columns, _IS_IT))
    if not isinstance(kinds["weight"], NumericType):
        raise SchemaError(
            must('column "weight"', "of numbers", kinds["weight"].simpleString(), _IS_IT)
        )
    if df.isStreaming:
        _check_streaming(df, every)


def _check_streaming(df: DataFrame, every: DurationLike | None) -> None:
    if every is None:
        raise SchemaError(
            must(
                "every",
                "given for a streaming frame, whose groups never end otherwise",
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


def find(df: DataFrame, given: str, what: str) -> Found:
    """Find a column, or a field within one, by a name such as ``"bids.price"``.

    Raises
    ------
    SchemaError
        If there is none.
    """
    for path, kind in _paths(df.schema):
        if ".".join(path) == given:
            column = F.col(".".join(f"`{part.replace('`', '``')}`" for part in path))
            return Found(given, path[-1], column, kind)
    names = [".".join(path) for path, _ in _paths(df.schema)]
    last = [name for name in names if name.rpartition(".")[2] == given]
    hint = 'write "stream.column", or a column\'s name'
    hint = f'did you mean "{last[0]}"?' if last else did_you_mean(given, reversed(names), hint)
    raise SchemaError(must(f'"{given}" of {what}', f"one of {_listed(names)}", given, hint))


def find_number(df: DataFrame, given: str, what: str) -> Found:
    """As `find`, and refuse what is not a number."""
    found = find(df, given, what)
    if not isinstance(found.type, NumericType):
        raise SchemaError(
            must(
                f'"{given}" of {what}',
                "a column of numbers",
                found.type.simpleString(),
                'cast it, as in df.withColumn("number", F.col(...).cast("double")), and name that',
            )
        )
    return found


def _paths(struct: StructType) -> Iterator[tuple[tuple[str, ...], DataType]]:
    """Give all columns, and all fields within them, by their paths: outer ones first."""
    for field in struct:
        yield (field.name,), field.dataType
    for field in struct:
        if isinstance(field.dataType, StructType):
            for path, kind in _paths(field.dataType):
                yield (field.name, *path), kind


def _listed(names: list[str], most: int = 12) -> str:
    return ", ".join(names[:most]) + (", ..." if len(names) > most else "")


def check_names(named: Iterable[tuple[str, str]]) -> None:
    """Refuse two columns of one name in the result.

    Parameters
    ----------
    named
        Each column's name in the result, and what it comes from in the user's words.

    Raises
    ------
    SpecificationError
        If two have names that Spark takes for the same.
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
                    'F.col("bids.price")), and name that',
                )
            )


def window_of(df: DataFrame, every: DurationLike | None) -> Column | None:
    """Give the window of each row as a struct of start and end; None if none is asked for.

    Raises
    ------
    SchemaError
        If the windows' length does not go with the kind of time.
    SpecificationError
        If it is nothing.
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
            must('column "time"', "a timestamp or a number", kind.simpleString(), _IS_IT)
        )
    step = to_units(every, None, "every", 'column "time" is a number')
    _check_length(step, every, "more than zero")
    if isinstance(kind, IntegralType) and isinstance(step, int):
        # Without a division: whole numbers above 2**53 stay as they are.
        whole = time.cast("bigint")
        start = whole - F.pmod(whole, F.lit(step).cast("bigint"))
    else:
        start = F.floor(time.cast("double") / F.lit(float(step))) * F.lit(float(step))
    window = F.struct(start.alias("start"), (start + F.lit(step)).alias("end"))
    return F.when(time.isNotNull(), window)


def _check_length(length: float, every: DurationLike, least: str) -> None:
    if length <= 0:
        raise SpecificationError(must("every", least, every, 'write it as "10 minutes"'))

"""Checks of the frames that a join is given, and the type of the frame that it returns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import (
    ArrayType,
    DataType,
    DoubleType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from penstock.errors import SchemaError, must

if TYPE_CHECKING:
    from penstock.engine.plan import Plan

# Spark marks a column that has a watermark by this key in its metadata.
WATERMARK = "spark.watermarkDelayMs"

COMPLETE = "__complete"
"""Last column of results that feed another join: null in results, and how far they are in rows
that are none."""


def check_frames(names: Iterable[str], frames: object, *, streaming: bool) -> None:
    """Check that all frames are frames of the right kind.

    Raises
    ------
    SchemaError
        If one is not. Whether there is a frame for each stream is checked by `bind`.
    """
    if not isinstance(frames, Mapping):
        raise SchemaError(
            must(
                "frames",
                "a DataFrame for each stream, by its name",
                type(frames).__name__,
                f"write {{{', '.join(f'{name!r}: ...' for name in names)}}}",
            )
        )
    for name, frame in frames.items():
        if not isinstance(frame, DataFrame):
            raise SchemaError(
                must(
                    f'frame of stream "{name}"',
                    "a DataFrame of Spark",
                    type(frame).__name__,
                    "for a pyarrow.Table see Join.replay",
                )
            )
        if frame.isStreaming != streaming:
            kind, got, instead = ("streaming", "bounded", "batch"), "spark.read", "spark.readStream"
            if not streaming:
                kind, got, instead = ("bounded", "streaming", "stream"), instead, got
            raise SchemaError(
                f'frame of stream "{name}" must be {kind[0]}; got a {kind[1]} one, as {got} gives; '
                f"use {instead}, or Join.{kind[2]}"
            )
        for field in frame.schema:
            if streaming and WATERMARK in (field.metadata or {}):
                raise SchemaError(
                    f'frame of stream "{name}" must come without a watermark; got one on column '
                    f'"{field.name}"; leave out withWatermark: Stream(lateness=...) says how late '
                    f"rows may be, and the result has a watermark of its own (to join the result "
                    f"of a join, give that join's stream(...) watermark=False, or write a Query)"
                )


def arrow_schemas(frames: Mapping[str, DataFrame]) -> dict[str, pa.Schema]:
    """Return the Arrow schemas of the frames.

    Raises
    ------
    SchemaError
        If a column is of a type that Arrow does not have.
    """
    schemas = {}
    for name, frame in frames.items():
        fields = []
        for field in frame.schema:
            if field.name == COMPLETE:
                continue
            try:
                fields.extend(to_arrow_schema(StructType([field]), timezone="UTC"))
            except (PySparkException, pa.ArrowException, ValueError) as error:
                raise SchemaError(
                    must(
                        f'column "{field.name}" of stream "{name}"',
                        "of a type that Spark can hand to Python",
                        field.dataType.simpleString(),
                        "cast it to a plain type, such as string, or leave it out",
                    )
                ) from error
        # Whether a column is nullable matters to neither the engine nor the saved state.
        schemas[name] = pa.schema([pa.field(field.name, field.type) for field in fields])
    return schemas


def check_collations(plan: Plan, frames: Mapping[str, DataFrame]) -> None:
    """Check that the columns of the predicate are compared as Spark would compare them.

    Raises
    ------
    SchemaError
        If one has a collation: text of different bytes can be equal then. Other columns may have
        one.
    """
    for side in plan.sides:
        for field in frames[side.name].schema:
            kind = field.dataType
            if field.name not in side.columns or not isinstance(kind, StringType):
                continue
            if not kind.isUTF8BinaryCollation():
                raise SchemaError(
                    must(
                        f'column "{field.name}" of stream "{side.name}"',
                        "text without a collation to be compared: keys are equal byte by byte",
                        kind.simpleString(),
                        f"join on a column that is equal in that way, such as "
                        f'F.collate(F.lower("{field.name}"), "UTF8_BINARY")',
                    )
                )


def result_type(
    plan: Plan, frames: Mapping[str, DataFrame], *, watermark: bool = True
) -> StructType:
    """Return Spark's type of the results: a struct for each stream, ``time`` and ``weight``.

    A sample also has ``cluster``, and a join by importance has ``importance``. ``time`` is marked
    as a column with a watermark, unless it has none.
    """
    streams = [StructField(side.name, nullable(frames[side.name].schema)) for side in plan.sides]
    kind = plan.time.type
    time: DataType = LongType() if pa.types.is_integer(kind) else DoubleType()
    # The watermark of operators after the join is on this column; see `stream`.
    metadata = None
    if has_watermark(plan):
        time, metadata = TimestampType(), {WATERMARK: 0} if watermark else None
    elif pa.types.is_timestamp(kind):
        time = TimestampNTZType()
    return StructType(
        [
            *streams,
            StructField("time", time, metadata=metadata),
            StructField("weight", DoubleType()),
            *([StructField("cluster", LongType())] if plan.is_sample else []),
            *([StructField("importance", DoubleType())] if plan.has_importance else []),
        ]
    )


def has_watermark(plan: Plan) -> bool:
    """Return whether the result has a watermark: only timestamps with a time zone can have one."""
    return bool(pa.types.is_timestamp(plan.time.type) and plan.time.type.tz is not None)


def nullable(kind: DataType) -> DataType:
    """Make all fields nullable: Spark cannot know which ones from Python have no nulls."""
    if isinstance(kind, StructType):
        return StructType(
            [StructField(f.name, nullable(f.dataType), metadata=f.metadata) for f in kind]
        )
    if isinstance(kind, ArrayType):
        return ArrayType(nullable(kind.elementType))
    if isinstance(kind, MapType):
        return MapType(kind.keyType, nullable(kind.valueType))
    return kind

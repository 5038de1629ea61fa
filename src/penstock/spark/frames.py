"""What frames a join is given, and what frame it gives."""

from __future__ import annotations

from collections.abc import Mapping
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
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from penstock.errors import SchemaError, must

if TYPE_CHECKING:
    from penstock.engine.plan import Plan
    from penstock.spec import Specification

# How Spark marks a column by which watermarks go.
WATERMARK = "spark.watermarkDelayMs"


def check_frames(spec: Specification, frames: object, *, streaming: bool) -> None:
    """Refuse what is no frame, or one of the wrong kind.

    Raises
    ------
    SchemaError
        If one is not a frame of the right kind. Which streams there must be is for `bind` to say.
    """
    if not isinstance(frames, Mapping):
        raise SchemaError(
            must(
                "frames",
                "a DataFrame for each stream, by its name",
                type(frames).__name__,
                f"write {{{', '.join(f'{name!r}: ...' for name in spec.names)}}}",
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
                    f"rows may be, and the result has a watermark of its own (so the result of one "
                    f"join can feed another only through files, or whatever else lies in between)"
                )


def arrow_schemas(frames: Mapping[str, DataFrame]) -> dict[str, pa.Schema]:
    """Give the frames' schemas as Arrow's.

    Raises
    ------
    SchemaError
        If a column is of a type that Arrow does not have.
    """
    schemas = {}
    for name, frame in frames.items():
        fields = []
        for field in frame.schema:
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
        # Null or not is for Spark to know; to the engine, and to saved state, it is all one.
        schemas[name] = pa.schema([pa.field(field.name, field.type) for field in fields])
    return schemas


def result_type(plan: Plan, frames: Mapping[str, DataFrame]) -> StructType:
    """Give Spark's type of the results: a struct for each stream, ``time`` and ``weight``.

    And ``cluster``, of a sample.
    """
    streams = [StructField(side.name, _nullable(frames[side.name].schema)) for side in plan.sides]
    kind = plan.time.type
    time: DataType = LongType() if pa.types.is_integer(kind) else DoubleType()
    # Event-time operators after the join go by this column; see `stream`.
    metadata = None
    if has_watermark(plan):
        time, metadata = TimestampType(), {WATERMARK: 0}
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
    """Say whether the result has a watermark: Spark's are for timestamps with a time zone only."""
    return bool(pa.types.is_timestamp(plan.time.type) and plan.time.type.tz is not None)


def _nullable(kind: DataType) -> DataType:
    """Let everything be null: what comes out of Python is not known to be anything else."""
    if isinstance(kind, StructType):
        return StructType(
            [StructField(f.name, _nullable(f.dataType), metadata=f.metadata) for f in kind]
        )
    if isinstance(kind, ArrayType):
        return ArrayType(_nullable(kind.elementType))
    if isinstance(kind, MapType):
        return MapType(kind.keyType, _nullable(kind.valueType))
    return kind

"""A join over streaming frames, and over bounded ones: how the parts are put together.

==============  ==================================  ================================================
step            Spark's operator                    what it does
==============  ==================================  ================================================
pack            ``mapInArrow``, one per stream      rows to packed tables, one for each shard
shuffle         ``groupBy("shard")``                each shard to a partition of its own
join            ``transformWithStateInPandas``      the engine's operator; state in RocksDB
tell            ``withWatermark``, ``observe``      how far results are complete, and the metrics
unpack          ``mapInArrow``                      packed results to Spark's rows
==============  ==================================  ================================================
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812  # as all of Spark's documentation has it

from penstock.engine.plan import bind
from penstock.engine.replay import check_shards
from penstock.spark.bounded import BoundedJoin
from penstock.spark.frames import (
    arrow_schemas,
    check_frames,
    has_watermark,
    result_type,
)
from penstock.spark.packing import PACKED, Packer
from penstock.spark.processor import OUTPUT, JoinProcessor
from penstock.spark.report import aggregates
from penstock.spark.session import prepare
from penstock.spark.unpacking import unpack_results

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa

    from penstock.engine.plan import Plan
    from penstock.spec import Specification


def stream(
    spec: Specification, frames: Mapping[str, DataFrame], shards: int | None, name: str
) -> DataFrame:
    """Join streaming frames; see `Join.stream`."""
    plan, schemas = _bound(spec, frames, streaming=True)
    shards = _shards(plan, shards, frames, stateful=True)
    packed = _packed(spec, schemas, frames, shards)
    joined = packed.groupBy("shard").transformWithStateInPandas(
        JoinProcessor(spec, schemas, shards), OUTPUT, outputMode="Append", timeMode="None"
    )
    if has_watermark(plan):
        # The operator itself says how far results are complete: it knows each stream's lateness,
        # and which clocks are not to be believed. So Spark's late-row filter never sees a packed
        # row. The rows unpacked below have the mark of a watermark on their time column, and this
        # is the watermark that Spark finds.
        joined = joined.withColumn("clock", F.timestamp_millis("clock"))
        joined = joined.withWatermark("clock", "0 seconds")
    joined = joined.observe(name, *aggregates(spec, "counters"))
    return joined.mapInArrow(unpack_results, result_type(plan, frames))


def batch(spec: Specification, frames: Mapping[str, DataFrame], shards: int | None) -> DataFrame:
    """Join bounded frames; see `Join.batch`."""
    plan, schemas = _bound(spec, frames, streaming=False)
    shards = _shards(plan, shards, frames, stateful=False)
    packed = _packed(spec, schemas, frames, shards)
    return packed.repartition(shards, "shard").mapInArrow(
        BoundedJoin(spec, schemas, shards), result_type(plan, frames)
    )


def _bound(
    spec: Specification, frames: Mapping[str, DataFrame], *, streaming: bool
) -> tuple[Plan, dict[str, pa.Schema]]:
    check_frames(spec, frames, streaming=streaming)
    schemas = arrow_schemas(frames)
    return bind(spec, schemas), schemas


def _shards(
    plan: Plan, shards: int | None, frames: Mapping[str, DataFrame], *, stateful: bool
) -> int:
    if shards is not None:
        check_shards(plan, shards)
    spark = frames[plan.sides[0].name].sparkSession
    shards = prepare(spark, shards, stateful=stateful)
    check_shards(plan, shards)
    return shards


def _packed(
    spec: Specification,
    schemas: Mapping[str, pa.Schema],
    frames: Mapping[str, DataFrame],
    shards: int,
) -> DataFrame:
    def packed(name: str) -> DataFrame:
        # Whatever a column is called, with dots or quotes in it: the packer goes by their order.
        plain = frames[name].toDF(*(f"c{place}" for place in range(len(frames[name].columns))))
        return plain.mapInArrow(Packer(spec, schemas, name, shards), PACKED)

    return reduce(DataFrame.union, [packed(name) for name in spec.names])

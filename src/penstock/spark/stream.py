"""The steps of a join on Spark, over streaming frames and over bounded ones.

==============  ==================================  ================================================
step            Spark's operator                    what it does
==============  ==================================  ================================================
check           a source without rows               the join is the one of the checkpoint
pack            ``mapInArrow``, one per stream      rows to packed tables, one for each shard
shuffle         ``groupBy("shard")``                each shard to a partition of its own
join            ``transformWithStateInPandas``      the engine's operator; state in RocksDB
report          ``withWatermark``, ``observe``      the result's watermark, and the metrics
unpack          ``mapInArrow``                      files of results to Spark's rows
==============  ==================================  ================================================
"""

from __future__ import annotations

import logging
from functools import partial, reduce
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812  # as in Spark's documentation

from penstock.engine.kernel_cache import is_cold
from penstock.engine.plan import bind
from penstock.engine.replay import check_shards
from penstock.engine.vectors import check_dimensions
from penstock.spark.bounded_join import BoundedJoin
from penstock.spark.definition import Definition
from penstock.spark.feeding import RowUnpacker, row_type
from penstock.spark.frames import (
    arrow_schemas,
    check_collations,
    check_frames,
    has_watermark,
    result_type,
)
from penstock.spark.observed_metrics import aggregates
from penstock.spark.packing import PACKED, Packer
from penstock.spark.processor import OUTPUT, JoinProcessor
from penstock.spark.same_join import same_join_check
from penstock.spark.session import may_use_files, prepare_session
from penstock.spark.unpacking import unpack_results

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import pyarrow as pa
    from pyspark.sql import SparkSession

    from penstock.engine.plan import Plan
    from penstock.spark.feeding import Feed
    from penstock.spec import Specification

# A line to the user: Python prints warnings to standard error where no logging is set up.
_LOG = logging.getLogger("penstock")


def stream(
    spec: Specification,
    frames: Mapping[str, DataFrame],
    shards: int | None,
    name: str,
    *,
    feed: Feed | None = None,
    watermark: bool = True,
) -> DataFrame:
    """Join streaming frames; see `Join.stream`.

    With `feed` it returns the rows that are made of the results. Of a chain of joins only the last
    may set a watermark: Spark allows one.
    """
    plan, schemas = _bind(spec, frames, streaming=True)
    shards = _number_of_shards(plan, shards, frames, stateful=True)
    definition = Definition(spec, schemas)
    packed = _pack(definition, frames, shards)
    spark = frames[plan.sides[0].name].sparkSession
    packed = packed.union(same_join_check(spark, plan, shards, PACKED))
    processor = JoinProcessor(definition, shards, name, may_use_files=may_use_files(spark))
    joined = packed.groupBy("shard").transformWithStateInPandas(
        processor, OUTPUT, outputMode="Append", timeMode="None"
    )
    watermark = watermark and has_watermark(plan)
    if watermark:
        # The operator itself computes the watermark: it knows each stream's lateness, and ignores
        # times that are too far ahead. So Spark's filter of late rows never sees a packed row. The
        # time column of the rows unpacked below is marked as one with a watermark, and this is the
        # watermark that Spark finds for it.
        joined = joined.withColumn("complete_until", F.timestamp_millis("complete_until"))
        joined = joined.withWatermark("complete_until", "0 seconds")
    joined = joined.observe(name, *aggregates(spec, "counters"))
    if feed is None:
        return joined.mapInArrow(unpack_results, result_type(plan, frames, watermark=watermark))
    kind = row_type(plan, frames, feed, watermark=watermark)
    return joined.mapInArrow(RowUnpacker(definition, feed), kind)


def batch(
    spec: Specification,
    frames: Mapping[str, DataFrame],
    shards: int | None,
    *,
    feed: Feed | None = None,
) -> DataFrame:
    """Join bounded frames; see `Join.batch`; with `feed` as in `stream`."""
    plan, schemas = _bind(spec, frames, streaming=False)
    shards = _number_of_shards(plan, shards, frames, stateful=False)
    definition = Definition(spec, schemas)
    packed = _pack(definition, frames, shards)
    shuffled = packed.repartition(shards, "shard")
    if feed is None:
        return shuffled.mapInArrow(BoundedJoin(definition, shards), result_type(plan, frames))
    kind = row_type(plan, frames, feed, watermark=False)
    return shuffled.mapInArrow(BoundedJoin(definition, shards, feed.rows), kind)


def _bind(
    spec: Specification, frames: Mapping[str, DataFrame], *, streaming: bool
) -> tuple[Plan, dict[str, pa.Schema]]:
    check_frames(spec.names, frames, streaming=streaming)
    schemas = arrow_schemas(frames)
    plan = bind(spec, schemas)
    check_collations(plan, frames)
    return plan, schemas


def _number_of_shards(
    plan: Plan, shards: int | None, frames: Mapping[str, DataFrame], *, stateful: bool
) -> int:
    if shards is None and plan.has_row_windows:
        shards = 1
    spark = frames[plan.sides[0].name].sparkSession
    return number_of_shards(spark, partial(check_spark_shards, plan), shards, stateful=stateful)


def check_spark_shards(plan: Plan, shards: int) -> None:
    """Raise unless a join can be divided into so many shards, of which none sees all rows."""
    check_shards(plan, shards)
    check_dimensions(plan.vectors, shards)


def number_of_shards(
    spark: SparkSession, check: Callable[[int], object], shards: int | None, *, stateful: bool
) -> int:
    """Return how many shards to use, with the session prepared for it; `check` may refuse it."""
    if shards is not None:
        check(shards)
    shards = prepare_session(spark, shards, stateful=stateful)
    check(shards)
    # On a cluster the executors compile, whose disks are not seen from here.
    if str(spark.sparkContext.master).startswith("local") and is_cold():
        _LOG.warning(
            "Penstock compiles its kernels for the first time, for up to a minute before the first "
            "results; `penstock warm` does it ahead."
        )
    return shards


def _pack(definition: Definition, frames: Mapping[str, DataFrame], shards: int) -> DataFrame:
    def pack(name: str) -> DataFrame:
        # The packer goes by the order of columns, so that names may have dots or quotes in them.
        renamed = frames[name].toDF(*(f"c{place}" for place in range(len(frames[name].columns))))
        return renamed.mapInArrow(Packer(definition, name, shards), PACKED)

    return reduce(DataFrame.union, [pack(name) for name in definition.spec.names])

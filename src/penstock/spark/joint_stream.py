"""The steps of a workload on Spark: those of a join, with several joins in one operator."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812  # as in Spark's documentation

from penstock.engine.joint_shard import JointShard
from penstock.engine.operator import Operator
from penstock.errors import SchemaError, must
from penstock.spark.frames import arrow_schemas, check_collations, check_frames
from penstock.spark.joint_definition import JointDefinition
from penstock.spark.joint_packing import JOINT_PACKED, JointPacker, unpack_joint_shard
from penstock.spark.joint_processor import JOINT_OUTPUT, JointProcessor
from penstock.spark.joint_results import (
    JOIN,
    ResultLabels,
    has_joint_watermark,
    joint_result_type,
)
from penstock.spark.observed_metrics import aggregates
from penstock.spark.same_join import same_workload_check
from penstock.spark.session import may_use_files
from penstock.spark.shards import shard_keys
from penstock.spark.stream import check_spark_shards, number_of_shards
from penstock.spark.unpacking import unpack_results
from penstock.spark.worker import freeze_loaded_objects

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import pyarrow as pa

    from penstock.engine.joint_plan import JointPlan, JointSpecification


def stream(
    spec: JointSpecification, frames: Mapping[str, DataFrame], shards: int | None
) -> DataFrame:
    """Join streaming frames by all joins of a workload; see `Workload.stream`."""
    plan, schemas = _bind(spec, frames, streaming=True)
    spark = next(iter(frames.values())).sparkSession
    shards = _number_of_shards(plan, shards, frames, stateful=True)
    definition = JointDefinition(spec, schemas)
    packed = _pack(definition, frames, shards)
    packed = packed.union(same_workload_check(spark, plan.plans, shards, JOINT_PACKED))
    processor = JointProcessor(definition, shards, may_use_files=may_use_files(spark))
    joined = packed.groupBy("shard").transformWithStateInPandas(
        processor, JOINT_OUTPUT, outputMode="Append", timeMode="None"
    )
    watermark = has_joint_watermark(plan)
    if watermark:
        # As for a single join: the operator itself computes the watermark.
        joined = joined.withColumn("complete_until", F.timestamp_millis("complete_until"))
        joined = joined.withWatermark("complete_until", "0 seconds")
    for name, each in spec.joins.items():
        own = F.when(F.col(JOIN) == name, F.col("counters"))
        joined = joined.observe(name, *aggregates(each, own))
    return joined.mapInArrow(unpack_results, joint_result_type(plan, frames, watermark=watermark))


def batch(
    spec: JointSpecification, frames: Mapping[str, DataFrame], shards: int | None
) -> DataFrame:
    """Join bounded frames by all joins of a workload; see `Workload.batch`."""
    plan, schemas = _bind(spec, frames, streaming=False)
    shards = _number_of_shards(plan, shards, frames, stateful=False)
    definition = JointDefinition(spec, schemas)
    shuffled = _pack(definition, frames, shards).repartition(shards, "shard")
    kind = joint_result_type(plan, frames, watermark=True)
    return shuffled.mapInArrow(BoundedWorkload(definition, shards), kind)


@dataclass(frozen=True)
class BoundedWorkload:
    """Joins the shards of a partition by all joins: a function for `mapInArrow`."""

    definition: JointDefinition
    shards: int

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the results of all shards whose packed rows are in this partition."""
        freeze_loaded_objects()
        plan = self.definition.plan()
        keys = shard_keys(self.shards)
        labels = ResultLabels(plan)
        packed: dict[int, list[tuple[str, str, str, bytes, bytes | None]]] = {}
        for given in batches:
            for key, *row in zip(*(column.to_pylist() for column in given.columns), strict=True):
                packed.setdefault(key, []).append(tuple(row))
        for key in sorted(packed):
            shard = keys.index(key)
            operators = {
                name: Operator(each, shard=shard, shards=self.shards)
                for name, each in plan.plans.items()
            }
            joint = JointShard(operators, plan.rule)
            given = unpack_joint_shard(plan, packed.pop(key), self.shards)
            going = {
                name: operators[name].pieces(own.tables, own.stream_progress, last=True)
                for name, own in given.items()
            }
            for name, piece in joint.pieces(going):
                if piece.num_rows:
                    yield from labels.label(name, piece).to_batches()


def _bind(
    spec: JointSpecification, frames: Mapping[str, DataFrame], *, streaming: bool
) -> tuple[JointPlan, dict[str, pa.Schema]]:
    check_frames(spec.streams, frames, streaming=streaming)
    schemas = arrow_schemas(frames)
    plan = spec.bind(schemas)
    for each in plan.plans.values():
        check_collations(each, frames)
    times = {name: str(each.time.type) for name, each in plan.plans.items()}
    if len(set(times.values())) > 1:
        hint = "cast time columns to one type, or run the joins as two workloads"
        raise SchemaError(must("times of a workload's joins", "of one type", times, hint))
    return plan, schemas


def _number_of_shards(
    plan: JointPlan, shards: int | None, frames: Mapping[str, DataFrame], *, stateful: bool
) -> int:
    def check(shards: int) -> None:
        for each in plan.plans.values():
            check_spark_shards(each, shards)
        plan.check_shards(shards)

    spark = next(iter(frames.values())).sparkSession
    return number_of_shards(spark, check, shards, stateful=stateful)


def _pack(definition: JointDefinition, frames: Mapping[str, DataFrame], shards: int) -> DataFrame:
    def pack(name: str) -> DataFrame:
        renamed = frames[name].toDF(*(f"c{place}" for place in range(len(frames[name].columns))))
        return renamed.mapInArrow(JointPacker(definition, name, shards), JOINT_PACKED)

    return reduce(DataFrame.union, [pack(name) for name in definition.spec.streams])

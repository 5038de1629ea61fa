"""Rows of a workload's streams on their way into the operator: packed once for several joins.

A stream that several joins read is packed once for each way in which its rows are sent to shards:
joins on the same columns share the packed rows. How far the stream has come is sent to each join by
itself, as windows differ.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from penstock.engine.ipc import from_ipc, to_ipc
from penstock.engine.kernels import layout
from penstock.engine.sharding import route
from penstock.engine.stream_progress import (
    StreamProgress,
    combine_progress,
    no_progress,
    progress_of,
)
from penstock.spark.packing import in_pieces
from penstock.spark.shards import shard_keys
from penstock.spark.worker import freeze_loaded_objects

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from penstock.engine.joint_plan import JointPlan
    from penstock.engine.plan import Plan
    from penstock.spark.joint_definition import JointDefinition

JOINT_PACKED = (
    "shard INT, stream STRING, join STRING, routed STRING, stream_progress BINARY, rows BINARY"
)
"""Spark's type of packed rows: for each shard and join of a stream how far that has come, and, once
for all joins whose rows are routed alike, the rows."""

_PACKED = pa.schema(
    [
        ("shard", pa.int32()),
        ("stream", pa.string()),
        ("join", pa.string()),
        ("routed", pa.string()),
        ("stream_progress", pa.binary()),
        ("rows", pa.binary()),
    ]
)


def routes(plan: JointPlan, stream: str, shards: int) -> dict[str, str]:
    """Return for each join that reads a stream how its rows are routed, as a text.

    The same text means the same rows for every shard.
    """
    readers = {name: each for name, each in plan.plans.items() if stream in each.spec.names}
    return {name: _route_of(name, each, stream, shards) for name, each in readers.items()}


def _route_of(name: str, plan: Plan, stream: str, shards: int) -> str:
    if shards == 1:
        return "all"
    side = plan.sides[plan.spec.names.index(stream)]
    if plan.rule.kind == layout.EQUAL and plan.keys:
        # Columns are hashed as values of the type that all sides have in common.
        return f"equal {side.columns!r} {plan.keys!r}"
    return f"join {name}"


@dataclass(frozen=True)
class JointPacker:
    """Packs one stream for all joins that read it: a function for `mapInArrow`."""

    definition: JointDefinition
    stream: str
    shards: int

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield packed rows for each shard, piece by piece."""
        freeze_loaded_objects()
        plan = self.definition.plan()
        for some in in_pieces(batches):
            yield self._pack(plan, some)

    def _pack(self, plan: JointPlan, batches: list[pa.RecordBatch]) -> pa.RecordBatch:
        schema = self.definition.schemas[self.stream]
        # Spark gives timestamps in the session's time zone. The cast keeps the instant.
        table = pa.Table.from_batches(batches).rename_columns(schema.names).cast(schema)
        table = table.combine_chunks()
        packed: list[tuple[int, str, str, str, bytes, bytes | None]] = []
        done: set[str] = set()
        for name, routed in routes(plan, self.stream, self.shards).items():
            each = plan.plans[name]
            known = progress_of(each, each.spec.names.index(self.stream), table).to_bytes()
            rows: list[bytes | None] = [None] * self.shards
            if routed not in done:
                done.add(routed)
                parts = route(each, {self.stream: table}, self.shards)
                rows = [to_ipc(part[self.stream]) for part in parts]
            packed.extend(
                (key, self.stream, name, routed, known, own)
                for key, own in zip(shard_keys(self.shards), rows, strict=True)
            )
        columns = [
            pa.array(column, kind.type)
            for column, kind in zip(zip(*packed, strict=True), _PACKED, strict=True)
        ]
        return pa.record_batch(columns, schema=_PACKED)


@dataclass(frozen=True)
class JoinBatch:
    """What one shard of one join gets in a micro-batch."""

    tables: Mapping[str, pa.Table]
    stream_progress: list[StreamProgress] | None


def unpack_joint_shard(
    plan: JointPlan, packed: Iterable[tuple[str, str, str, bytes, bytes | None]], shards: int
) -> dict[str, JoinBatch]:
    """Combine a shard's packed rows of a micro-batch, for each join."""
    tables: dict[tuple[str, str], list[pa.Table]] = {}
    progress: dict[tuple[str, str], list[StreamProgress]] = {}
    for stream, join, routed, encoded, rows in packed:
        progress.setdefault((join, stream), []).append(StreamProgress.from_bytes(encoded))
        if rows is not None:
            tables.setdefault((stream, routed), []).append(from_ipc(rows))
    whole = {key: pa.concat_tables(parts) for key, parts in tables.items()}
    batches = {}
    for name, each in plan.plans.items():
        own = {}
        for stream in each.spec.names:
            key = (stream, _route_of(name, each, stream, shards))
            if key in whole:
                own[stream] = whole[key]
        combined = [
            combine_progress(progress[name, stream])
            if (name, stream) in progress
            else no_progress(each)
            for stream in each.spec.names
        ]
        batches[name] = JoinBatch(own, None if shards == 1 else combined)
    return batches

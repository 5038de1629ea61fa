"""Rows on their way into the operator: packed into one of Spark's rows for each shard.

Spark hands a stateful operator its input row by row. So the rows of a stream are first packed:
all rows of a partition that belong to one shard become one row, with an Arrow table inside. The
shuffle then carries a handful of rows, streams of different schemas can be united, and the
operator gets whole columns.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pyarrow as pa

from penstock.engine.ipc import from_ipc, to_ipc
from penstock.engine.sharding import route
from penstock.engine.stream_progress import (
    StreamProgress,
    combine_progress,
    no_progress,
    progress_of,
)
from penstock.spark.feeding import split_told
from penstock.spark.shards import shard_keys
from penstock.spark.worker import freeze_loaded_objects

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from penstock.engine.plan import Plan
    from penstock.spark.definition import Definition

PACKED = "shard INT, stream STRING, stream_progress BINARY, rows BINARY"

_PACKED = pa.schema(
    [
        ("shard", pa.int32()),
        ("stream", pa.string()),
        ("stream_progress", pa.binary()),
        ("rows", pa.binary()),
    ]
)
# Bytes that are packed at a time. Large enough for few packed rows, and small enough that a large
# partition is never in memory as a whole.
_MAX_BYTES = 32 << 20


def in_pieces(batches: Iterable[pa.RecordBatch]) -> Iterator[list[pa.RecordBatch]]:
    """Yield as many batches at a time as have `_MAX_BYTES`, or a little more."""
    waiting: list[pa.RecordBatch] = []
    size = 0
    for batch in batches:
        waiting.append(batch)
        size += batch.nbytes
        if size >= _MAX_BYTES:
            yield waiting
            waiting, size = [], 0
    if waiting:
        yield waiting


@dataclass(frozen=True)
class Packer:
    """Packs one stream: a function for `mapInArrow`."""

    definition: Definition
    stream: str
    shards: int

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield a packed row for each shard, once for every `_MAX_BYTES` of rows."""
        freeze_loaded_objects()
        plan = self.definition.plan()
        for some in in_pieces(batches):
            yield self._pack(plan, some)

    def _pack(self, plan: Plan, batches: list[pa.RecordBatch]) -> pa.RecordBatch:
        schema = self.definition.schemas[self.stream]
        table, told = pa.Table.from_batches(batches), None
        if table.num_columns > len(schema):
            table, told = split_told(plan, table)
        # Spark gives timestamps in the session's time zone. The cast keeps the instant.
        table = table.rename_columns(schema.names).cast(schema)
        table = table.combine_chunks()
        known = progress_of(plan, plan.spec.names.index(self.stream), table)
        progress = replace(known, told=told).to_bytes()
        # A shard that gets no row gets the progress too: time must advance in all shards.
        parts = route(plan, {self.stream: table}, self.shards)
        return pa.record_batch(
            [
                pa.array(shard_keys(self.shards), pa.int32()),
                pa.array([self.stream] * self.shards),
                pa.array([progress] * self.shards, pa.binary()),
                pa.array([to_ipc(part[self.stream]) for part in parts], pa.binary()),
            ],
            schema=_PACKED,
        )


@dataclass(frozen=True)
class ShardBatch:
    """What one shard gets in a micro-batch; `stream_progress` is None with one shard."""

    tables: Mapping[str, pa.Table]
    stream_progress: list[StreamProgress] | None
    told: Mapping[str, float]


def unpack_shard(plan: Plan, packed: Iterable[tuple[str, bytes, bytes]], shards: int) -> ShardBatch:
    """Combine a shard's packed rows of a micro-batch, each with a stream, its progress and rows."""
    tables: dict[str, list[pa.Table]] = {}
    progress: dict[str, list[StreamProgress]] = {}
    for stream, encoded, rows in packed:
        tables.setdefault(stream, []).append(from_ipc(rows))
        progress.setdefault(stream, []).append(StreamProgress.from_bytes(encoded))
    combined = [
        combine_progress(progress[side.name]) if side.name in progress else no_progress(plan)
        for side in plan.sides
    ]
    return ShardBatch(
        {stream: pa.concat_tables(parts) for stream, parts in tables.items()},
        None if shards == 1 else combined,
        {
            side.name: each.told
            for side, each in zip(plan.sides, combined, strict=True)
            if each.told is not None
        },
    )

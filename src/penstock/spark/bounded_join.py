"""The operator over bounded frames: no state, one micro-batch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from penstock.engine.operator import Operator
from penstock.spark.packing import unpack_shard
from penstock.spark.shards import shard_keys
from penstock.spark.worker import freeze_loaded_objects

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa

    from penstock.spark.definition import Definition
    from penstock.spark.feeding import MakeRows


@dataclass(frozen=True)
class BoundedJoin:
    """Joins the shards of a partition: a function for `mapInArrow` over packed rows."""

    definition: Definition
    shards: int
    rows: MakeRows | None = None  # of the results, if they feed something else

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the results of all shards whose packed rows are in this partition."""
        freeze_loaded_objects()
        plan = self.definition.plan()
        keys = shard_keys(self.shards)
        packed: dict[int, list[tuple[str, bytes, bytes]]] = {}
        for batch in batches:
            for key, *row in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                packed.setdefault(key, []).append(tuple(row))
        for key in sorted(packed):
            operator = Operator(plan, shard=keys.index(key), shards=self.shards)
            given = unpack_shard(plan, packed.pop(key), self.shards)
            for piece in operator.pieces(given.tables, given.stream_progress, last=True):
                made = piece if self.rows is None else self.rows(piece)
                yield from made.to_batches()

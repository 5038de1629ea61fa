"""The operator inside Spark: a shard's state read, a micro-batch joined, the changes written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pandas as pd
from pyspark import TaskContext
from pyspark.sql.streaming.stateful_processor import StatefulProcessor

from penstock.engine import state
from penstock.engine.operator import Operator
from penstock.engine.plan import bind
from penstock.spark import operator_cache, result_files
from penstock.spark.observed_metrics import counters
from penstock.spark.packing import unpack_shard
from penstock.spark.shards import shard_keys
from penstock.spark.worker import freeze_loaded_objects

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import pyarrow as pa
    from pyspark.sql.streaming.stateful_processor import MapState, StatefulProcessorHandle

    from penstock.engine.plan import Plan
    from penstock.spec import Specification

OUTPUT = "complete_until BIGINT, counters ARRAY<DOUBLE>, results STRING"
"""Spark's type of what a shard yields in a micro-batch.

Each row but the last has the path of a file of results. The last row has the metrics, and up to
which time the results are complete, in milliseconds."""


class JoinProcessor(StatefulProcessor):
    """Joins shards, one at a time; Spark makes one of these for each task.

    The state of a shard is what `state.save` returns: a map of chunks, and the head as a value.
    """

    def __init__(self, spec: Specification, schemas: Mapping[str, pa.Schema], shards: int) -> None:
        self._spec = spec
        self._schemas = dict(schemas)
        self._shards = shards
        self._join_id = uuid4().hex

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Open the state; called by Spark before the first row."""
        self._chunks = handle.getMapState("chunks", "name STRING", "data BINARY")
        self._waiting = handle.getMapState("waiting", "name STRING", "data BINARY")
        self._head = handle.getValueState("head", "data BINARY")

    def handleInputRows(  # noqa: N802
        self,
        key: tuple[int],
        rows: Iterator[pd.DataFrame],
        timerValues: Any,  # noqa: ANN401, ARG002, N803  # Spark's own name; no timers here
    ) -> Iterator[pd.DataFrame]:
        """Join the packed rows of a shard; called by Spark once in a micro-batch."""
        freeze_loaded_objects()
        plan = bind(self._spec, self._schemas)
        shard = shard_keys(self._shards).index(key[0])
        operator = self._operator(plan, shard)
        state.fetch_spooled(operator, self._fetch)
        packed = pd.concat(rows)
        columns = (packed[name] for name in ("stream", "stream_progress", "rows"))
        batch = unpack_shard(plan, zip(*columns, strict=True), self._shards)
        for piece in operator.pieces(batch.tables, batch.stream_progress):
            yield _row(results=result_files.write(piece))
        self._save(operator, shard)
        yield _row(
            complete_until=_complete_until_ms(operator), counters=counters(operator.metrics())
        )

    def close(self) -> None:
        """Do nothing; called by Spark after the last row."""

    def _operator(self, plan: Plan, shard: int) -> Operator:
        saved = self._head.get()
        head = {} if saved is None else {"head": saved[0]}
        cached = operator_cache.take(self._join_id, shard, head["head"]) if head else None
        if cached is not None:
            return cached
        chunks = {name: data for (name,), (data,) in self._chunks.iterator()} | head
        if not chunks:
            return Operator(plan, shard=shard, shards=self._shards, aligned=True, ordered=True)
        return state.restore(
            plan, chunks, shard=shard, shards=self._shards, aligned=True, fetch=self._fetch
        )

    def _fetch(self, name: str) -> bytes | None:
        """Return a chunk of rows that wait for the slowest stream."""
        data: bytes | None = self._waiting.getValue((name,))[0]
        return data

    def _save(self, operator: Operator, shard: int) -> None:
        changes = state.save(operator)
        written = dict(changes.written)
        head = written.pop("head")
        for name in changes.removed:
            self._map_of(name).removeKey((name,))
        for name, data in written.items():
            self._map_of(name).updateValue((name,), (data,))
        operator.alignment.spool.forget_saved()
        self._head.update((head,))
        cached = operator_cache.CachedOperator(operator, head, _batch_number())
        operator_cache.put(self._join_id, shard, cached)

    def _map_of(self, name: str) -> MapState:
        """Return where a chunk is kept: rows that wait are not read again at every restart."""
        return self._waiting if state.is_spooled(name) else self._chunks


def _row(**given: object) -> pd.DataFrame:
    columns = dict.fromkeys(("complete_until", "counters", "results")) | given
    return pd.DataFrame({name: pd.Series([value], dtype=object) for name, value in columns.items()})


def _complete_until_ms(operator: Operator) -> int | None:
    """Return the last millisecond whose results are complete; None if there is none yet.

    Spark's watermarks are in whole milliseconds, and it drops rows that are not after them.
    """
    per_second = operator.plan.time.units_per_second
    until = operator.complete_until()
    return None if per_second is None or until is None else int(until * 1000 // per_second) - 1


def _batch_number() -> int:
    context = TaskContext.get()
    number = None if context is None else context.getLocalProperty("streaming.sql.batchId")
    return 0 if number is None else int(number)

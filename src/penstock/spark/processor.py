"""The operator inside Spark: a shard's state read, a micro-batch joined, the changes written."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pandas as pd
from pyspark import TaskContext
from pyspark.sql.streaming.stateful_processor import StatefulProcessor

from penstock.engine import state
from penstock.engine.operator import Operator
from penstock.spark import operator_cache
from penstock.spark.handing_over import HandingOver, output_row
from penstock.spark.observed_metrics import counters, seconds_of
from penstock.spark.packing import unpack_shard
from penstock.spark.shards import shard_keys
from penstock.spark.worker import freeze_loaded_objects

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql.streaming.stateful_processor import MapState, StatefulProcessorHandle

    from penstock.engine.plan import Plan
    from penstock.spark.definition import Definition

OUTPUT = (
    "complete_until BIGINT, complete_time STRING, counters ARRAY<DOUBLE>, address STRING, "
    "results BINARY"
)
"""Spark's type of what a shard yields in a micro-batch.

Each row but the last has results, or their address in a file. The last row has the metrics, and up
to which time the results are complete, in milliseconds, and in the unit of the join's times."""

METRICS = "metrics"
"""Name of the state variable that has each shard's counters, and the join's name."""

QUERY = "sql.streaming.queryId"


class JoinProcessor(StatefulProcessor):
    """Joins shards, one at a time; Spark makes one of these for each task.

    The state of a shard is what `state.save` returns: a map of chunks, and the head as a value. A
    further value has the metrics, which `progress` reads after a restart.

    Parameters
    ----------
    definition
        The join.
    shards
        Into how many it is divided.
    name
        Of the join, in the query.
    may_use_files
        Whether results may be in files that are not encrypted.
    """

    def __init__(
        self, definition: Definition, shards: int, name: str, *, may_use_files: bool
    ) -> None:
        self._definition = definition
        self._shards = shards
        self._name = name
        self._may_use_files = may_use_files
        self._cached: Operator | None = None  # the operator of the shard, if it was in memory

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Open the state; called by Spark before the first row."""
        self._chunks = handle.getMapState("chunks", "name STRING", "data BINARY")
        self._waiting = handle.getMapState("waiting", "name STRING", "data BINARY")
        self._head = handle.getValueState("head", "data BINARY")
        self._metrics = handle.getValueState(METRICS, "name STRING, counters ARRAY<DOUBLE>")

    def handleInputRows(  # noqa: N802
        self,
        key: tuple[int],
        rows: Iterator[pd.DataFrame],
        timerValues: Any,  # noqa: ANN401, ARG002, N803  # Spark's own name; no timers here
    ) -> Iterator[pd.DataFrame]:
        """Join the packed rows of a shard; called by Spark once in a micro-batch."""
        freeze_loaded_objects()
        began, used = time.thread_time(), time.process_time()
        plan = self._definition.plan()
        shard = shard_keys(self._shards).index(key[0])
        operator = self._operator(plan, shard)
        # The first micro-batch of a process is slow: it loads the kernels, and reads the state.
        is_warm = operator is self._cached
        state.fetch_spooled(operator, self._fetch)
        packed = pd.concat(rows)
        columns = (packed[name] for name in ("stream", "stream_progress", "rows"))
        batch = unpack_shard(plan, zip(*columns, strict=True), self._shards)
        query = task_property(QUERY) or self._definition.id
        handing = HandingOver(query, batch_number(), may_use_files=self._may_use_files)
        yield from handing.rows(
            operator.pieces(batch.tables, batch.stream_progress, told=batch.told)
        )
        if operator.work is not None:
            # For the next micro-batch.
            seconds = time.thread_time() - began if is_warm else 0.0
            operator.work.ledger.measure(seconds, handing.handed_over)
        self._save(operator, shard)
        operator.seconds += time.process_time() - used
        counted = counters(operator.metrics())
        self._metrics.update((self._name, counted))
        until = operator.complete_until()
        yield output_row(
            complete_until=complete_until_ms(operator),
            complete_time=None if until is None else repr(until),
            counters=counted,
        )

    def close(self) -> None:
        """Do nothing; called by Spark after the last row."""

    def _operator(self, plan: Plan, shard: int) -> Operator:
        saved = self._head.get()
        head = {} if saved is None else {"head": saved[0]}
        cached = operator_cache.take(self._definition.id, shard, head["head"]) if head else None
        self._cached = cached if isinstance(cached, Operator) else None
        if self._cached is not None:
            return self._cached
        chunks = {name: data for (name,), (data,) in self._chunks.iterator()} | head
        if not chunks:
            return Operator(plan, shard=shard, shards=self._shards, aligned=True, ordered=True)
        operator = state.restore(
            plan, chunks, shard=shard, shards=self._shards, aligned=True, fetch=self._fetch
        )
        metrics = self._metrics.get()
        operator.seconds = seconds_of(metrics[1]) if metrics is not None else 0.0
        return operator

    def _fetch(self, name: str) -> bytes | None:
        """Return a chunk of rows that wait for the slowest stream."""
        found = self._waiting.getValue((name,))
        return None if found is None else found[0]

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
        cached = operator_cache.CachedOperator(operator, head, batch_number())
        operator_cache.put(self._definition.id, shard, cached)

    def _map_of(self, name: str) -> MapState:
        """Return where a chunk is kept: rows that wait are not read again at every restart."""
        return self._waiting if state.is_spooled(name) else self._chunks


def complete_until_ms(operator: Operator) -> int | None:
    """Return the last millisecond whose results are complete; None if there is none yet.

    Spark's watermarks are in whole milliseconds, and it drops rows that are not after them.
    """
    per_second = operator.plan.time.units_per_second
    until = operator.complete_until()
    return None if per_second is None or until is None else int(until * 1000 // per_second) - 1


def batch_number() -> int:
    """Return the number of the micro-batch that this task belongs to."""
    return int(task_property("streaming.sql.batchId") or 0)


def task_property(name: str) -> str | None:
    """Return what Spark says about the query that this task belongs to."""
    context = TaskContext.get()
    return None if context is None else context.getLocalProperty(name)

"""A shard of all joins of a workload inside Spark: its state read, a micro-batch joined."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import pandas as pd
from pyspark.sql.streaming.stateful_processor import StatefulProcessor

from penstock.engine import state
from penstock.engine.division_state import DIVISION
from penstock.engine.joint_shard import JointShard
from penstock.engine.operator import Operator
from penstock.spark import operator_cache
from penstock.spark.handing_over import HandingOver
from penstock.spark.joint_chunks import join_and_chunk, joint_name
from penstock.spark.joint_packing import unpack_joint_shard
from penstock.spark.joint_results import ResultLabels
from penstock.spark.observed_metrics import counters
from penstock.spark.processor import (
    METRICS,
    QUERY,
    batch_number,
    complete_until_ms,
    task_property,
)
from penstock.spark.shards import shard_keys
from penstock.spark.worker import freeze_loaded_objects

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa
    from pyspark.sql.streaming.stateful_processor import MapState, StatefulProcessorHandle

    from penstock.engine.joint_plan import JointPlan
    from penstock.spark.joint_definition import JointDefinition

JOINT_OUTPUT = (
    "complete_until BIGINT, complete_time STRING, counters ARRAY<DOUBLE>, address STRING, "
    "results BINARY, join STRING"
)
"""Spark's type of what a shard yields in a micro-batch: rows with results, or their address, and
a row for each join with its metrics."""

_PACKED_COLUMNS = ("stream", "join", "routed", "stream_progress", "rows")


class JointProcessor(StatefulProcessor):
    """Joins shards of all joins of a workload, one shard at a time.

    The state of a shard is that of each join, under its name, and how the budget is divided.

    Parameters
    ----------
    definition
        The workload.
    shards
        Into how many it is divided.
    may_use_files
        Whether results may be in files that are not encrypted.
    """

    def __init__(self, definition: JointDefinition, shards: int, *, may_use_files: bool) -> None:
        self._definition = definition
        self._shards = shards
        self._may_use_files = may_use_files
        self._cached: JointShard | None = None  # that went on in this process

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Open the state; called by Spark before the first row."""
        self._chunks = handle.getMapState("chunks", "name STRING", "data BINARY")
        self._waiting = handle.getMapState("waiting", "name STRING", "data BINARY")
        self._heads = handle.getMapState("heads", "name STRING", "data BINARY")
        self._division = handle.getValueState(DIVISION, "data BINARY")
        self._metrics = handle.getMapState(METRICS, "name STRING", "counters ARRAY<DOUBLE>")

    def handleInputRows(  # noqa: N802
        self,
        key: tuple[int],
        rows: Iterator[pd.DataFrame],
        timerValues: Any,  # noqa: ANN401, ARG002, N803  # Spark's own name; no timers here
    ) -> Iterator[pd.DataFrame]:
        """Join the packed rows of a shard; called by Spark once in a micro-batch."""
        freeze_loaded_objects()
        plan = self._definition.plan()
        shard = shard_keys(self._shards).index(key[0])
        joint = self._joint_shard(plan, shard)
        packed = pd.concat(rows)
        columns = (packed[name] for name in _PACKED_COLUMNS)
        batches = unpack_joint_shard(plan, zip(*columns, strict=True), self._shards)
        query = task_property(QUERY) or self._definition.id
        handing = HandingOver(query, batch_number(), may_use_files=self._may_use_files)
        going = {
            name: joint.operators[name].pieces(batch.tables, batch.stream_progress)
            for name, batch in batches.items()
        }
        for row in handing.rows(self._labelled(plan, joint.pieces(going))):
            yield row.assign(join=None)
        joint.measure(handing.handed_over, is_warm=joint is self._cached)
        self._save(joint, shard)
        yield from self._metric_rows(joint)

    def close(self) -> None:
        """Do nothing; called by Spark after the last row."""

    def _labelled(
        self, plan: JointPlan, pieces: Iterator[tuple[str, pa.Table]]
    ) -> Iterator[pa.Table]:
        labels = ResultLabels(plan)
        for name, piece in pieces:
            if piece.num_rows:
                yield labels.label(name, piece)

    def _metric_rows(self, joint: JointShard) -> Iterator[pd.DataFrame]:
        """Yield the metrics of each join; with the last, up to when all results are complete."""
        until = [complete_until_ms(each) for each in joint.operators.values()]
        known = [each for each in until if each is not None]
        complete = min(known) if len(known) == len(until) else None
        for place, (name, operator) in enumerate(joint.operators.items(), start=1):
            counted = counters(operator.metrics())
            self._metrics.updateValue((name,), (counted,))
            is_last = place == len(joint.operators)
            row = {
                "complete_until": complete if is_last else None,
                "complete_time": None,
                "counters": counted,
                "address": None,
                "results": None,
                "join": name,
            }
            yield pd.DataFrame({n: pd.Series([each], dtype=object) for n, each in row.items()})

    # --- State

    def _joint_shard(self, plan: JointPlan, shard: int) -> JointShard:
        heads = {name: data for (name,), (data,) in self._heads.iterator()}
        division = self._division.get()
        saved = None if division is None else division[0]
        cached = None
        if heads:
            cached = operator_cache.take(self._definition.id, shard, _all_heads(heads, saved))
        if isinstance(cached, JointShard):
            self._cached = cached
            for name, operator in cached.operators.items():
                state.fetch_spooled(operator, partial(self._fetch, name))
            return cached
        chunks: dict[str, dict[str, bytes]] = {name: {"head": heads[name]} for name in heads}
        stored = {name: data for (name,), (data,) in self._chunks.iterator()} if heads else {}
        for name, data in stored.items():
            join, chunk = join_and_chunk(name)
            chunks.setdefault(join, {})[chunk] = data
        operators = {
            name: Operator(each, shard=shard, shards=self._shards, aligned=True, ordered=True)
            if name not in chunks
            else state.restore(
                each,
                chunks[name],
                shard=shard,
                shards=self._shards,
                aligned=True,
                fetch=partial(self._fetch, name),
            )
            for name, each in plan.plans.items()
        }
        return JointShard.restore(operators, plan.rule, saved)

    def _fetch(self, join: str, name: str) -> bytes | None:
        """Return a chunk of a join's rows that wait for its slowest stream."""
        found = self._waiting.getValue((joint_name(join, name),))
        return None if found is None else found[0]

    def _save(self, joint: JointShard, shard: int) -> None:
        heads = {}
        for join, operator in joint.operators.items():
            changes = state.save(operator)
            written = dict(changes.written)
            heads[join] = written.pop("head")
            for name in changes.removed:
                self._map_of(name).removeKey((joint_name(join, name),))
            for name, data in written.items():
                self._map_of(name).updateValue((joint_name(join, name),), (data,))
            operator.alignment.spool.forget_saved()
            self._heads.updateValue((join,), (heads[join],))
        division = joint.save()
        self._division.update((division,))
        cached = operator_cache.CachedOperator(joint, _all_heads(heads, division), batch_number())
        operator_cache.put(self._definition.id, shard, cached)

    def _map_of(self, name: str) -> MapState:
        """Return where a chunk is kept: rows that wait are not read again at every restart."""
        return self._waiting if state.is_spooled(name) else self._chunks


def _all_heads(heads: dict[str, bytes], division: bytes | None) -> bytes:
    return b"".join([*(heads[name] for name in sorted(heads)), division or b""])

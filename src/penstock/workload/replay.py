"""A workload over tables in the Python process."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from penstock.engine.joint_shard import JointShard
from penstock.engine.operator import Operator
from penstock.engine.replay import batches_of, check_shards, cpu_clock, in_step
from penstock.engine.sharding import route
from penstock.engine.stream_progress import progress_of_all
from penstock.errors import SchemaError, must
from penstock.metrics import total
from penstock.workload.metrics import WorkloadMetrics

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from penstock.engine.joint_plan import JointPlan, JointSpecification

__all__ = ["WorkloadReplay", "replay"]


@dataclass(frozen=True)
class WorkloadReplay:
    """The results of a workload over tables, and its metrics.

    Attributes
    ----------
    results
        For each join, by its name, what `Join.replay` returns as its result.
    metrics
        Of each join, and how they share the budget.
    """

    results: Mapping[str, pa.Table]
    metrics: WorkloadMetrics


def replay(
    spec: JointSpecification,
    tables: Mapping[str, pa.Table | Sequence[pa.Table]],
    shards: int = 1,
    *,
    ended: bool = True,
    callback: Callable[[WorkloadMetrics], object] | None = None,
) -> WorkloadReplay:
    """Run a workload over tables; see `Workload.replay`."""
    if not isinstance(tables, Mapping):
        hint = f"write {{{', '.join(f'{name!r}: ...' for name in spec.streams)}}}"
        kind = type(tables).__name__
        raise SchemaError(must("tables", "a table for each stream, by its name", kind, hint))
    batches = {name: batches_of(name, given) for name, given in tables.items()}
    plan = spec.bind({name: parts[0].schema for name, parts in batches.items()})
    for each in plan.plans.values():
        check_shards(each, shards)
    plan.check_shards(shards)
    joint = [_shard(plan, shard, shards) for shard in range(shards)]
    results = {name: [each.result_schema.empty_table()] for name, each in plan.plans.items()}
    last = max(len(parts) for parts in batches.values())
    for number, batch in enumerate(in_step(batches), start=1):
        _take(plan, joint, batch, results, last=ended and number == last)
        if callback is not None:
            callback(_metrics(joint))
    return WorkloadReplay(
        {name: pa.concat_tables(parts) for name, parts in results.items()}, _metrics(joint)
    )


def _shard(plan: JointPlan, shard: int, shards: int) -> JointShard:
    operators = {
        name: Operator(each, shard=shard, shards=shards, aligned=True)
        for name, each in plan.plans.items()
    }
    return JointShard(operators, plan.rule, clock=cpu_clock(*plan.plans.values()))


def _take(
    plan: JointPlan,
    joint: Sequence[JointShard],
    batch: Mapping[str, pa.Table],
    results: Mapping[str, list[pa.Table]],
    *,
    last: bool,
) -> None:
    """Join one batch in all shards, and add what comes of it to the results."""
    parts, progress = {}, {}
    for name, each in plan.plans.items():
        own = {stream: batch[stream] for stream in each.spec.names if stream in batch}
        parts[name] = route(each, own, len(joint))
        progress[name] = progress_of_all(each, own) if len(joint) > 1 else None
        for shard in joint:
            shard.operators[name].settle_dimensions(own)
    for number, shard in enumerate(joint):
        going = {
            name: operator.pieces(parts[name][number], progress[name], last=last)
            for name, operator in shard.operators.items()
        }
        for name, piece in shard.pieces(going):
            results[name].append(piece)
        shard.measure()


def _metrics(joint: Sequence[JointShard]) -> WorkloadMetrics:
    names = joint[0].operators
    return WorkloadMetrics(
        {name: total(shard.operators[name].metrics() for shard in joint) for name in names}
    )

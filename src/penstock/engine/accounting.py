"""What a shard has done, as metrics: what was counted, and what the watched tuples say."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.engine.store import row_overhead
from penstock.metrics import Metrics, StreamMetrics
from penstock.strategies import SamplingStrategy, reason_for

if TYPE_CHECKING:
    from penstock.engine.operator import Operator


def account(operator: Operator) -> Metrics:
    """Give what this shard has done so far."""
    records = operator.store.memory.streams
    rule = operator.store.memory.rule
    streams = {}
    total_bytes = 0.0
    for s, side in enumerate(operator.plan.sides):
        record, counters = records[s], operator.counters[s]
        rows, size = (
            operator.measured[s]
            if operator.memory_limit
            else (counters.arrived, counters.payload_bytes)
        )
        row_bytes = float(size / rows) if rows else 0.0
        counted = ("dropped", "evicted", "expired", "held", "held_most", "ended")
        # One shard answers for what came to all of them; the rest of what it got are copies.
        arrived = counters.arrived
        if operator.shards > 1:
            arrived = counters.whole if operator.shard == 0 else 0
        streams[side.name] = StreamMetrics(
            arrived=arrived,
            copies=counters.arrived - arrived,
            late=counters.late,
            bad_times=counters.bad_times,
            far_ahead=counters.far_ahead,
            null_keys=counters.null_keys,
            row_bytes=row_bytes,
            lived=float(record["lived"]),
            lived_squares=float(record["lived_squares"]),
            **{name: int(record[name]) for name in counted},
        )
        total_bytes += int(record["held_at_most"]) * (row_bytes + row_overhead(operator.plan))
    return Metrics(
        streams=streams,
        strategy=None if operator.strategy is None else operator.strategy.name,
        emitted=int(rule["produced"][0]),
        budget_rows=operator.row_limit,
        held_most=int(rule["held_most"][0]),
        bytes_most=round(total_bytes),
        state_bytes=sum(seal.size for seal in operator.saved.values()),
        inserted=int(records["inserted"].sum()),
        compared=int(rule["compared"][0]),
        why=None if operator.strategy is None else reason_for(operator.plan.spec.goal),
        recomputations=int(operator.store.memory.residences["epoch"].sum()),
        importance=operator.meter.found,
        importance_estimated=operator.meter.estimated,
        importance_variance=operator.meter.variance,
        **_estimates(operator),
    )


def _estimates(operator: Operator) -> dict[str, Any]:
    """Give what the watched tuples say, and which model is followed."""
    if operator.monitor is None:
        return {}
    gauges = operator.store.memory.gauges
    emitted = int(operator.store.memory.rule["produced"][0])
    estimates: dict[str, Any] = {
        "estimated": float(gauges["total"].sum()),
        "variance": float(gauges["variance"].sum()),
        "batch_emitted": emitted - operator.emitted_before,
        "batch_estimated": float(gauges["batch_total"].sum()),
        "batch_variance": float(gauges["batch_variance"].sum()),
    }
    if isinstance(operator.strategy, SamplingStrategy):
        rule = operator.store.memory.rule
        estimates["forced"] = int(rule["forced"][0])
        estimates["fractions"] = min(float(rule["fraction"][0]), 1.0)
        estimates["shards"] = 1
    if operator.learner is not None:
        estimates["follows"], estimates["behind"] = operator.learner.evidence.by_name()
    return estimates

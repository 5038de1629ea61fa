"""Adds up the metrics of shards."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, TypeVar

from penstock.metrics.join_metrics import Metrics
from penstock.metrics.stream_metrics import StreamMetrics

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

N = TypeVar("N", int, float)

_WORK = (
    *("work", "work_allowed", "work_wanted"),
    *("arrival_cost", "insert_cost", "compare_cost", "result_cost", "timed_shards"),
    "seconds",
)


def total(parts: Iterable[Metrics]) -> Metrics:
    """Add up the metrics of shards."""
    parts = list(parts)
    streams = {
        name: _total_stream([part.streams[name] for part in parts]) for name in parts[0].streams
    }
    budgets = [part.budget_rows for part in parts if part.budget_rows is not None]
    return Metrics(
        streams=streams,
        strategy=parts[0].strategy,
        emitted=sum(part.emitted for part in parts),
        budget_rows=sum(budgets) if budgets else None,
        held_most=sum(part.held_most for part in parts),
        bytes_most=sum(part.bytes_most for part in parts),
        inserted=sum(part.inserted for part in parts),
        compared=sum(part.compared for part in parts),
        estimated=sum(part.estimated for part in parts),
        variance=sum(part.variance for part in parts),
        fourth=sum(part.fourth for part in parts),
        batch_emitted=sum(part.batch_emitted for part in parts),
        batch_estimated=sum(part.batch_estimated for part in parts),
        batch_variance=sum(part.batch_variance for part in parts),
        batch_fourth=sum(part.batch_fourth for part in parts),
        follows=_total_by_name([part.follows for part in parts]),
        behind=_total_by_name([part.behind for part in parts]),
        tried=_total_by_name([part.tried for part in parts]),
        importance=sum(part.importance for part in parts),
        importance_estimated=sum(part.importance_estimated for part in parts),
        importance_variance=sum(part.importance_variance for part in parts),
        importance_fourth=sum(part.importance_fourth for part in parts),
        recomputations=sum(part.recomputations for part in parts),
        forced=sum(part.forced for part in parts),
        fractions=sum(part.fractions for part in parts),
        shards=sum(part.shards for part in parts),
        why=parts[0].why,
        state_bytes=sum(part.state_bytes for part in parts),
        **{name: sum(getattr(part, name) for part in parts) for name in _WORK},
    )


def _total_by_name(parts: list[Mapping[str, N]]) -> dict[str, N]:
    return {name: sum(part[name] for part in parts) for name in parts[0]}


def _total_stream(parts: list[StreamMetrics]) -> StreamMetrics:
    sums = {
        each.name: sum_of_known([getattr(part, each.name) for part in parts])
        for each in fields(StreamMetrics)
        if each.name != "row_bytes"
    }
    weight = sum(part.arrived + part.copies for part in parts)
    weighted = sum(part.row_bytes * (part.arrived + part.copies) for part in parts)
    return StreamMetrics(**sums, row_bytes=weighted / weight if weight else 0.0)  # type: ignore[arg-type]


def sum_of_known(values: Sequence[float | None]) -> float | None:
    """Add up what is known, as Spark does: a shard that knows nothing is left out."""
    known = [value for value in values if value is not None]
    return sum(known) if known else None

"""Metrics on their way out of the operator: whole numbers, which Spark adds up over the shards."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812  # as all of Spark's documentation has it

from penstock.metrics import Metrics, StreamMetrics
from penstock.strategies import strategy_for

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import Column

    from penstock.spec import Specification

_JOIN = tuple(field.name for field in fields(Metrics) if field.name not in {"streams", "strategy"})
_STREAM = (
    *(field.name for field in fields(StreamMetrics) if field.name != "row_bytes"),
    "payload_bytes",
)


def counter_names(streams: Sequence[str]) -> list[str]:
    """Name the counters: ``emitted``, ``bids.arrived`` and so on.

    >>> names = counter_names(["auctions", "bids"])
    >>> names[0], names[-1]
    ('emitted', 'bids.payload_bytes')
    """
    return [*_JOIN, *(f"{stream}.{name}" for stream in streams for name in _STREAM)]


def counters(metrics: Metrics) -> list[int | None]:
    """Give one shard's counters, in the order of `counter_names`."""
    values: list[int | None] = [getattr(metrics, name) for name in _JOIN]
    for stream in metrics.streams.values():
        values.extend(getattr(stream, name) for name in _STREAM[:-1])
        values.append(round(stream.row_bytes * (stream.arrived + stream.copies)))
    return values


def aggregates(spec: Specification, column: str) -> list[Column]:
    """Give what Spark is to observe of a column of counters: each one's sum over the shards."""
    strategy = None if spec.budget is None else strategy_for(spec.goal).name
    sums = [
        F.sum(F.col(column)[place]).alias(name)
        for place, name in enumerate(counter_names(spec.names))
    ]
    return [*sums, F.max(F.lit(strategy).cast("string")).alias("strategy")]


def from_observed(observed: Mapping[str, int | str | None]) -> Metrics:
    """Make metrics of what Spark has observed."""
    streams: dict[str, dict[str, int]] = {}
    for name, value in observed.items():
        stream, dot, counter = name.rpartition(".")
        if dot:
            streams.setdefault(stream, {})[counter] = value  # type: ignore[assignment]
    return Metrics(
        streams={stream: _stream_metrics(counted) for stream, counted in streams.items()},
        strategy=observed["strategy"],  # type: ignore[arg-type]
        **{name: observed[name] for name in _JOIN},  # type: ignore[arg-type]
    )


def _stream_metrics(counted: dict[str, int]) -> StreamMetrics:
    size = counted.pop("payload_bytes")
    rows = counted["arrived"] + counted["copies"]
    return StreamMetrics(**counted, row_bytes=size / rows if rows else 0.0)

"""Metrics on their way out of the operator: counters that Spark sums over the shards."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F  # noqa: N812  # as in Spark's documentation

from penstock.metrics import Metrics, StreamMetrics
from penstock.strategies import reason_for, strategies_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import Column

    from penstock.spec import Specification

_NOT_COUNTERS = {"streams", "strategy", "why", "follows", "behind", "tried"}
_JOIN_COUNTERS = tuple(field.name for field in fields(Metrics) if field.name not in _NOT_COUNTERS)
_STREAM_TIMES = {"latest", "behind", "waiting_age"}
_STREAM_FLOATS = {"lived", "lived_squares", *_STREAM_TIMES}
_JOIN_FLOATS = {
    "estimated",
    "variance",
    "fourth",
    "batch_estimated",
    "batch_variance",
    "batch_fourth",
    "fractions",
    "importance",
    "importance_estimated",
    "importance_variance",
    "importance_fourth",
    "work",
    "work_allowed",
    "work_wanted",
    "arrival_cost",
    "insert_cost",
    "compare_cost",
    "result_cost",
    "seconds",
}
_STREAM_COUNTERS = (
    *(field.name for field in fields(StreamMetrics) if field.name != "row_bytes"),
    "payload_bytes",
)


TEXTS = ("strategy", "why")
"""What Spark observes besides the counters, last of all."""


def is_ours(names: Sequence[str]) -> bool:
    """Return whether what Spark observes under these names are the metrics of a join.

    >>> is_ours(["rows"])
    False
    """
    return names[: len(_JOIN_COUNTERS)] == [*_JOIN_COUNTERS] and names[-2:] == [*TEXTS]


def counter_names(spec: Specification) -> list[str]:
    """Return the counters' names: ``emitted``, ``bids.arrived``, ``follows:age`` and so on."""
    models, tried = _model_names(spec)
    return [
        *_JOIN_COUNTERS,
        *(f"{stream}.{name}" for stream in spec.names for name in _STREAM_COUNTERS),
        *(f"follows:{model}" for model in tried or models),
        *(f"behind:{model}" for model in models),
        *(f"tried:{model}" for model in tried),
    ]


def _model_names(spec: Specification) -> tuple[list[str], list[str]]:
    """Return the names of the models whose predictions are compared, and of those on trial."""
    if spec.budget is None:
        return [], []
    needs = strategies_of(spec)[0].needs
    models, tried = (
        list(dict.fromkeys(model.name for model in each)) for each in (needs.models, needs.tried)
    )
    return models if len(models) > 1 else [], tried


def counters(metrics: Metrics) -> list[float | None]:
    """Return one shard's counters, in the order of `counter_names`."""
    values: list[float | None] = [getattr(metrics, name) for name in _JOIN_COUNTERS]
    for stream in metrics.streams.values():
        values.extend(getattr(stream, name) for name in _STREAM_COUNTERS[:-1])
        values.append(round(stream.row_bytes * (stream.arrived + stream.copies)))
    values.extend(metrics.follows.values())
    values.extend(metrics.behind.values())
    values.extend(metrics.tried.values())
    return [None if value is None else float(value) for value in values]


def seconds_of(counted: Sequence[float | None]) -> float:
    """Return the processor time among one shard's counters."""
    return counted[_JOIN_COUNTERS.index("seconds")] or 0.0


def aggregates(spec: Specification, column: Column | str) -> list[Column]:
    """Return what Spark observes of a column of counters: the sum of each over the shards."""
    strategy = None
    if spec.budget is not None:
        strategy = " + ".join(each.name for each in strategies_of(spec))
    values = F.col(column) if isinstance(column, str) else column
    sums = [F.sum(values[place]).alias(name) for place, name in enumerate(counter_names(spec))]
    why = None if spec.budget is None else reason_for(spec.goal)
    texts = [
        F.max(F.lit(text).cast("string")).alias(name)
        for name, text in zip(TEXTS, (strategy, why), strict=True)
    ]
    return [*sums, *texts]


def from_observed(observed: Mapping[str, float | str | None]) -> Metrics:
    """Return the metrics that Spark has observed."""
    streams: dict[str, dict[str, Any]] = {}
    models: dict[str, dict[str, float]] = {"follows": {}, "behind": {}, "tried": {}}
    for name, value in observed.items():
        kind, colon, model = name.partition(":")
        stream, dot, counter = name.rpartition(".")
        if dot and counter in _STREAM_COUNTERS:
            number: float | None = float(value or 0)
            if counter not in _STREAM_FLOATS:
                number = int(value or 0)
            elif value is None and counter in _STREAM_TIMES:
                number = None
            streams.setdefault(stream, {})[counter] = number
        elif colon:
            models[kind][model] = float(value or 0)
    return Metrics(
        streams={stream: _stream_metrics(counted) for stream, counted in streams.items()},
        strategy=observed["strategy"],  # type: ignore[arg-type]
        why=observed["why"],  # type: ignore[arg-type]
        follows={model: int(shards) for model, shards in models["follows"].items()},
        behind=models["behind"],
        tried=models["tried"],
        **{name: _restored(name, observed[name]) for name in _JOIN_COUNTERS},  # type: ignore[arg-type]
    )


def _restored(name: str, value: float | str | None) -> float | None:
    """Return a counter as the type that it had: Spark sums floats."""
    if value is None:
        return None
    return float(value) if name in _JOIN_FLOATS else int(value)


def is_unknown_at_first(name: str) -> bool:
    """Return whether a counter is None, not 0, before the first row."""
    return name == "budget_rows" or name.rpartition(".")[2] in _STREAM_TIMES


def _stream_metrics(counted: dict[str, Any]) -> StreamMetrics:
    size = counted.pop("payload_bytes")
    rows = counted["arrived"] + counted["copies"]
    return StreamMetrics(**counted, row_bytes=size / rows if rows else 0.0)

"""The metrics of a join as of its last committed micro-batch, read from the query's checkpoint."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyspark.sql import SparkSession

from penstock.errors import SpecificationError, must
from penstock.metrics.totals import sum_of_known
from penstock.spark.observed_metrics import TEXTS, from_observed, is_ours, is_unknown_at_first
from penstock.spark.processor import METRICS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyspark.sql.streaming.query import StreamingQuery

    from penstock.metrics import Metrics

OPERATORS = ("transformWithStateInPySparkExec", "transformWithStateInPandasExec")
# Objects of Java have no types here.
Java = Any
Observed = dict[str, float | str | None]


def metrics_in_checkpoint(query: StreamingQuery, name: str) -> Metrics:
    """Return the metrics that are saved with a join's state; of nothing, if it has had no rows.

    Spark reads them from the state of all shards, in a job of a second or two.

    Raises
    ------
    SpecificationError
        If the query has no join of this name.
    """
    execution: Java = query._jsq.streamingQuery()  # noqa: SLF001  # no other way to plan and state
    joins = dict(_joins(execution.analyzedPlan()))
    if name not in joins:
        known = ", ".join(f'"{each}"' for each in joins) or "it has none"
        hint = "use the name that the join has in Join.stream"
        raise SpecificationError(must("name", f"that of a join of the query ({known})", name, hint))
    observed = joins[name]
    counted = [each for each in observed if each not in TEXTS]
    shards = []
    if execution.commitLog().getLatestBatchId().isDefined():
        shards = _saved_counters(execution, name if len(joins) > 1 else None)
    if shards:
        observed |= {
            each: sum_of_known(values) for each, *values in zip(counted, *shards, strict=True)
        }
    return from_observed(observed)


def _joins(plan: Java) -> Iterator[tuple[str, Observed]]:
    """Yield the name of each join in a plan, and what Spark observes of it, before the first row.

    Counters are 0, what is not known yet is None, and the texts are what they will always be.
    """
    if plan.nodeName() == "CollectMetrics":
        metrics = plan.metrics()
        columns = [metrics.apply(place) for place in range(metrics.size())]
        if is_ours([column.name() for column in columns]):
            observed: Observed = {column.name(): 0.0 for column in columns}
            texts = {column.name(): column for column in columns if column.name() in TEXTS}
            observed |= {each: _literal(column) for each, column in texts.items()}
            yield plan.name(), observed | dict.fromkeys(filter(is_unknown_at_first, observed))
    children = plan.children()
    for place in range(children.size()):
        yield from _joins(children.apply(place))


def _literal(expression: Java) -> str | None:
    """Return the text that an expression is made of."""
    value = expression.collectLeaves().apply(0).value()
    return None if value is None else str(value if isinstance(value, str) else value.toString())


def _saved_counters(execution: Java, name: str | None) -> list[Sequence[float | None]]:
    """Return the counters of each shard; those of the join of a name, if there are several."""
    spark = SparkSession.builder.getOrCreate()
    path = str(execution.resolvedCheckpointRoot())
    operators = spark.read.format("state-metadata").load(path).select("operatorId", "operatorName")
    found: list[Sequence[float | None]] = []
    for number, kind in sorted({tuple(row) for row in operators.collect()}):
        if kind not in OPERATORS:
            continue
        reader = spark.read.format("statestore").option("path", path)
        values = reader.option("operatorId", number).option("stateVarName", METRICS).load()
        fields = ("value.name", "value.counters")
        if "value" not in values.columns:  # of a workload: by the names of its joins
            fields = ("user_map_key.name", "user_map_value.counters")
        rows = values.select(*fields).collect()
        found.extend(row.counters for row in rows if name in (None, row.name))
    return found

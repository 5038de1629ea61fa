"""Rows of streams that are counted in Spark's own code, and what a query remembers of them.

The metrics of joins are in their state. What is read before a join, and left out by a condition,
is only in the updates of the query, of which Spark keeps the last hundred.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql import functions as F  # noqa: N812  # as everybody calls it

from penstock.spark.frames import COMPLETE
from penstock.spark.progress import metrics_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery

    from penstock.metrics import Metrics

__all__ = ["Remembered", "count_results", "count_rows", "remembered"]


def count_rows(frame: DataFrame, name: str, time: str, kind: pa.DataType) -> DataFrame:
    """Count the rows of a streaming frame under a name, and note their first time.

    Parameters
    ----------
    frame
        The frame.
    name
        Of the counts in the updates of its query.
    time, kind
        Its time column, and the type that it has in Arrow.
    """
    column = "`" + time.replace("`", "``") + "`"
    if pa.types.is_date(kind):
        seconds = f"CAST(unix_date({column}) AS DOUBLE) * 86400"
    elif pa.types.is_timestamp(kind) and kind.tz is None:
        start = "TIMESTAMP_NTZ '1970-01-01 00:00:00'"
        seconds = f"timestampdiff(MICROSECOND, {start}, {column}) / 1e6D"
    else:
        seconds = f"CAST({column} AS DOUBLE)"
    return frame.observe(
        name, F.count(F.lit(1)).alias("rows"), F.min(F.expr(seconds)).alias("first")
    )


def count_results(frame: DataFrame, name: str) -> DataFrame:
    """Count the results in a streaming frame under a name, without rows that tell how far it is."""
    is_one = F.lit(1)
    if COMPLETE in frame.columns:
        is_one = F.when(F.col(f"`{COMPLETE}`").isNull(), 1)
    no_time = F.min(F.lit(None).cast("double"))
    return frame.observe(name, F.count(is_one).alias("rows"), no_time.alias("first"))


@dataclass(frozen=True)
class Remembered:
    """What a query remembers of its last micro-batches.

    Attributes
    ----------
    rows
        Rows that were counted, by name.
    first
        Their first time; None if there are none.
    before
        What each join had done before these micro-batches; empty if they are all there were.
    """

    rows: Mapping[str, int]
    first: float | None
    before: Mapping[str, Metrics]


def remembered(query: StreamingQuery, counts: Iterable[str], joins: Iterable[str]) -> Remembered:
    """Return what a query remembers of these counts and joins.

    If its first micro-batch is forgotten, or was in an earlier run, what counts are those after the
    first one that it remembers.
    """
    updates = query.recentProgress
    before: dict[str, Metrics] = {}
    if updates and updates[0].batchId > 0:
        found = {name: metrics_of(updates[0], name) for name in joins}
        before = {name: metrics for name, metrics in found.items() if metrics is not None}
        updates = updates[1:]
    rows, times = dict.fromkeys(counts, 0), []
    for update in updates:
        for name in rows:
            row = update.observedMetrics.get(name)
            if row is not None:
                rows[name] += row["rows"] or 0
                times += [] if row["first"] is None else [float(row["first"])]
    return Remembered(rows, min(times, default=None), before)

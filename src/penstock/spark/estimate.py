"""Estimates from a sampled join, as two aggregations of Spark: by cluster, then over clusters.

`penstock.statistics.cluster_sample` explains the formulas. Here they are expressions of Spark: no
row goes to Python.
"""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812  # as in Spark's documentation

from penstock.spark.estimate_input import (
    check_result_names,
    check_sampled,
    find_column,
    find_number_column,
    window_column,
)
from penstock.spark.estimators import Average, Total, note_column

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import Column, DataFrame

    from penstock.durations import DurationLike


def estimate(
    df: DataFrame,
    *,
    by: Sequence[str],
    every: DurationLike | None,
    sums: Sequence[str],
    count: bool,
    averages: Sequence[str],
) -> DataFrame:
    """Estimate counts, sums and averages; see `penstock.estimate`."""
    check_sampled(df, every)
    window = window_column(df, every)
    groups = [find_column(df, each, "by") for each in by]
    # For each estimate its name, where it comes from, its values, and whether it is an average.
    wanted: list[tuple[str, str, Column, bool]] = []
    if count:
        wanted.append(("count", "count", F.lit(1.0), False))
    for what, names in (("sum", sums), ("average", averages)):
        for each in names:
            found = find_number_column(df, each, what)
            name, source = f"{what}_{found.name}", f'"{each}" of {what}'
            wanted.append((name, source, found.column.cast("double"), what == "average"))
    check_result_names(
        [
            *([("window", "every")] if window is not None else []),
            *((group.name, f'"{group.requested}" of by') for group in groups),
            *(
                (f"{name}{end}", f"{source}")
                for name, source, _, _ in wanted
                for end in ("", "_low", "_high")
            ),
            ("clusters", "the number of clusters"),
            ("note", "the note"),
        ]
    )

    # The columns in between have names with a blank, so that they cannot clash with each other.
    keys = {f"group {i}": group.column for i, group in enumerate(groups)}
    if window is not None:
        keys = {"window": window} | keys
    estimators: list[Total | Average] = [
        (Average if is_average else Total)(i) for i, (*_, is_average) in enumerate(wanted)
    ]
    rows = df.select(
        *(column.alias(key) for key, column in keys.items()),
        F.col("cluster"),
        F.col("weight").cast("double").alias("weight"),
        *(column.alias(f"value {i}") for i, (_, _, column, _) in enumerate(wanted)),
    )
    if window is not None:
        rows = rows.where(F.col("window").isNotNull())
    by_cluster = rows.groupBy(*keys, "cluster").agg(
        *(c.alias(name) for each in estimators for name, c in each.by_cluster().items())
    )
    over_clusters = by_cluster.groupBy(*keys).agg(
        F.count(F.lit(1)).alias("clusters"),
        *(c.alias(name) for each in estimators for name, c in each.over_clusters().items()),
    )
    # Step by step: as one expression, the formulas of an average have thousands of terms.
    result = over_clusters
    for steps in zip_longest(*(each.last_steps() for each in estimators), fillvalue={}):
        result = result.withColumns({k: v for step in steps for k, v in step.items()})
    return result.select(
        *(["window"] if window is not None else []),
        *(F.col(f"group {i}").alias(group.name) for i, group in enumerate(groups)),
        *(
            F.col(f"{part} {i}").alias(f"{name}{end}")
            for i, (name, *_) in enumerate(wanted)
            for part, end in (("estimate", ""), ("low", "_low"), ("high", "_high"))
        ),
        "clusters",
        note_column(len(wanted)).alias("note"),
    )

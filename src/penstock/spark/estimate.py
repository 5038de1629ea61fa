"""Estimates from a sampled join, as two aggregations of Spark: by cluster, then over clusters.

`penstock.statistics.cluster_sample` explains the formulas. Here they are expressions of Spark: no
row goes to Python.
"""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812  # as in Spark's documentation

from penstock.spark.estimate_input import (
    check_sampled,
    find_column,
    find_number_column,
    window_column,
)
from penstock.spark.estimators import Average, Total, note_column

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from penstock.aggregates.request import EstimateRequest, Wanted


def estimate(df: DataFrame, request: EstimateRequest) -> DataFrame:
    """Estimate counts, sums and averages; see `penstock.estimate`."""
    check_sampled(df, request.every)
    window = window_column(df, request)
    groups = [find_column(df, each, "by") for each in request.by]
    wanted = request.wanted(lambda name, what: find_number_column(df, name, what).name)
    request.check_result_names([group.name for group in groups], wanted)

    # The columns in between have names with a blank, so that they cannot clash with each other.
    keys = {f"group {i}": group.column for i, group in enumerate(groups)}
    if window is not None:
        keys = {"window": window} | keys
    estimators: list[Total | Average] = [
        (Average if each.is_average else Total)(i) for i, each in enumerate(wanted)
    ]
    rows = df.select(
        *(column.alias(key) for key, column in keys.items()),
        F.col("cluster"),
        F.col("weight").cast("double").alias("weight"),
        *(_values(df, each).alias(f"value {i}") for i, each in enumerate(wanted)),
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
            F.col(f"{part} {i}").alias(f"{each.name}{end}")
            for i, each in enumerate(wanted)
            for part, end in (("estimate", ""), ("low", "_low"), ("high", "_high"))
        ),
        "clusters",
        note_column(len(wanted)).alias("note"),
    )


def _values(df: DataFrame, wanted: Wanted) -> Column:
    if wanted.column is None:
        return F.lit(1.0)
    return find_number_column(df, wanted.column, wanted.what).column.cast("double")

"""The model against what is counted on Spark: which plan is cheapest."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from benchmarks.plans import compare, excess

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.slow]


# Ten queries: `python -m benchmarks.plans --spark`.
def test_what_is_counted_on_spark_is_what_is_counted_in_replay(spark: SparkSession) -> None:
    costs = compare(2, spark, most=2, span=100.0)
    assert len(costs) == 3
    for each in costs[:2]:
        assert each.streamed == pytest.approx(each.replayed, rel=0.05)
    assert excess(costs, on_spark=True) <= 0.1

"""A share of the processor on Spark: given costs decide as in a replay; measured ones are used."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest

import penstock as ps
from penstock.testing import canonical_rows
from tests.spark.support import counts, in_parts, run_and_stop, stream_rows

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def _tables(names: str, rows: int) -> dict[str, pa.Table]:
    """Streams whose second half comes five times as fast."""
    draw = np.random.default_rng(3)
    times = np.sort(np.concatenate([draw.uniform(0, 50, rows // 6), draw.uniform(50, 100, rows)]))
    at = pa.array((times * 1e6).astype(np.int64), pa.timestamp("us", "UTC"))
    tables = {}
    for name in names:
        level = np.round(draw.normal(0, 2, len(at)), 1)
        vector = pa.FixedSizeListArray.from_arrays(pa.array(level), 1)
        tables[name] = pa.table({"at": at, "level": level, "vector": vector})
    return tables


JOINS = {
    "equal of two": ps.Join(
        streams={name: ps.Stream(time="at", window="10 seconds") for name in "ab"},
        on=ps.Equal("level"),
        budget=ps.Budget(cpu=0.5, costs=ps.Costs(insert=0.01, result=0.005)),
    ),
    "sample of two": ps.Join(
        streams={name: ps.Stream(time="at", window="10 seconds") for name in "ab"},
        on=ps.Equal("level"),
        goal=ps.Sample(),
        budget=ps.Budget(cpu=0.5, costs=ps.Costs(insert=0.01, result=0.005)),
    ),
    "within of three": ps.Join(
        streams={name: ps.Stream(time="at", window="5 seconds") for name in "abc"},
        on=ps.Within(0.1, a="level", b="level", c="level"),
        budget=ps.Budget(cpu=0.5, costs=ps.Costs(insert=0.002, compare=1e-5, result=0.001)),
    ),
    "similar of three": ps.Join(
        streams={name: ps.Stream(time="at", window="5 seconds") for name in "abc"},
        on=ps.Similar(0.05, dimensions=1, a="vector", b="vector", c="vector"),
        goal=ps.MaxSubset(strategy="grub"),
        budget=ps.Budget(cpu=0.5, costs=ps.Costs(compare=1e-4)),
    ),
}


@pytest.mark.parametrize("name", JOINS)
def test_in_a_burst_a_restart_changes_nothing(
    spark: SparkSession, tmp_path: Path, name: str
) -> None:
    join = JOINS[name]
    batches = in_parts(_tables("".join(join.names), 2_000), 6)
    stopped = run_and_stop(spark, join, batches, tmp_path / "first", before=4)
    stopped.copy(tmp_path / "copy")
    query = stopped.resume(spark, tmp_path / "copy")
    assert query.exception() is None
    expected = join.replay(batches, shards=2, ended=False)
    assert stopped.rows(spark, tmp_path / "copy") == canonical_rows(expected.result)
    metrics = ps.progress(query)
    assert counts(metrics) == counts(expected.metrics)
    assert metrics.lost > 100
    assert metrics.fraction == pytest.approx(expected.metrics.fraction)
    assert metrics.work == pytest.approx(expected.metrics.work)
    assert metrics.work_allowed == pytest.approx(expected.metrics.work_allowed)
    assert metrics.throttle == pytest.approx(expected.metrics.throttle)
    assert metrics.costs is not None
    assert join.budget is not None
    assert join.budget.costs is not None
    assert metrics.costs.result == pytest.approx(join.budget.costs.result)
    assert metrics.recall is not None


def test_costs_are_measured_with_the_handing_over_of_results(
    spark: SparkSession, tmp_path: Path
) -> None:
    join = ps.Join(
        streams={name: ps.Stream(time="at", window="10 seconds") for name in "ab"},
        on=ps.Equal("level"),
        budget=ps.Budget(cpu=1.0),
    )
    batches = in_parts(_tables("ab", 4_000), 6)
    stopped = run_and_stop(spark, join, batches, tmp_path / "first", before=5)
    query = stopped.resume(spark, tmp_path / "first")
    assert query.exception() is None
    metrics = ps.progress(query)
    assert metrics.costs is not None
    usual = ps.Costs.usual()
    assert metrics.costs != usual
    # The usual cost of handing a result over was replaced by what was measured.
    assert metrics.costs.result != pytest.approx(usual.result)
    assert metrics.work > 0
    assert metrics.lost == 0


@pytest.mark.slow
def test_with_a_limit_of_bytes_as_well_neither_is_exceeded(
    spark: SparkSession, tmp_path: Path
) -> None:
    costs = ps.Costs(insert=0.002, result=0.001)
    join = ps.Join(
        streams={name: ps.Stream(time="at", window="10 seconds") for name in "ab"},
        on=ps.Equal("level"),
        budget=ps.Budget(memory=60_000, cpu=0.1, costs=costs, burst="1 second"),
    )
    batches = in_parts(_tables("ab", 2_000), 6)
    rows, metrics = stream_rows(spark, join, batches, tmp_path)
    exact = replace(join, budget=None).replay(batches, shards=2).result
    assert 0 < len(rows) < exact.num_rows
    assert not Counter(rows) - Counter(canonical_rows(exact))
    assert metrics.bytes_most <= 60_000
    assert metrics.work <= 1.02 * metrics.work_allowed
    each = metrics.streams.values()
    assert sum(stream.not_admitted + stream.not_inserted for stream in each) > 0
    assert sum(stream.evicted + stream.dropped for stream in each) > 0
    assert metrics.recall is not None
    found = len(rows) / exact.num_rows
    # The last rows of a query wait for those after them.
    assert metrics.recall.value == pytest.approx(found, rel=0.05)

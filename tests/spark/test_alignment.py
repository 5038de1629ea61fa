"""On Spark, rows ahead of the slowest stream wait in the state, over restarts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest

import penstock as ps
from penstock.testing import canonical_rows
from tests.spark.support import run_and_stop

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

ROWS = 3_000


def _batches() -> dict[str, list[pa.Table]]:
    """Return a stream that comes all at once, and one that comes in four parts."""
    tables = {}
    for number, name in enumerate("ab"):
        draws = np.random.default_rng(number)
        tables[name] = pa.table(
            {
                "t": np.arange(ROWS),
                "k": draws.integers(0, 300, ROWS),
                "text": ["x" * width for width in draws.integers(0, 50, ROWS).tolist()],
            }
        )
    nothing = tables["a"].slice(0, 0)
    step = ROWS // 4
    return {
        "a": [tables["a"], nothing, nothing, nothing],
        "b": [tables["b"].slice(start, step) for start in range(0, ROWS, step)],
    }


def test_rows_that_wait_survive_a_restart(spark: SparkSession, tmp_path: Path) -> None:
    join = ps.Join(
        streams={name: ps.Stream(time="t", window=400) for name in "ab"},
        on=ps.Equal("k"),
        goal=ps.MaxSubset(strategy="fifo"),
        budget=ps.Budget(rows=150),
    )
    batches = _batches()
    stopped = run_and_stop(spark, join, batches, tmp_path / "first", before=2)
    stopped.copy(tmp_path / "copy")
    query = stopped.resume(spark, tmp_path / "copy")
    assert query.exception() is None
    found = stopped.rows(spark, tmp_path / "copy")
    expected = join.replay(batches, shards=2, ended=False)
    assert found == canonical_rows(expected.result)
    assert expected.metrics.lost > 0
    metrics = ps.progress(query)
    assert metrics.streams["a"].waiting == expected.metrics.streams["a"].waiting == 1
    assert metrics.streams["a"].latest == ROWS - 1
    assert metrics.streams["b"].behind == 0

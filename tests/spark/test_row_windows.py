"""Windows of rows on Spark: the rows of `replay`, and of Spark's own SQL with row_number()."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest

import penstock as ps
from penstock.errors import StateError
from penstock.spark import cause
from penstock.testing import canonical_rows
from tests.spark.support import counts, make_sources, rows_written, run, run_and_stop

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.slow]

JOIN = ps.Join(
    streams={
        "a": ps.Stream(time="at", window=ps.Rows(7), lateness="20 seconds"),
        "b": ps.Stream(time="at", window=ps.Rows(4)),
    },
    on=ps.Equal("k"),
)
SCHEMA = pa.schema([("at", pa.timestamp("us", "UTC")), ("k", pa.int64())])

# Every row of both streams is numbered in its own stream, and knows how many rows of each stream
# have come until then.
NUMBERED = """
    SELECT *,
        row_number() OVER (PARTITION BY stream ORDER BY at) AS number,
        count_if(stream = 'a') OVER (ORDER BY at) AS of_a,
        count_if(stream = 'b') OVER (ORDER BY at) AS of_b
    FROM (SELECT 'a' AS stream, * FROM rows_of_a UNION ALL SELECT 'b' AS stream, * FROM rows_of_b)
"""
JOINED = """
    SELECT struct(a.at, a.k) AS a, struct(b.at, b.k) AS b,
        greatest(a.at, b.at) AS time, 1.0D AS weight
    FROM numbered a JOIN numbered b ON a.k = b.k AND a.stream = 'a' AND b.stream = 'b'
    WHERE greatest(a.of_a, b.of_a) - a.number < 7 AND greatest(a.of_b, b.of_b) - b.number < 4
"""


def make_batches() -> dict[str, list[pa.Table]]:
    """Make three micro-batches, out of step, of rows at different times; the last have no key.

    Those of the first stream overlap, by less than its lateness.
    """
    random = np.random.default_rng(5)
    seconds = random.permutation(300)
    parts = {"a": seconds[:140], "b": seconds[140:]}
    edges = {"a": (0, 90, 220, 300), "b": (0, 130, 190, 300)}
    batches: dict[str, list[pa.Table]] = {}
    for name, left in parts.items():
        times = left
        batches[name] = []
        for number in range(3):
            first, last = edges[name][number : number + 2]
            overlap = 15 if name == "a" and number < 2 else 0
            moved = times + (random.integers(0, 1 + overlap, times.size) if overlap else 0)
            mine = times[(moved >= first) & (moved < last)]
            times = np.setdiff1d(times, mine)
            batches[name].append(rows_at(mine, random))
        batches[name].append(rows_at(np.array([1000 if name == "a" else 1001]), None))
    return batches


def rows_at(seconds: np.ndarray, random: np.random.Generator | None) -> pa.Table:
    keys: list[int | None] = [None] * seconds.size
    if random is not None:
        keys = [None if key == 3 else int(key) for key in random.integers(0, 4, seconds.size)]
    return pa.table(
        {"at": pa.array(seconds * 10**6).cast(SCHEMA.field("at").type), "k": keys}
    ).cast(SCHEMA)


def test_streaming_bounded_and_replayed_rows_are_those_of_row_number(
    spark: SparkSession, tmp_path: Path
) -> None:
    batches = make_batches()
    sources = make_sources(tmp_path, batches)
    for name, source in sources.items():
        source.read(spark).createOrReplaceTempView(f"rows_of_{name}")
    spark.sql(NUMBERED).createOrReplaceTempView("numbered")
    replay = JOIN.replay(batches)
    expected = canonical_rows(spark.sql(JOINED).toArrow().cast(replay.result.schema))
    assert len(expected) > 150
    assert canonical_rows(replay.result) == expected

    bounded = JOIN.batch({name: source.read(spark) for name, source in sources.items()})
    assert canonical_rows(bounded.toArrow().cast(replay.result.schema)) == expected

    frames = {name: source.read_stream(spark) for name, source in sources.items()}
    query = run(JOIN.stream(frames), tmp_path)
    assert rows_written(spark, tmp_path, replay.result.schema) == expected
    going_on = JOIN.replay(batches, ended=False).metrics
    assert counts(ps.progress(query)) == counts(going_on)
    assert going_on.streams["a"].late == 0
    assert going_on.streams["a"].waiting > 0

    with pytest.raises(ps.SpecificationError, match="window of rows must be 1; got 2"):
        JOIN.stream(frames, shards=2)


def test_a_restart_goes_on_and_one_with_another_window_is_refused(
    spark: SparkSession, tmp_path: Path
) -> None:
    stopped = run_and_stop(spark, JOIN, make_batches(), tmp_path / "first", shards=1, before=2)
    assert 20 < len(stopped.before) < len(stopped.after) - 20
    other = {**JOIN.streams, "b": ps.Stream(time="at", window=ps.Rows(5))}
    stopped.copy(tmp_path / "copy")
    query = stopped.resume(spark, tmp_path / "copy", join=replace(JOIN, streams=other))
    error = cause(query.exception())
    assert isinstance(error, StateError), query.exception()
    assert "Rows(4)" in str(error)
    query = stopped.resume(spark, tmp_path / "copy")
    assert query.exception() is None
    assert stopped.rows(spark, tmp_path / "copy") == stopped.after

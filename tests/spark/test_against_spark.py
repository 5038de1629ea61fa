"""The exact join is, row for row, Spark's own inner join of two streams.

Both run over the same files: nulls everywhere, duplicates, streams that are not in step, queries
that are stopped and started again from their checkpoints. Several seeds share a pair of queries.
The seed is part of the key, so rows join only rows of the same seed.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import functions as F  # noqa: N812

import penstock as ps
from tests.spark.support import Source, rows_written, run, start

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

SEEDS = 6  # in each pair of queries
SCHEMA = pa.schema(
    [
        ("seed", pa.int32()),
        ("k", pa.string()),
        ("at", pa.timestamp("us", "UTC")),
        ("v", pa.float64()),
    ]
)
SECOND = 10**6


@dataclass(frozen=True)
class Pair:
    """One pair of queries: windows in seconds, shards, and the number of runs.

    Each file of a stream begins `step` seconds after the one before. Its rows are out of order, and
    overlap with the next file. With a step above 0, rows expire.
    """

    left: int
    right: int
    shards: int
    runs: int
    step: int = 0


SPAN = 120  # seconds from the first to the last row of a file
PAIRS = (
    Pair(left=30, right=10, shards=1, runs=1),
    Pair(left=60, right=45, shards=3, runs=2, step=100),
)


def file_of(seeds: range, stream: str, number: int, begin: int) -> pa.Table:
    """Make a few rows of each seed: one value in ten is null, one row in five is duplicated."""
    rows: list[dict[str, object]] = []
    for seed in seeds:
        draw = np.random.default_rng((seed, ord(stream), number))
        for _ in range(draw.integers(0, 16)):
            k = "abc"[draw.integers(3)]
            at = (begin + int(draw.integers(0, SPAN))) * SECOND + int(draw.integers(0, 2))
            values = [k, at, float(draw.integers(100))]
            row = {"seed": seed} | {
                name: None if draw.integers(10) == 0 else value
                for name, value in zip(("k", "at", "v"), values, strict=True)
            }
            rows.extend([row] * (2 if draw.integers(5) == 0 else 1))
    return pa.Table.from_pylist(rows, SCHEMA)


def sparks_join(pair: Pair, frames: dict[str, DataFrame]) -> DataFrame:
    """Return the same join made with Spark's own operator, with the same columns."""
    left, right = (F.struct(*(F.col(f"{s}.{c}") for c in SCHEMA.names)) for s in ("l", "r"))
    ahead = F.unix_micros("r.at") - F.unix_micros("l.at")
    near = (ahead <= pair.left * SECOND) & (ahead >= -pair.right * SECOND)
    same = (F.col("l.seed") == F.col("r.seed")) & (F.col("l.k") == F.col("r.k"))
    return (
        frames["l"]
        .alias("l")
        .join(frames["r"].alias("r"), same & near)
        .select(
            left.alias("l"),
            right.alias("r"),
            F.greatest("l.at", "r.at").alias("time"),
            F.lit(1.0).alias("weight"),
        )
    )


def run_in_part(frame: DataFrame, folder: Path) -> None:
    """Start a query, and stop it at any moment after its first micro-batch."""
    query = start(frame, folder)
    while query.isActive and query.lastProgress is None:
        time.sleep(0.01)
    query.stop()
    assert query.exception() is None


# In every run the one that is not started again: the others take half a minute each.
@pytest.mark.parametrize(
    "number",
    [
        pytest.param(number, marks=pytest.mark.slow if number >= 1 else ())
        for number in range(len(PAIRS))
    ],
)
def test_same_rows_as_sparks_join(spark: SparkSession, tmp_path: Path, number: int) -> None:
    pair = PAIRS[number]
    seeds = range(number * SEEDS, (number + 1) * SEEDS)
    draw = np.random.default_rng(8 + number)
    lateness = f"{SPAN - pair.step} s"
    join = ps.Join(
        streams={
            "l": ps.Stream(time="at", window=f"{pair.left} s", lateness=lateness),
            "r": ps.Stream(time="at", window=f"{pair.right} s", lateness=lateness),
        },
        on=ps.Equal("seed", "k"),
    )
    sources = {name: Source(tmp_path / name, SCHEMA) for name in ("l", "r")}
    makers: dict[str, Callable[[dict[str, DataFrame]], DataFrame]] = {
        # First, because it sets the number of partitions for both.
        "penstock": lambda frames: join.stream(frames, shards=pair.shards),
        "spark": lambda frames: sparks_join(pair, frames),
    }
    files = dict.fromkeys(sources, 0)
    queries = {}
    for turn in range(pair.runs):
        last = turn == pair.runs - 1
        for name, source in sources.items():
            for _ in range(draw.integers(1 if last else 0, 4)):
                source.add(file_of(seeds, name, files[name], files[name] * pair.step))
                files[name] += 1
        stopped = not last and draw.integers(2) == 0
        for name, make in makers.items():
            frame = make({n: source.read_stream(spark) for n, source in sources.items()})
            if name == "spark" or not stopped:
                queries[name] = run(frame, tmp_path / name)
            else:
                run_in_part(frame, tmp_path / name)
    schema = join.replay({name: SCHEMA.empty_table() for name in sources}).result.schema
    rows = {name: rows_written(spark, tmp_path / name, schema) for name in makers}
    assert rows["penstock"] == rows["spark"]
    metrics = ps.progress(queries["penstock"])
    assert metrics.emitted == len(rows["spark"]) > 50
    for counted in metrics.streams.values():
        assert counted.late == 0
        assert counted.bad_times > 0
        assert counted.null_keys > 0
        assert (counted.expired > 0) == (pair.step > 0)
    # Every seed has results.
    assert len({row[0].split(",")[0] for row in rows["spark"]}) == SEEDS

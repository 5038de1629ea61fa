"""The result of a join on Spark, and further operators on it in the same query."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import (
    DoubleType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)

import penstock as ps
from penstock.errors import SpecificationError
from penstock.testing import canonical_rows
from tests.spark.support import (
    Source,
    assert_equals_replay,
    counts,
    make_sources,
    rows_written,
    run,
    setting,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from penstock.engine.replay import Replay

pytestmark = pytest.mark.spark

START = np.datetime64("2024-03-31T00:30:00", "us")  # clocks in Europe go forward half an hour later
INSTANT = pa.timestamp("us", "UTC")
LOCAL = pa.timestamp("us")


def of_seconds(seconds: Sequence[float], type_: pa.DataType = INSTANT) -> pa.Array:
    """Return times that are given in seconds after `START`."""
    micros = (np.array(seconds) * 1e6).astype("timedelta64[us]")
    return pa.array((START + micros).astype(np.int64), pa.int64()).cast(type_)


def clocked(seconds: Sequence[float], type_: pa.DataType = INSTANT) -> pa.Table:
    keys = pa.array([f"key {i % 3}" for i in range(len(seconds))], pa.string())
    return pa.table({"at": of_seconds(seconds, type_), "k": keys})


def out_of_order(batches: int, ahead: int, seed: int) -> list[pa.Table]:
    """Make micro-batches that begin ten seconds after each other and end within the next."""
    draw = np.random.default_rng(seed)
    return [
        clocked(np.round(10 * number + ahead + draw.uniform(0, 14, 12), 3).tolist())
        for number in range(batches)
    ]


def clocked_join(**settings: str) -> ps.Join:
    return ps.Join(
        streams={
            "l": ps.Stream(time="at", window="20 seconds", **settings),
            "r": ps.Stream(time="at", window="5 seconds", **settings),
        },
        on=ps.Equal("k"),
    )


def streams(spark: SparkSession, sources: Mapping[str, Source]) -> dict[str, DataFrame]:
    return {name: source.read_stream(spark) for name, source in sources.items()}


def test_columns_of_the_result(spark: SparkSession, tmp_path: Path) -> None:
    row = StructType([StructField("at", TimestampType()), StructField("k", StringType())])
    sources = {name: Source(tmp_path / name, clocked([0.0]).schema) for name in ("l", "r")}
    joined = clocked_join().stream(streams(spark, sources))
    assert joined.isStreaming
    assert [(field.name, field.dataType, field.nullable) for field in joined.schema] == [
        ("l", row, True),
        ("r", row, True),
        ("time", TimestampType(), True),
        ("weight", DoubleType(), True),
    ]
    assert joined.select("l.k", "r.at").columns == ["k", "at"]


@pytest.mark.parametrize(
    ("type_", "expected"),
    [
        (pa.int32(), LongType()),
        (pa.float32(), DoubleType()),
        (LOCAL, TimestampNTZType()),
    ],
)
def test_only_instants_have_a_watermark(
    spark: SparkSession, tmp_path: Path, type_: pa.DataType, expected: object
) -> None:
    schema = pa.schema([("at", type_), ("k", pa.string())])
    window = "20 seconds" if type_ == LOCAL else 20
    stream = ps.Stream(time="at", window=window)
    join = ps.Join(streams={"l": stream, "r": stream}, on=ps.Equal("k"))
    sources = {name: Source(tmp_path / name, schema) for name in ("l", "r")}
    joined = join.stream(streams(spark, sources))
    assert joined.schema["time"].dataType == expected
    with pytest.raises(AnalysisException, match="watermark"):
        run(joined.groupBy("time").count(), tmp_path)


def window_counts(expected: Replay, until: datetime) -> Counter[datetime]:
    """Count the results in each window of ten seconds that ends by the given time."""
    counts: Counter[datetime] = Counter()
    for time in expected.result["time"].cast(LOCAL).to_pylist():
        begin = time - timedelta(seconds=time.second % 10, microseconds=time.microsecond)
        if begin + timedelta(seconds=10) <= until:
            counts[begin] += 1
    return counts


@pytest.mark.parametrize(("shards", "wrong_clock"), [(3, True)])
def test_windows_of_time_are_complete_when_the_watermark_has_passed(
    spark: SparkSession, tmp_path: Path, shards: int, wrong_clock: bool
) -> None:
    # The second stream is 33 seconds ahead of the first, and has no rows at first.
    batches = {
        "l": out_of_order(7, ahead=0, seed=1),
        "r": [clocked([]), *out_of_order(4, ahead=33, seed=2)],
    }
    if wrong_clock:
        batches["r"][2] = pa.concat_tables([batches["r"][2], clocked([86_400.0])])
    join = clocked_join(lateness="5 seconds", max_ahead="1 hour")
    sources = make_sources(tmp_path, {name: parts[:4] for name, parts in batches.items()})
    dropped = 0
    query = None
    for turn in range(2):  # the second turn resumes from the checkpoint of the first
        if turn:
            for name, source in sources.items():
                for part in batches[name][4:]:
                    source.add(part)
        joined = join.stream(streams(spark, sources), shards=shards)
        query = run(joined.groupBy(F.window("time", "10 seconds")).count(), tmp_path)
        for update in query.recentProgress:
            dropped += sum(each.numRowsDroppedByWatermark for each in update.stateOperators)
    assert query is not None
    progress = query.lastProgress
    assert progress is not None
    watermark = datetime.strptime(progress.eventTime["watermark"], "%Y-%m-%dT%H:%M:%S.%f%z")
    expected = join.replay(batches, shards=shards, ended=False)
    assert {each.late for each in expected.metrics.streams.values()} == {0}
    assert expected.metrics.streams["r"].far_ahead == wrong_clock

    written = spark.read.parquet(str(tmp_path / "out")).select("window.start", "count").toArrow()
    found = [
        (start.replace(tzinfo=None), count)
        for start, count in zip(*(column.to_pylist() for column in written), strict=True)
    ]
    complete = window_counts(expected, watermark.replace(tzinfo=None))
    assert sorted(found) == sorted(complete.items())
    assert dropped == 0
    # Some windows are complete, some are not; and the watermark is as far as it can be.
    assert 3 <= len(complete) < len(window_counts(expected, datetime.max))  # noqa: DTZ901
    times = pa.concat_tables(batches["l"])["at"].cast(LOCAL).to_pylist()
    behind = max(times) - timedelta(seconds=5) - watermark.replace(tzinfo=None)
    assert timedelta(0) < behind <= timedelta(milliseconds=2)


def test_times_that_are_fractions(spark: SparkSession, tmp_path: Path) -> None:
    draw = np.random.default_rng(3)
    stream = ps.Stream(time="t", window=0.75, lateness=0.5)
    join = ps.Join(streams={"l": stream, "r": stream}, on=ps.Equal("k"))
    batches = {
        name: [
            pa.table({"t": number + draw.uniform(0, 1.25, 20), "k": draw.integers(0, 2, 20)})
            for number in range(3)
        ]
        for name in ("l", "r")
    }
    expected = assert_equals_replay(spark, join, batches, tmp_path)
    assert expected.metrics.emitted > 0


def test_sinks_get_the_same_rows(spark: SparkSession, tmp_path: Path) -> None:
    join = clocked_join(lateness="5 seconds")
    batches = {"l": out_of_order(3, ahead=0, seed=1), "r": out_of_order(2, ahead=8, seed=2)}
    sources = make_sources(tmp_path, batches)
    expected = canonical_rows(join.replay(batches, shards=2, ended=False).result)
    joined = join.stream(streams(spark, sources), shards=2)

    writer = joined.writeStream.trigger(availableNow=True)
    writer.format("memory").queryName("penstock_test_sinks").start().awaitTermination()
    assert canonical_rows(spark.table("penstock_test_sinks").toArrow()) == expected

    given: list[pa.Table] = []

    def take(frame: DataFrame, _: int) -> None:
        # Each of these two runs the micro-batch.
        counted = frame.count()
        given.append(frame.toArrow())
        assert given[-1].num_rows == counted

    writer = join.stream(streams(spark, sources), shards=2).writeStream.trigger(availableNow=True)
    query = writer.foreachBatch(take).start()
    query.awaitTermination()
    assert canonical_rows(pa.concat_tables(given)) == expected
    assert ps.progress(query).emitted == len(expected) > 0


@pytest.mark.parametrize(
    "type_",
    [INSTANT, pytest.param(LOCAL, marks=pytest.mark.slow)],
    ids=["instant", "local"],
)
def test_the_time_zone_of_the_session_changes_nothing(
    spark: SparkSession, tmp_path: Path, type_: pa.DataType
) -> None:
    # Across the hour that is skipped in Berlin.
    tables = []
    for seconds in ([0, 600, 1500], [1790, 1810, 2400], [5400, 5420, 6000]):
        times = of_seconds(seconds, type_)
        keys = pa.array([f"key {second % 7}" for second in seconds])
        nested = pa.StructArray.from_arrays([times, keys], ["at", "k"])
        listed = pa.array([[time] for time in times.to_pylist()], pa.list_(type_))
        mapped = pa.array(
            [[(k.as_py(), t)] for k, t in zip(keys, times.to_pylist(), strict=True)],
            pa.map_(pa.string(), type_),
        )
        tables.append(
            pa.table(
                {"at": times, "k": times, "nested": nested, "listed": listed, "mapped": mapped}
            )
        )
    join = clocked_join()
    with setting(spark, "spark.sql.session.timeZone", "Europe/Berlin"):
        expected = assert_equals_replay(spark, join, {"l": tables, "r": tables}, tmp_path)
    assert expected.metrics.emitted == 9


def test_results_do_not_depend_on_the_size_of_arrow_batches(
    spark: SparkSession, tmp_path: Path
) -> None:
    batches = {"l": out_of_order(2, ahead=0, seed=1), "r": out_of_order(2, ahead=3, seed=2)}
    arrow = "spark.sql.execution.arrow"
    with (
        setting(spark, f"{arrow}.maxRecordsPerBatch", "1"),
        setting(spark, f"{arrow}.useLargeVarTypes", "true"),
    ):
        expected = assert_equals_replay(spark, clocked_join(), batches, tmp_path, shards=2)
    assert expected.metrics.emitted > 0


def test_many_results_in_a_micro_batch(spark: SparkSession, tmp_path: Path) -> None:
    stream = ps.Stream(time="t", window=0)
    join = ps.Join(streams={"l": stream, "r": stream}, on=ps.Compare("!=", l="k", r="k"))
    tables = {
        name: pa.table({"t": [0] * many, "k": range(first, first + many)})
        for name, many, first in (("l", 500, 0), ("r", 800, 1000))
    }
    sources = make_sources(tmp_path, {name: [table] for name, table in tables.items()})
    joined = join.stream(streams(spark, sources), shards=1)
    run(joined.select("l.k", F.col("r.k").alias("other")), tmp_path)
    written = spark.read.parquet(str(tmp_path / "out"))
    assert written.count() == written.distinct().count() == 500 * 800


def test_two_joins_in_a_query(spark: SparkSession, tmp_path: Path) -> None:
    batches = {"l": out_of_order(2, ahead=0, seed=1), "r": out_of_order(2, ahead=3, seed=2)}
    sources = make_sources(tmp_path, batches)
    joins = {"few": clocked_join(), "all": clocked_join(lateness="5 seconds")}
    first, second = (
        join.stream(streams(spark, sources), shards=2, name=name).select("l", "r", "time")
        for name, join in joins.items()
    )
    query = run(first.union(second), tmp_path)
    replays = {name: join.replay(batches, shards=2, ended=False) for name, join in joins.items()}
    expected = pa.concat_tables([replay.result.drop("weight") for replay in replays.values()])
    assert rows_written(spark, tmp_path, expected.schema) == canonical_rows(expected)
    for name, replay in replays.items():
        assert counts(ps.progress(query, name)) == counts(replay.metrics)
    with pytest.raises(SpecificationError, match="that of a join of the query"):
        ps.progress(query)

"""Frames and sessions that a join cannot run with: the error messages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import penstock as ps
from penstock.errors import SchemaError, SessionError, SpecificationError
from tests.spark.support import setting

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

STREAM = ps.Stream(time="t", window="1 hour")
JOIN = ps.Join(streams={"a": STREAM, "b": STREAM}, on=ps.Equal("k"))
COLUMNS = "t TIMESTAMP, k STRING"
PROVIDER = "spark.sql.streaming.stateStore.providerClass"
CHANGELOG = "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled"


@pytest.fixture
def live(spark: SparkSession, tmp_path: Path) -> DataFrame:
    """Return a streaming frame that fits the join."""
    return spark.readStream.schema(COLUMNS).parquet(str(tmp_path))


@pytest.fixture
def bounded(spark: SparkSession) -> DataFrame:
    """Return a bounded frame that fits the join."""
    return spark.createDataFrame([], COLUMNS)


@pytest.mark.parametrize("frames", [None, ["a", "b"], "ab"])
def test_frames_are_a_mapping(spark: SparkSession, frames: Any) -> None:  # noqa: ANN401
    for run in (JOIN.stream, JOIN.batch):
        with pytest.raises(SchemaError) as error:
            run(frames)
        assert str(error.value) == (
            f"frames must be a DataFrame for each stream, by its name; "
            f"got '{type(frames).__name__}'; write {{'a': ..., 'b': ...}}"
        )


def test_frames_are_frames(live: DataFrame, bounded: DataFrame) -> None:
    table: Any = pa.table({"t": [1]})
    for run, good in ((JOIN.stream, live), (JOIN.batch, bounded)):
        with pytest.raises(SchemaError) as error:
            run({"a": good, "b": table})
        assert str(error.value) == (
            "frame of stream \"b\" must be a DataFrame of Spark; got 'Table'; "
            "for a pyarrow.Table see Join.replay"
        )


def test_stream_wants_streaming_frames(live: DataFrame, bounded: DataFrame) -> None:
    with pytest.raises(SchemaError) as error:
        JOIN.stream({"a": live, "b": bounded})
    assert str(error.value) == (
        'frame of stream "b" must be streaming; got a bounded one, as spark.read gives; '
        "use spark.readStream, or Join.batch"
    )


def test_batch_wants_bounded_frames(live: DataFrame, bounded: DataFrame) -> None:
    with pytest.raises(SchemaError) as error:
        JOIN.batch({"a": live, "b": bounded})
    assert str(error.value) == (
        'frame of stream "a" must be bounded; got a streaming one, as spark.readStream gives; '
        "use spark.read, or Join.stream"
    )


def test_a_frame_for_each_stream_and_no_other(live: DataFrame) -> None:
    with pytest.raises(SchemaError, match=r'stream "b" must be given .*; got .* for "a"'):
        JOIN.stream({"a": live})
    with pytest.raises(SchemaError, match='"c" must be a stream of the join; its streams are "a"'):
        JOIN.stream({"a": live, "b": live, "c": live})
    with pytest.raises(SchemaError, match='stream "a" must be given'):
        JOIN.stream({})


def test_a_missing_column(live: DataFrame, bounded: DataFrame) -> None:
    with pytest.raises(
        SchemaError,
        match=r'stream "b" must have a column "k"; it has "t", "K"; did you mean "K"\?',
    ):
        JOIN.stream({"a": live, "b": live.withColumnRenamed("k", "K")})
    with pytest.raises(SchemaError, match='stream "a" must have a column "t"; it has "k"'):
        JOIN.batch({"a": bounded.drop("t"), "b": bounded})


def test_a_column_that_is_there_twice(bounded: DataFrame) -> None:
    with pytest.raises(
        SchemaError,
        match='columns of stream "a" must have different names; got "k" twice; rename one',
    ):
        JOIN.batch({"a": bounded.select("t", "k", "k"), "b": bounded})


def test_times_that_do_not_fit(live: DataFrame) -> None:
    with pytest.raises(SchemaError, match='time column "t" of stream "b" must be a timestamp, a'):
        JOIN.stream({"a": live, "b": live.selectExpr("string(t)", "k")})
    with pytest.raises(SchemaError, match="all timestamps with a time zone, all without one"):
        JOIN.stream({"a": live, "b": live.selectExpr("CAST(t AS TIMESTAMP_NTZ) AS t", "k")})


def test_a_watermark_is_refused(live: DataFrame) -> None:
    with pytest.raises(SchemaError) as error:
        JOIN.stream({"a": live, "b": live.withWatermark("t", "1 minute")})
    assert str(error.value).startswith(
        'frame of stream "b" must come without a watermark; got one on column "t"; '
        "leave out withWatermark: Stream(lateness=...) says how late rows may be, and the result "
        "has a watermark of its own"
    )


def test_a_result_without_a_watermark_can_be_joined(live: DataFrame) -> None:
    first = JOIN.stream({"a": live, "b": live}, name="first").selectExpr("time AS t", "a.k")
    with pytest.raises(SchemaError, match=r"give that join's stream\(...\) watermark=False, or"):
        JOIN.stream({"a": first, "b": live})
    first = JOIN.stream({"a": live, "b": live}, name="first", watermark=False)
    both = JOIN.stream({"a": first.selectExpr("time AS t", "a.k"), "b": live}, name="second")
    assert both.columns == ["a", "b", "time", "weight"]


@pytest.mark.parametrize(
    ("expression", "type_"),
    [
        ("INTERVAL '1' YEAR", "interval year"),
        ("array(make_interval(1))", "array<interval>"),
        ("named_struct('x', INTERVAL '1' MONTH)", "struct<x:interval month>"),
        ("array()", "array<void>"),
    ],
)
def test_types_that_python_does_not_have(bounded: DataFrame, expression: str, type_: str) -> None:
    with pytest.raises(SchemaError) as error:
        JOIN.batch({"a": bounded.selectExpr("*", f"{expression} AS x"), "b": bounded})
    assert str(error.value) == (
        'column "x" of stream "a" must be of a type that Spark can hand to Python; '
        f"got '{type_}'; cast it to a plain type, such as string, or leave it out"
    )


@pytest.mark.parametrize("expression", ["array(k)", "map(k, k)", "struct(k)", "parse_json(k)"])
def test_keys_are_plain_values(bounded: DataFrame, expression: str) -> None:
    frame = bounded.selectExpr("t", f"{expression} AS k")
    with pytest.raises(SchemaError, match=r'column "k" of stream "a" .* must be a plain value'):
        JOIN.batch({"a": frame, "b": frame})


# To Spark the old long s is an s.
@pytest.mark.parametrize("other", ["Asks", "a\u017fks"])
def test_names_that_differ_by_case_only(other: str) -> None:
    with pytest.raises(SpecificationError, match="different from each other in more than case"):
        ps.Join(streams={"asks": STREAM, other: STREAM}, on=ps.Equal("k"))


@pytest.mark.parametrize("shards", [0, -1, 1.5, "2", True])
def test_shards_are_a_number_of_one_or_more(
    live: DataFrame,
    bounded: DataFrame,
    shards: Any,  # noqa: ANN401
) -> None:
    message = f"shards must be a whole number of 1 or more; got {shards!r}"
    for run, frame in ((JOIN.stream, live), (JOIN.batch, bounded)):
        with pytest.raises(SpecificationError, match=message):
            run({"a": frame, "b": frame}, shards=shards)


def test_a_budget_that_is_too_small_for_the_shards(
    spark: SparkSession, live: DataFrame, bounded: DataFrame
) -> None:
    join = ps.Join(streams=JOIN.streams, on=JOIN.on, budget=ps.Budget(rows=3))

    def message(shards: int) -> str:
        return (
            f"^rows of the budget over {shards} shards must be at least {2 * shards}: one for each "
            "stream and shard; got 3; raise it, or use fewer shards$"
        )

    for run, frame in ((join.stream, live), (join.batch, bounded)):
        with pytest.raises(SpecificationError, match=message(3)):
            run({"a": frame, "b": frame}, shards=3)
        # Without a number, there is one shard for each core.
        with pytest.raises(SpecificationError, match=message(2)):
            run({"a": frame, "b": frame})
    with (
        setting(spark, "spark.sql.shuffle.partitions", "5"),
        pytest.raises(SpecificationError, match=message(5)),
    ):
        join.stream({"a": live, "b": live})


def test_another_state_store(spark: SparkSession, live: DataFrame) -> None:
    package = "org.apache.spark.sql.execution.streaming.state"
    other, needed = (f"{package}.{n}StateStoreProvider" for n in ("HDFSBacked", "RocksDB"))
    with setting(spark, PROVIDER, other), pytest.raises(SessionError) as error:
        JOIN.stream({"a": live, "b": live})
    assert str(error.value) == (
        f"setting {PROVIDER} must be {needed}; got '{other}'; "
        f'spark.conf.set("{PROVIDER}", "{needed}") before the query starts'
    )


def test_state_that_is_uploaded_whole(spark: SparkSession, live: DataFrame) -> None:
    with setting(spark, CHANGELOG, "false"), pytest.raises(SessionError) as error:
        JOIN.stream({"a": live, "b": live})
    assert f"setting {CHANGELOG} must be true; got 'false'" in str(error.value)
    with setting(spark, CHANGELOG, "TRUE"):
        JOIN.stream({"a": live, "b": live})


def test_bounded_frames_need_no_state_store(spark: SparkSession, bounded: DataFrame) -> None:
    with setting(spark, PROVIDER, "org.example.Other"):
        assert JOIN.batch({"a": bounded, "b": bounded}).columns == ["a", "b", "time", "weight"]


COLLATED = "STRING COLLATE UTF8_LCASE"


@pytest.mark.parametrize("collation", ["UTF8_LCASE", "UNICODE_CI", "UTF8_BINARY_RTRIM"])
@pytest.mark.parametrize("streaming", [True, False], ids=["stream", "batch"])
def test_a_key_with_a_collation_is_refused(
    spark: SparkSession, tmp_path: Path, collation: str, streaming: bool
) -> None:
    frame = spark.createDataFrame([], COLUMNS)
    if streaming:
        frame = spark.readStream.schema(COLUMNS).parquet(str(tmp_path))
    collated = frame.selectExpr("t", f"k COLLATE {collation} AS k")
    two = ps.Join(streams={"a": STREAM, "b": STREAM}, on=ps.Equal(a=["t", "k"], b=["t", "k"]))
    for join in (JOIN, two):
        with pytest.raises(SchemaError) as error:
            (join.stream if streaming else join.batch)({"a": frame, "b": collated})
        assert str(error.value) == (
            'column "k" of stream "b" must be text without a collation to be compared: keys are '
            f"equal byte by byte; got 'string collate {collation}'; join on a column that is equal "
            'in that way, such as F.collate(F.lower("k"), "UTF8_BINARY")'
        )

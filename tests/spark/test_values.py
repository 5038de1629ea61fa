"""Values of all types, in columns of all names, are unchanged by Spark."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import penstock as ps
from tests.spark.support import assert_equals_replay, make_sources

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

ODD = ["", " ", "a.b", "q\"uo'te`d", "snow ☃ 🙂 שלום", "null", "\n\t\\", "x" * 2**20, None]
# For each column its type and values, the last of them null.
PAYLOAD: dict[str, tuple[pa.DataType, list[Any]]] = {
    "text": (pa.string(), ODD),
    "double": (pa.float64(), [0.0, -0.0, math.nan, math.inf, -math.inf, 5e-324, 1e308, None]),
    "float": (pa.float32(), [0.1, -0.0, math.nan, math.inf, None]),
    "byte": (pa.int8(), [-128, 127, None]),
    "long": (pa.int64(), [-(2**63), 2**63 - 1, 0, None]),
    "flag": (pa.bool_(), [True, False, None]),
    "exact": (pa.decimal128(38, 18), [Decimal("99999999999999999999.999999999999999999"), None]),
    "small": (pa.decimal128(5, 2), [Decimal("-999.99"), Decimal("0.00"), None]),
    "day": (pa.date32(), [date.min, date.max, date(1582, 10, 10), None]),
    "instant": (
        pa.timestamp("us", "UTC"),
        [datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC), None],
    ),
    "local": (pa.timestamp("us"), [datetime.min, datetime.max, datetime(1900, 1, 1), None]),  # noqa: DTZ001, DTZ901
    "bytes": (pa.binary(), [b"", b"\x00\xff\x00", b"text", None]),
    "list": (pa.list_(pa.string()), [[], [None], ["", "a", None], None]),
    "lists": (pa.list_(pa.list_(pa.int32())), [[[]], [None, [1, None]], None]),
    "struct": (
        pa.struct([("a b", pa.string()), ("in", pa.struct([("d", pa.decimal128(9, 3))]))]),
        [{"a b": None, "in": None}, {"a b": "", "in": {"d": Decimal("1.500")}}, None],
    ),
    "map": (
        pa.map_(pa.string(), pa.list_(pa.float64())),
        [[], [("", [math.nan]), ("k", None)], None],
    ),
}


def payload_table(rows: int, first: int) -> pa.Table:
    """Make rows that cycle through the values of each column, starting with a given one."""
    columns = {
        name: pa.array([values[(first + i) % len(values)] for i in range(rows)], type_)
        for name, (type_, values) in PAYLOAD.items()
    }
    return pa.table({"t": pa.array(range(first, first + rows), pa.int64()), **columns})


def test_payload(spark: SparkSession, tmp_path: Path) -> None:
    tables = [payload_table(5, 0), payload_table(5, 5)]
    stream = ps.Stream(time="t", window=1)
    join = ps.Join(streams={"a": stream, "b": stream}, on=ps.Compare("<=", a="t", b="t"))
    expected = assert_equals_replay(spark, join, {"a": tables, "b": tables}, tmp_path)
    assert expected.metrics.emitted == 19


NAMES = (
    "a.b",
    "a b",
    "`",
    "a`b",
    "it's",
    'so "called"',
    "ärger ☃",
    "雪",
    ",;{}()=",
    "*",
    "time",
    "weight",
    "shard",
    "from",
)


def test_names_of_columns(spark: SparkSession, tmp_path: Path) -> None:
    columns = {name: pa.array([place, None]) for place, name in enumerate(NAMES)}
    tables = [
        pa.table({"the.time": [number, number], "k `": [1, 2], **columns}) for number in (1, 2)
    ]
    stream = ps.Stream(time="the.time", window=1)
    join = ps.Join(streams={"a": stream, "b": stream}, on=ps.Equal("k `"))
    expected = assert_equals_replay(spark, join, {"a": tables, "b": tables}, tmp_path)
    assert expected.metrics.emitted == 8


def test_names_of_streams(spark: SparkSession, tmp_path: Path) -> None:
    names = ('bids "of" today', "naïve.stream `2`", "it's, ☃")
    tables = [pa.table({"t": [number], "k": ["x"]}) for number in (1, 2)]
    join = ps.Join(
        streams={name: ps.Stream(time="t", window=1) for name in names},
        on=ps.Equal(**dict.fromkeys(names, "k")),
    )
    expected = assert_equals_replay(spark, join, dict.fromkeys(names, tables), tmp_path)
    assert expected.metrics.emitted == 8


KEYS: dict[str, tuple[pa.DataType, list[Any]]] = {
    "number": (pa.float64(), [0.0, -0.0, math.nan, math.inf, -math.inf, 1.5, None]),
    "text": (pa.string(), ["", "x", "x\x00", "é", "e\u0301", "y" * 2**20, None]),
    "exact": (pa.decimal128(20, 4), [Decimal("1.5000"), Decimal("-0.0001"), None]),
    "day": (pa.date32(), [date.min, date.max, None]),
    "bytes": (pa.binary(), [b"", b"\x00", b"\x00\x00", None]),
    "instant": (
        pa.timestamp("us", "UTC"),
        [datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC), None],
    ),
    "flag": (pa.bool_(), [True, False, None]),
}


def test_keys(spark: SparkSession, tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = []
    for name, (_, values) in KEYS.items():
        usual = {other: KEYS[other][1][0] for other in KEYS}
        rows.extend(usual | {name: value} for value in values)
    columns = {
        name: pa.array([row[name] for row in rows], type_) for name, (type_, _) in KEYS.items()
    }
    table = pa.table({"t": pa.array(range(len(rows)), pa.int64()), **columns})
    batches = {"a": [table.slice(0, 11), table.slice(11)], "b": [table.slice(5), table.slice(0, 5)]}
    stream = ps.Stream(time="t", window=100, lateness=100)
    join = ps.Join(streams={"a": stream, "b": stream}, on=ps.Equal(*KEYS))
    expected = assert_equals_replay(spark, join, batches, tmp_path, shards=3)
    # A null in each column, and a NaN.
    assert expected.metrics.streams["a"].null_keys == len(KEYS) + 1
    assert expected.metrics.emitted > len(rows)


def test_times_at_the_ends_of_the_calendar(spark: SparkSession, tmp_path: Path) -> None:
    first, last = datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, 23, 59, 59, 999_999, UTC)
    times: list[list[datetime | None]] = [
        [first, first, None],
        [datetime(year, 3, 1, tzinfo=UTC) for year in (1000, 1582, 1969, 1970)],
        [datetime(9999, 12, 31, tzinfo=UTC), None, last],
    ]
    type_ = pa.timestamp("us", "UTC")
    tables = [pa.table({"at": pa.array(part, type_), "k": ["x"] * len(part)}) for part in times]
    stream = ps.Stream(time="at", window="150000 days")
    join = ps.Join(streams={"a": stream, "b": stream}, on=ps.Equal("k"))
    expected = assert_equals_replay(spark, join, {"a": tables, "b": tables}, tmp_path)
    assert expected.metrics.streams["a"].bad_times == 2
    assert expected.metrics.streams["a"].expired == 6
    assert expected.result["time"].to_pylist().count(last) == 3


def test_dates_are_times(spark: SparkSession, tmp_path: Path) -> None:
    days = [[date(2026, 1, day) for day in part] for part in ((1, 2, 2), (4, 5, 9))]
    tables = [pa.table({"day": pa.array(part, pa.date32()), "k": ["x"] * 3}) for part in days]
    stream = ps.Stream(time="day", window="2 days")
    join = ps.Join(streams={"a": stream, "b": stream}, on=ps.Equal("k"))
    expected = assert_equals_replay(spark, join, {"a": tables, "b": tables}, tmp_path)
    # Of 3 days nine pairs; of 4 and 5 four, with the two rows of day 2 four each way; 9 alone.
    assert expected.metrics.emitted == 9 + 4 + 4 + 1
    assert expected.result.schema.field("time").type == pa.timestamp("us")


# Columns that no Parquet file has: not nullable, or of a type that only Spark has.
EXPRESSIONS = {
    "listed": "array(1, 2)",
    "nested": "named_struct('x', t, 'y', array(named_struct('z', timestamp_seconds(t))))",
    "mapped": "map('a', map(t, array('b')))",
    "nothing": "null",
    "empty": "struct()",
    "day_time": "make_dt_interval(t, 1, 2, 3.5)",
    "any_case": "'AbC' collate UTF8_LCASE",
    "variant": "parse_json('{\"a\": [1, null]}')",
}


def test_types_that_only_spark_has(spark: SparkSession, tmp_path: Path) -> None:
    tables = [pa.table({"t": [1, 2], "k": [1, 1]}), pa.table({"t": [3, 4], "k": [1, 1]})]
    sources = make_sources(tmp_path, {"a": tables, "b": tables})
    columns = ["*", *(f"{text} AS {name}" for name, text in EXPRESSIONS.items())]
    frames = {n: source.read_stream(spark).selectExpr(*columns) for n, source in sources.items()}
    stream = ps.Stream(time="t", window=1)
    join = ps.Join(streams={"a": stream, "b": stream}, on=ps.Equal("k"))
    joined = join.stream(frames)
    found: list[Any] = []

    def take(frame: DataFrame, _: int) -> None:
        found.extend(frame.collect())

    writer = joined.writeStream.trigger(availableNow=True)
    writer.foreachBatch(take).start().awaitTermination()
    rows = {row.t: str(row) for row in sources["a"].read(spark).selectExpr(*columns).collect()}
    assert len(found) == 10
    for row in found:
        assert str(row.a) == rows[row.a.t]
        assert str(row.b) == rows[row.b.t]


def test_columns_that_differ_by_case_only(spark: SparkSession) -> None:
    frame = spark.range(3).selectExpr("id AS t", "id AS k", "-id AS K")
    stream = ps.Stream(time="t", window=0)
    join = ps.Join(streams={"a": stream, "b": stream}, on=ps.Equal(a="k", b="k"))
    rows = join.batch({"a": frame, "b": frame}, shards=2).toArrow()["b"].to_pylist()
    assert sorted(row["K"] for row in rows) == [-2, -1, 0]

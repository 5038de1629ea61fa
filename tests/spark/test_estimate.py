"""Estimates on Spark equal the formulas in NumPy and those from a table: bounded or streaming."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import functions as F  # noqa: N812

import penstock as ps
from penstock.statistics.cluster_sample import SampleEstimate, average_of, total_of
from tests.spark.support import Source, make_sources, run, setting

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    Row = dict[str, Any]

pytestmark = pytest.mark.spark

START = np.datetime64("2024-03-31T00:30:00", "us")
COLUMNS = ("", "_low", "_high")


@pytest.fixture(autouse=True)
def few_partitions(spark: SparkSession) -> Iterator[None]:
    """Use two partitions, as a join with two shards does, and not Spark's 200."""
    with setting(spark, "spark.sql.shuffle.partitions", "2"):
        yield


def sampled(rows: int, seed: int, begin: float = 0.0, end: float = 100.0) -> pa.Table:
    """Make the result of a sampled join: weights by cluster, groups across clusters, nulls."""
    draw = np.random.default_rng(seed)
    cluster = draw.integers(0, 150, rows)
    price = 10 * np.exp(0.3 * draw.standard_normal(rows))
    sites = np.array(["north", "south", "rare"])[draw.choice(3, rows, p=[0.5, 0.49, 0.01])]
    bids = pa.StructArray.from_arrays(
        [
            pa.array(sites),
            pa.array(price, mask=draw.random(rows) < 0.1),
            pa.array(draw.integers(-50, 50, rows), pa.int32()),
            pa.nulls(rows, pa.float64()),
        ],
        ["site", "price", "gain", "nothing"],
    )
    time = np.sort(draw.uniform(begin, end, rows))
    return pa.table(
        {
            "auctions": pa.StructArray.from_arrays([pa.array(cluster)], ["id"]),
            "bids": bids,
            "time": pa.array(np.floor(time).astype(np.int64)),
            "at": pa.array(START + (time * 1e6).astype("timedelta64[us]")).cast(
                pa.timestamp("us", "UTC")
            ),
            "weight": 2.0 + cluster % 3,
            "cluster": cluster,
        }
    )


def expected_of(rows: Sequence[Row]) -> Row:
    """Estimate from the rows of one group by the formulas in NumPy."""
    given: Row = {"clusters": len({row["cluster"] for row in rows})}
    whys = set()
    for name, kind, value in (
        ("count", total_of, lambda row: 1.0),
        ("sum_price", total_of, lambda row: row["bids"]["price"]),
        ("sum_gain", total_of, lambda row: row["bids"]["gain"]),
        ("average_price", average_of, lambda row: row["bids"]["price"]),
    ):
        there = [row for row in rows if value(row) is not None]
        found: SampleEstimate = kind(
            [value(row) for row in there],
            [row["weight"] for row in there],
            [row["cluster"] for row in there],
        )
        whys.add(found.note)
        given |= zip(
            (name + end for end in COLUMNS), (found.value, found.low, found.high), strict=True
        )
    given["note"] = "too few clusters" if "too few clusters" in whys else None
    return given


def assert_same(found: Row, expected: Row) -> None:
    for name, value in expected.items():
        if isinstance(value, float):
            assert found[name] == pytest.approx(value, rel=1e-9), name
        else:
            assert found[name] == value, name


def rows_of(frame: DataFrame) -> list[Row]:
    rows: list[Row] = frame.toArrow().to_pylist()
    return rows


def test_equals_the_formulas_by_group_and_window(spark: SparkSession) -> None:
    table = sampled(3000, seed=1)
    df = spark.createDataFrame(table)
    found = ps.estimate(
        df, by="bids.site", every=40, sum=["bids.price", "bids.gain"], average="bids.price"
    )
    assert found.columns == [
        "window",
        "site",
        *(
            f"{name}{end}"
            for name in ("count", "sum_price", "sum_gain", "average_price")
            for end in COLUMNS
        ),
        "clusters",
        "note",
    ]
    groups: dict[tuple[int, str], list[Row]] = {}
    for row in table.to_pylist():
        groups.setdefault((row["time"] // 40 * 40, row["bids"]["site"]), []).append(row)
    rows = rows_of(found)
    assert len(rows) == len(groups) == 9
    for row in rows:
        start = row["window"]["start"]
        assert row["window"]["end"] == start + 40
        assert_same(row, expected_of(groups[start, row["site"]]))
    # Both kinds were compared: with an interval and without.
    assert {row["note"] for row in rows if row["site"] == "rare"} == {"too few clusters"}
    assert None in {row["note"] for row in rows if row["site"] != "rare"}


def test_without_groups_exact_and_null(spark: SparkSession) -> None:
    table = sampled(400, seed=2)
    df = spark.createDataFrame(table)
    (row,) = rows_of(ps.estimate(df, sum="bids.nothing", average="bids.nothing"))
    assert row["count"] == pytest.approx(sum(table["weight"].to_pylist()))
    assert row["count_low"] < row["count"] < row["count_high"]
    empty = [row[f"{name}{end}"] for name in ("sum_nothing", "average_nothing") for end in COLUMNS]
    assert empty == [None] * 6
    assert row["note"] is None

    whole = df.withColumn("weight", F.lit(1))  # a whole number will do
    (row,) = rows_of(
        ps.estimate(whole, count=False, sum=["bids.price"], average=("bids.price", "weight"))
    )
    prices = [each["price"] for each in table["bids"].to_pylist() if each["price"] is not None]
    assert [row[f"sum_price{end}"] for end in COLUMNS] == pytest.approx([math.fsum(prices)] * 3)
    assert row["average_price_low"] == row["average_price"] == row["average_price_high"]
    assert row["average_weight"] == 1.0
    assert row["note"] is None
    assert "count" not in row

    zeros = df.withColumn("zero", F.lit(0.0))
    (row,) = rows_of(ps.estimate(zeros, average="zero"))
    assert (row["average_zero"], row["note"]) == (0.0, "values too alike")
    (row,) = rows_of(ps.estimate(zeros, count=False, sum="zero"))
    assert (row["sum_zero"], row["sum_zero_low"], row["note"]) == (0.0, None, "too few clusters")


def test_windows_of_times_that_are_fractions_or_negative(spark: SparkSession) -> None:
    df = spark.createDataFrame(
        [(-0.5, 1.0, 1), (0.0, 1.0, 1), (2.4, 1.0, 1), (2.5, 1.0, 2), (None, 1.0, 3)],
        "time double, weight double, cluster bigint",
    )
    found = rows_of(ps.estimate(df, every=2.5).orderBy("window"))
    assert [(row["window"], row["count"]) for row in found] == [
        ({"start": -2.5, "end": 0.0}, 1.0),
        ({"start": 0.0, "end": 2.5}, 2.0),
        ({"start": 2.5, "end": 5.0}, 1.0),
    ]
    whole = df.withColumn("time", (2 * F.col("time")).cast("int"))
    found = rows_of(ps.estimate(whole, every=5).orderBy("window"))
    assert [(row["window"], row["count"]) for row in found] == [
        ({"start": -5, "end": 0}, 1.0),
        ({"start": 0, "end": 5}, 2.0),
        ({"start": 5, "end": 10}, 1.0),
    ]


@pytest.mark.parametrize(
    ("kind", "every", "window"),
    [
        ("number", 40, None),
        ("number", 15, 40),
        ("fraction", 0.7, 20.3),
        ("timestamp", "15 seconds", "40 seconds"),
    ],
)
def test_a_table_has_the_same_figures(
    spark: SparkSession, kind: str, every: float | str, window: float | str | None
) -> None:
    table = sampled(1500, seed=3, begin=-10.0, end=60.0)
    if kind == "timestamp":
        table = clocked(table)
    elif kind == "fraction":
        halves = pa.array(np.asarray(table["time"]) / 2)
        table = table.set_column(table.column_names.index("time"), "time", halves)
    arguments: dict[str, Any] = {"by": "bids.site", "every": every, "window": window}
    arguments |= {"sum": ["bids.price", "bids.gain"], "average": "bids.price"}
    on_spark = ps.estimate(spark.createDataFrame(table), **arguments)
    found = ps.estimate(table, **arguments)
    assert found.column_names == on_spark.columns
    of_spark = {(str(row["window"]), row["site"]): row for row in rows_of(on_spark)}
    assert len(of_spark) == found.num_rows > 5
    for row in found.to_pylist():
        assert_same(of_spark[str(row["window"]), row["site"]], row)


def clocked(table: pa.Table) -> pa.Table:
    return table.drop("time").rename_columns(
        ["time" if name == "at" else name for name in table.column_names if name != "time"]
    )


def written(spark: SparkSession, folder: Path) -> list[Row]:
    frame = spark.read.parquet(str(folder / "out"))
    return rows_of(frame.orderBy("window", "site"))


@pytest.mark.slow  # a running sample is estimated in every run: see test_sample.py
def test_a_stream_gives_windows_once_they_are_complete_also_after_a_restart(
    spark: SparkSession, tmp_path: Path
) -> None:
    # Each micro-batch begins ten seconds after the one before, and ends within the next.
    batches = [clocked(sampled(500, seed=i, begin=10 * i, end=10 * i + 13)) for i in range(4)]
    arguments: dict[str, Any] = {
        "by": ["bids.site"],
        "every": "5 seconds",
        "window": "10 seconds",  # they slide
        "average": ["bids.price"],
    }

    def estimated(source: Source) -> DataFrame:
        frame = source.read_stream(spark).withWatermark("time", "3 seconds")
        made: DataFrame = ps.estimate(frame, **arguments)
        return made

    straight, broken = tmp_path / "straight", tmp_path / "broken"
    source = make_sources(straight, {"sampled": batches})["sampled"]
    run(estimated(source), straight)

    source = make_sources(broken, {"sampled": batches[:2]})["sampled"]
    run(estimated(source), broken)
    before = written(spark, broken)
    for batch in batches[2:]:
        source.add(batch)
    run(estimated(source), broken)

    bounded = spark.createDataFrame(pa.concat_tables(batches))
    complete = rows_of(ps.estimate(bounded, **arguments).orderBy("window", "site"))
    watermark = max(pa.concat_tables(batches)["time"].to_pylist())
    complete = [row for row in complete if (watermark - row["window"]["end"]).total_seconds() >= 3]
    assert len({row["window"]["start"] for row in complete}) == 7
    assert 0 < len(before) < len(complete)
    for folder in (straight, broken):
        found = written(spark, folder)
        assert len(found) == len(complete)
        for row, expected in zip(found, complete, strict=True):
            assert_same(row, expected)
    assert {row["note"] for row in complete} == {None, "too few clusters"}


@pytest.fixture(scope="module")
def frame(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame(sampled(10, seed=1))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"count": False}, "count, sum or average must be asked for; got 'none of them'; write"),
        ({"count": 1}, "count must be True or False; got 1"),
        ({"by": 7}, "by must be the name of a column, or a list of names; got 7; write by="),
        ({"sum": [None]}, "sum must be the name of a column, or a list of names; got \\[None\\]"),
        ({"sum": "bids.prise"}, 'of sum must be one of .*; did you mean "bids.price"\\?'),
        ({"average": "price"}, 'of average must be one of .*; did you mean "bids.price"\\?'),
        ({"by": "Bids.Site"}, '"Bids.Site" of by must be .*; did you mean "bids.site"\\?'),
        ({"by": "zzz"}, "one of auctions, bids, time, .*; got 'zzz'; write \"stream.column\""),
        ({"sum": "bids.site"}, "of sum must be a column of numbers; got 'string'; cast it"),
        ({"average": "bids"}, "must be a column of numbers; got 'struct<site:string"),
        (
            {"by": ["bids.site", "site"]},
            'must be different; got \'site from "bids.site" of by and from "site" of by\'; name',
        ),
        ({"sum": ["bids.price", "bids.price"]}, "must be different; got 'sum_price from"),
        ({"by": "count"}, "must be different; got 'count from"),
        ({"every": "10 minutes"}, 'every must be a plain number, as column "time" is a number'),
        ({"every": 0}, "every must be more than zero; got 0"),
        ({"every": "soon"}, "every must be a duration of zero or more; got 'soon'"),
    ],
)
def test_wrong_arguments(frame: DataFrame, arguments: Row, message: str) -> None:
    more = frame.withColumn("site", F.lit("x")).withColumn("count", F.lit(1))
    with pytest.raises((ps.SpecificationError, ps.SchemaError), match=message):
        ps.estimate(more, **arguments)


def test_what_is_not_a_sampled_join(frame: DataFrame) -> None:
    with pytest.raises(
        ps.SchemaError, match="df must be a DataFrame of Spark, or an Arrow table; got"
    ):
        ps.estimate(frame.toPandas())
    for name in ("weight", "cluster"):
        message = (
            f'a column "{name}"; got .*; is this the result of a join with goal=Sample\\(\\)\\?'
        )
        with pytest.raises(ps.SchemaError, match=message):
            ps.estimate(frame.drop(name))
    with pytest.raises(ps.SchemaError, match='a column "time"'):
        ps.estimate(frame.drop("time"), every=5)
    with pytest.raises(ps.SchemaError, match="column \"weight\" must be of numbers; got 'string'"):
        ps.estimate(frame.withColumn("weight", F.lit("heavy")))
    with pytest.raises(ps.SchemaError, match='"time" must be a timestamp or a number; got'):
        ps.estimate(frame.withColumn("time", F.lit("noon")), every=5)
    timed = frame.withColumn("time", F.col("at"))
    with pytest.raises(ps.SchemaError, match="every must be a clock duration, as column"):
        ps.estimate(timed, every=5)
    with pytest.raises(ps.SpecificationError, match="every must be a microsecond or more; got"):
        ps.estimate(timed, every="0 seconds")


def test_streams_whose_groups_would_never_be_complete(spark: SparkSession, tmp_path: Path) -> None:
    numbered = sampled(1, seed=1)
    frame = Source(tmp_path / "numbered", numbered.schema).read_stream(spark)
    with pytest.raises(ps.SchemaError, match="every must be given for a streaming frame"):
        ps.estimate(frame)
    with pytest.raises(ps.SchemaError, match='"time" of a streaming frame must be a timestamp'):
        ps.estimate(frame, every=10)
    timed = Source(tmp_path / "timed", clocked(numbered).schema).read_stream(spark)
    with pytest.raises(ps.SchemaError, match=r"must have a watermark, .*; got none; use"):
        ps.estimate(timed, every="10 seconds")

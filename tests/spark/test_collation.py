"""Text with a collation: refused as a key (see test_frames), carried as payload."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pyspark.sql import functions as F  # noqa: N812  # as in Spark's documentation

import penstock as ps
from tests.spark.support import start

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

STREAM = ps.Stream(time="t", window=100)
COLUMNS = "t INT, k STRING, color STRING"
COLLATED = ("t", "k", "color COLLATE UTF8_LCASE AS color")


def colors(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame([(1, "x", "Red"), (2, "x", "RED"), (3, "y", "blue")], COLUMNS)


def test_what_the_error_says_gives_the_matches_of_sparks_own_join(spark: SparkSession) -> None:
    frame = colors(spark).selectExpr(*COLLATED)
    expected = frame.alias("a").join(frame.alias("b"), F.expr("a.color = b.color")).count()
    assert expected == 5
    plain = frame.withColumn("key", F.collate(F.lower("color"), "UTF8_BINARY"))
    join = ps.Join(streams={"a": STREAM, "b": STREAM}, on=ps.Equal("key"))
    found = join.batch({"a": plain, "b": plain}, shards=2)
    assert found.count() == expected
    assert found.select("a.color").schema["color"].dataType.simpleString() == (
        "string collate UTF8_LCASE"
    )


def test_a_column_with_a_collation_may_be_carried_by_a_stream(
    spark: SparkSession, tmp_path: Path
) -> None:
    for name in ("a", "b"):
        colors(spark).coalesce(1).write.parquet(str(tmp_path / name))
    frames = {
        name: spark.readStream.schema(COLUMNS).parquet(str(tmp_path / name)).selectExpr(*COLLATED)
        for name in ("a", "b")
    }
    join = ps.Join(streams={"a": STREAM, "b": STREAM}, on=ps.Equal("k"))
    query = start(join.stream(frames, shards=1), tmp_path)
    query.awaitTermination()
    assert query.exception() is None
    found = spark.read.parquet(str(tmp_path / "out"))
    pairs = sorted((row["a"]["color"], row["b"]["color"]) for row in found.collect())
    assert pairs == [
        *((one, two) for one in ("RED", "Red") for two in ("RED", "Red")),
        ("blue",) * 2,
    ]

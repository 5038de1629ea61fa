"""Two joins one after the other, made by hand: the rows of a replay of one and then the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest

import penstock as ps
from penstock.testing import canonical_rows
from tests.spark.support import in_parts, make_sources, rows_written
from tests.spark.test_plans import patiently

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.slow]

FIRST = ps.Join(
    streams={
        "a": ps.Stream(time="t", window="5 seconds"),
        "b": ps.Stream(time="t", window="3 seconds"),
    },
    on=ps.Equal("k"),
)
SECOND = ps.Join(
    streams={
        # Results of the first join come in the order of their newest members only by chance.
        "ab": ps.Stream(time="t", window="4 seconds", lateness="1 hour"),
        "c": ps.Stream(time="t", window="4 seconds"),
    },
    on=ps.Equal("k"),
)
COLUMNS = ("time AS t", "a.k AS k", "a.id AS a", "b.id AS b")


def rows() -> dict[str, pa.Table]:
    chance = np.random.default_rng(8)
    return {
        name: pa.table(
            {
                "id": np.arange(200),
                "k": chance.integers(0, 12, 200),
                "t": pa.array(np.sort(chance.integers(0, 60_000_000, 200))).cast(
                    pa.timestamp("us", "UTC")
                ),
            }
        )
        for name in "abc"
    }


def test_a_chain_by_hand_gives_the_rows_of_one_replay_after_the_other(
    spark: SparkSession, tmp_path: Path
) -> None:
    tables = rows()
    below = FIRST.replay({name: tables[name] for name in "ab"}).result
    between = pa.table(
        {
            "t": below["time"],
            "k": pa.chunked_array([part.field("k") for part in below["a"].chunks]),
            "a": pa.chunked_array([part.field("id") for part in below["a"].chunks]),
            "b": pa.chunked_array([part.field("id") for part in below["b"].chunks]),
        }
    )
    whole = SECOND.replay({"ab": between, "c": tables["c"]}).result
    expected = pa.table(
        {
            name: pa.chunked_array([part.field(of) for part in whole[side].chunks])
            for name, side, of in (("a", "ab", "a"), ("b", "ab", "b"), ("c", "c", "id"))
        }
    )
    assert expected.num_rows > 100
    sources = make_sources(tmp_path, in_parts(tables, 3))
    frames = {name: source.read_stream(spark) for name, source in sources.items()}
    first = FIRST.stream(
        {name: frames[name] for name in "ab"}, shards=2, name="first", watermark=False
    )
    second = SECOND.stream(
        {"ab": first.selectExpr(*COLUMNS), "c": frames["c"]}, shards=2, name="second"
    )
    query = patiently(second.selectExpr("ab.a AS a", "ab.b AS b", "c.id AS c"), tmp_path)
    assert rows_written(spark, tmp_path, expected.schema) == canonical_rows(expected)
    assert ps.progress(query, "first").emitted == between.num_rows
    assert ps.progress(query, "second").emitted == expected.num_rows

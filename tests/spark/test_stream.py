"""A join of streams on Spark has the rows and the metrics of `replay`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import penstock as ps
from penstock.testing import canonical_rows, market
from tests.spark.support import counts, in_parts, stream_rows

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


@pytest.mark.parametrize("strategy", [None, pytest.param("fifo", marks=pytest.mark.slow), "random"])
def test_a_market_in_micro_batches(
    spark: SparkSession, tmp_path: Path, strategy: str | None
) -> None:
    site = market(auctions=300, seed=3)
    join = ps.Join(
        streams={
            "auctions": ps.Stream(time="opened_at", window="7 days"),
            "bids": ps.Stream(time="at", window="0 seconds"),
        },
        on=ps.Equal(auctions="id", bids="auction_id"),
        goal=ps.MaxSubset(strategy=strategy),
        budget=None if strategy is None else ps.Budget(rows=20),
    )
    batches = in_parts({"auctions": site.auctions, "bids": site.bids}, 3)
    rows, metrics = stream_rows(spark, join, batches, tmp_path)
    expected = join.replay(batches, shards=2, ended=False)
    assert rows == canonical_rows(expected.result)
    assert counts(metrics) == counts(expected.metrics)
    assert metrics.state_bytes > 0


@pytest.mark.parametrize("cold", [True, False])
def test_it_says_when_kernels_have_to_be_compiled(
    spark: SparkSession,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    cold: bool,
) -> None:
    monkeypatch.setattr("penstock.spark.stream.is_cold", lambda: cold)
    frame = spark.readStream.format("rate").load()
    stream = ps.Stream(time="timestamp", window="1 second")
    join = ps.Join(streams={"a": stream, "b": stream}, on=ps.Equal("value"))
    join.stream({"a": frame, "b": frame}, shards=2)
    words = [record.getMessage() for record in caplog.records if record.name == "penstock"]
    assert len(words) == cold
    assert all("compiles its kernels" in each and "`penstock warm`" in each for each in words)

"""Tests of the examples that run on Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from examples.market import __main__ as new_sellers
from examples.market import streams as site
from examples.quotes import exchange
from examples.quotes.on_spark import SHARDS, run_on_spark
from examples.sellers import __main__ as market_sellers
from examples.sellers.picture import save_sellers
from tests.spark.support import counts

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def test_the_sellers_are_estimated_better_from_a_sample_than_from_a_maximum_subset(
    spark: SparkSession, tmp_path: Path
) -> None:
    sellers = market_sellers.sellers(spark, market_sellers.tables(6_000), share=0.2)
    assert len(sellers) == market_sellers.SELLERS
    assert sum(each.auctions for each in sellers) == 6_000
    sampled = [abs(each.estimate / each.true - 1) for each in sellers]
    scaled = [abs(each.scaled / each.true - 1) for each in sellers]
    assert 1.5 * sum(sampled) < sum(scaled)
    assert sellers[0].scaled > 1.3 * sellers[0].true  # hot auctions were kept
    assert sellers[-1].scaled < 0.8 * sellers[-1].true
    picture = tmp_path / "sellers.png"
    save_sellers(picture, sellers)
    assert picture.read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
def test_the_market_runs_as_a_streaming_query(
    spark: SparkSession, capsys: pytest.CaptureFixture[str]
) -> None:
    assert spark.range(1).count() == 1  # the example takes the session that there is
    tables = site.tables(400)
    query = site.query(tables)
    plan = query.optimize(query.measure(tables))
    assert new_sellers.on_spark(plan, tables, parts=3) == plan.replay(tables).result.num_rows
    assert "measured" in capsys.readouterr().out


def test_the_burst_at_the_exchange_is_that_of_a_replay(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    streams = exchange.exchange()
    metrics = run_on_spark(spark, streams, tmp_path, each=25)
    join = exchange.join(exchange.BUDGET)
    replay = join.replay(exchange.in_seconds(streams, 25), shards=SHARDS, ended=False)
    assert counts(metrics) == counts(replay.metrics)
    assert metrics.throttle is not None
    assert metrics.throttle < 0.9

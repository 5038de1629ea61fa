"""The Kafka example, over its stand-in for a broker: partitions, offsets, restarts."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from pyspark.sql.pandas.types import from_arrow_schema

from examples.kafka import __main__ as kafka
from examples.kafka import stand_in
from examples.kafka.market_topics import messages, tables
from penstock.testing import canonical_rows

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    import penstock as ps

pytestmark = pytest.mark.spark

SHARDS = 2
PARTITIONS = 3
BUDGET = 120


@pytest.fixture
def with_stand_in(spark: SparkSession) -> SparkSession:
    stand_in.register(spark)
    return spark


def divided(table: pa.Table) -> list[pa.Table]:
    """Divide a stream over partitions, row by row."""
    return [table.take(list(range(p, table.num_rows, PARTITIONS))) for p in range(PARTITIONS)]


def micro_batches(checkpoint: Path, logs: dict[str, list[pa.Table]]) -> dict[str, list[pa.Table]]:
    """Return what each micro-batch had, by the offsets that Spark has logged."""
    batches: dict[str, list[pa.Table]] = {topic: [] for topic in logs}
    before: dict[str, dict[str, int]] = {topic: {} for topic in logs}
    for number in range(len(list((checkpoint / "offsets").glob("[0-9]*")))):
        # A version, the settings, and a line for each source; the last is Penstock's own.
        _, _, *lines, _ = (checkpoint / "offsets" / str(number)).read_text().splitlines()
        for (topic, partitions), line in zip(logs.items(), lines, strict=True):
            ends: dict[str, int] = json.loads(line)
            parts = [
                partitions[int(name.rpartition("-")[2])].slice(
                    start := before[topic].get(name, 0), end - start
                )
                for name, end in ends.items()
            ]
            batches[topic].append(pa.concat_tables([partitions[0].slice(0, 0), *parts]))
            before[topic] = ends
    return batches


def run(spark: SparkSession, folder: Path) -> ps.Metrics:
    options = {"folder": str(folder / "topics"), "maxOffsetsPerTrigger": "250"}
    return kafka.run(spark, options, folder / "out", budget_rows=BUDGET, shards=SHARDS)


def test_partitions_that_lag_and_one_that_comes_later(
    with_stand_in: SparkSession, tmp_path: Path
) -> None:
    spark, topics = with_stand_in, tmp_path / "topics"
    logs = {topic: divided(table) for topic, table in tables(250).items()}
    # At first half of what there is, from one partition a tenth, and one partition is missing.
    shares = {0: 0.5, 1: 0.1}
    split = {
        topic: [int(shares.get(p, 0) * part.num_rows) for p, part in enumerate(parts)]
        for topic, parts in logs.items()
    }
    runs = []
    for first in (True, False):
        for topic, parts in logs.items():
            for p, part in enumerate(parts):
                at = split[topic][p]
                lines = messages(part)[:at] if first else messages(part)[at:]
                if lines:
                    stand_in.append(topics, topic, p, lines)
        runs.append(run(spark, tmp_path))
    metrics = runs[-1]
    batches = micro_batches(tmp_path / "out" / "checkpoint", logs)
    sizes = {topic: [table.num_rows for table in parts] for topic, parts in batches.items()}
    for topic, parts in logs.items():
        assert sum(sizes[topic]) == sum(part.num_rows for part in parts)
    assert max(map(max, sizes.values())) <= 250 + PARTITIONS
    expected = kafka.join(BUDGET).replay(batches, shards=SHARDS, ended=False)
    found = _written(spark, tmp_path, expected.result.schema)
    assert found == canonical_rows(expected.result)
    assert metrics.held_most <= BUDGET
    assert metrics.lost > 0
    assert {n: each.late for n, each in metrics.streams.items()} == {
        n: each.late for n, each in expected.metrics.streams.items()
    }
    assert metrics.streams["bids"].late > 0  # the partition that came later


def test_in_step_and_with_room_it_is_the_exact_join(
    with_stand_in: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    topics, out = str(tmp_path / "topics"), str(tmp_path / "out")
    kafka.main(["produce", topics, "--auctions", "60"])
    kafka.main(["join", "--stand-in", topics, "--out", out, "--rows", "10000"])
    expected = kafka.join(10_000).replay(tables(60), ended=False).result
    found = _written(with_stand_in, tmp_path, expected.schema)
    assert found == canonical_rows(expected)
    assert capsys.readouterr().out.startswith(f"{len(found)} matches, with ")


def test_the_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kafka.main(["messages", "bids", "--auctions", "20"])
    printed = capsys.readouterr().out.splitlines()
    assert printed == messages(tables(20)["bids"])
    kafka.main(["produce", str(tmp_path), "--auctions", "20", "--partitions", "2"])
    lines = [p.read_text().splitlines() for p in sorted((tmp_path / "bids").glob("*/*.jsonl"))]
    assert lines == [printed[0::2], printed[1::2]]
    with pytest.raises(SystemExit):
        kafka.main(["join"])
    assert "--servers --stand-in is required" in capsys.readouterr().err


def _written(spark: SparkSession, folder: Path, schema: pa.Schema) -> list[tuple[str, ...]]:
    files = spark.read.schema(from_arrow_schema(schema)).parquet(str(folder / "out" / "matches"))
    return canonical_rows(files.toArrow().cast(schema))

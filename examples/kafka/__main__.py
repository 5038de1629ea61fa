"""Join two topics of Kafka within a budget, and write the results to Parquet files."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

import penstock as ps
from examples.kafka import stand_in
from examples.kafka.market_topics import messages, rows, tables
from penstock.spark import session

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame, SparkSession

PACKAGE = "org.apache.spark:spark-sql-kafka-0-10_2.13:4.3.0"
"""Spark's Kafka source, which Spark fetches when the session starts."""

TOPICS = ("auctions", "bids")


def join(budget_rows: int) -> ps.Join:
    """Join each bid with its auction.

    Partitions of a topic are read one beside the other, and one may be behind. Rows that are no
    more than `lateness` older than the newest row of earlier micro-batches still take part.
    """
    return ps.Join(
        streams={
            "auctions": ps.Stream(time="opened_at", window="7 days", lateness="12 hours"),
            "bids": ps.Stream(time="at", window="12 hours", lateness="12 hours"),
        },
        on=ps.Equal(auctions="id", bids="auction_id"),
        budget=ps.Budget(rows=budget_rows),
    )


def read_topic(spark: SparkSession, topic: str, options: dict[str, str]) -> DataFrame:
    """Read a topic from a broker, or from the stand-in if the options name a folder."""
    source = stand_in.FORMAT if "folder" in options else "kafka"
    return (
        spark.readStream.format(source)
        .options(**options)
        .option("subscribe", topic)
        .option("startingOffsets", "earliest")
        .load()
    )


def run(
    spark: SparkSession, options: dict[str, str], out: Path, *, budget_rows: int, shards: int
) -> ps.Metrics:
    """Join what the topics have now; called again it goes on where it stopped."""
    frames = {topic: rows(read_topic(spark, topic, options), topic) for topic in TOPICS}
    query = (
        join(budget_rows)
        .stream(frames, shards=shards)
        .writeStream.format("parquet")
        .option("path", str(out / "matches"))
        .option("checkpointLocation", str(out / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    return ps.progress(query)


def produce(folder: Path, auctions: int, partitions: int) -> None:
    """Write the market to the topics of the stand-in, row after row to the next partition."""
    for topic, table in tables(auctions).items():
        lines = messages(table)
        for partition in range(partitions):
            stand_in.append(folder, topic, partition, lines[partition::partitions])


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one of the commands."""
    parser = argparse.ArgumentParser(prog="python -m examples.kafka", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    printing = commands.add_parser("messages", help="print the messages of a topic, one a line")
    printing.add_argument("topic", choices=TOPICS)
    producing = commands.add_parser("produce", help="write the messages to the stand-in")
    producing.add_argument("folder", type=Path)
    producing.add_argument("--partitions", type=int, default=3)
    for each in (printing, producing):
        each.add_argument("--auctions", type=int, default=2000)
    joining = commands.add_parser("join", help="join the topics")
    place = joining.add_mutually_exclusive_group(required=True)
    place.add_argument("--servers", help="brokers of Kafka: host:port, ...")
    place.add_argument("--stand-in", help="folder of the stand-in")
    joining.add_argument("--out", type=Path, default=Path("out"))
    joining.add_argument("--rows", type=int, default=300, help="budget")
    joining.add_argument("--shards", type=int, default=2)
    joining.add_argument("--per-trigger", type=int, default=2000, help="messages of each topic")
    given = parser.parse_args(arguments)
    if given.command == "messages":
        print("\n".join(messages(tables(given.auctions)[given.topic])))
    elif given.command == "produce":
        produce(given.folder, given.auctions, given.partitions)
    else:
        _join(given)


def _join(given: argparse.Namespace) -> None:
    options = {"maxOffsetsPerTrigger": str(given.per_trigger)}
    if given.servers is None:
        spark = session()
        stand_in.register(spark)
        options["folder"] = given.stand_in
    else:
        spark = session(settings={"spark.jars.packages": PACKAGE})
        options["kafka.bootstrap.servers"] = given.servers
    metrics = run(spark, options, given.out, budget_rows=given.rows, shards=given.shards)
    late = sum(each.late for each in metrics.streams.values())
    print(f"{metrics.emitted:,} matches, with {metrics.held_most:,} rows in memory; {late:,} late")


if __name__ == "__main__":
    main()

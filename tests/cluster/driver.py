"""The program that runs on the cluster: joins over a folder of micro-batches, into Parquet files.

    python -m tests.cluster.driver FOLDER

Files come while it runs. Once `ALL` is there it reads what is left, and ends. Started again with
the same folder it resumes from its checkpoints.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark import cloudpickle

from penstock.spark import session, stream
from tests.cluster import two_attempts
from tests.spark.crash_driver import FILES, JOINS, ROWS, RUNNING, SHARDS, make_batches
from tests.spark.support import Source

ALL = "all"
"""File in the folder that exists once all micro-batches are there."""
SETTINGS = "settings.json"
"""File in the folder with the settings of Spark."""
MEETING = "meeting"
"""Folder in which two attempts at a task wait for each other, if it exists."""
KINDS = ("exact", "learning")
"""Joins: one without a budget, and one whose state has everything that a state can have."""
PARTITIONS = 3
"""Of each stream where attempts meet, so that its rows can come to a shard in several orders."""


def main(folder: Path) -> None:
    """Run all joins at the same time, each in its own query."""
    meet = (folder / MEETING).exists()
    if meet:
        # Executors cannot import the tests.
        cloudpickle.register_pickle_by_value(two_attempts)  # type: ignore[no-untyped-call]
        two_attempts.TwoAttempts.folder = str(folder / MEETING)
        setattr(stream, "JoinProcessor", two_attempts.TwoAttempts)  # noqa: B010  # it is not public
    settings = json.loads((folder / SETTINGS).read_text())
    spark = session(log=folder / "spark.log", memory="512m", settings=settings)
    kinds = {name: pa.struct(list(tables[0].schema)) for name, tables in make_batches(1).items()}
    source = Source(folder / FILES, pa.schema(kinds))
    keys = {"auctions": "id", "bids": "auction_id"}
    queries = {}
    for kind in KINDS:
        files = source.read_stream(spark)
        frames = {name: files.where(f"{name} IS NOT NULL").select(f"{name}.*") for name in kinds}
        if meet:
            frames = {n: each.repartition(PARTITIONS, keys[n]) for n, each in frames.items()}
        queries[kind] = (
            JOINS[kind]
            .stream(frames, shards=SHARDS)
            .writeStream.format("parquet")
            .option("path", str(folder / kind / "out"))
            .option("checkpointLocation", str(folder / kind / "checkpoint"))
            .start()
        )
    (folder / RUNNING).touch()
    while not (folder / ALL).exists():
        for query in queries.values():
            assert query.isActive, query.exception()
        time.sleep(0.05)
    for kind, query in queries.items():
        query.processAllAvailable()
        query.stop()
        # Spark reads only the files that its log of the folder says were committed.
        rows = spark.read.parquet(str(folder / kind / "out")).toArrow()
        pq.write_table(rows, folder / kind / ROWS)
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())

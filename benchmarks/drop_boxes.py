"""What a row costs that a drop box drops, beside one that goes through.

``python -m benchmarks.drop_boxes`` prints it.

Counted is processor time of Java and of its Python processes, so that other programs matter little.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import tempfile
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import penstock as ps
from penstock.planning.drop_boxes import DropBoxes
from penstock.spark import session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from penstock.planning.plan import Plan

_TICKS = os.sysconf("SC_CLK_TCK")
# So few that none is kept: all are hashed, and dropped.
_NONE = 1e-12


def processor_seconds() -> float:
    """Return the processor time of all processes that this one has started, and they in turn."""
    listed = subprocess.run(
        ["ps", "-A", "-o", "pid=,ppid="],  # noqa: S607  # wherever the system has it
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    above = {int(pid): int(parent) for pid, parent in map(str.split, listed.splitlines())}
    total = 0.0
    for pid in above:
        at = pid
        while at in above and at != os.getpid():
            at = above[at]
        if at == os.getpid() and pid != at:
            try:
                fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            total += sum(map(int, fields[11:15])) / _TICKS  # with children that have ended
    return total


def tables(rows: int) -> dict[str, pa.Table]:
    """Return bids, and an auction for each hundred of them."""
    chance = np.random.default_rng(0)
    micros = pa.array(np.arange(rows) * 10).cast(pa.timestamp("us", "UTC"))
    bids = pa.table(
        {
            "auction": chance.integers(0, rows // 100, rows),
            "price": chance.uniform(1, 1000, rows),
            "bidder": [f"bidder-{at % 9973:05}" for at in range(rows)],
            "at": micros,
        }
    )
    opened = micros.take(pa.array(np.arange(0, rows, 100)))
    auctions = pa.table({"id": np.arange(rows // 100), "opened_at": opened})
    return {"auctions": auctions, "bids": bids}


def batch(plan: Plan, frames: dict[str, DataFrame], share: float) -> DataFrame:
    """Return a plan that keeps a share of the bids, as a batch."""
    boxed = replace(plan, boxes=DropBoxes(kept={"b": share}, rate=1.0, cost=1.0, value=1.0))
    return boxed.batch(frames, shards=2)


def in_turns(cases: dict[str, DataFrame], repeats: int) -> dict[str, float]:
    """Return the processor time of each case: the median of runs that take turns.

    The first two rounds do not count: Java compiles.
    """
    taken: dict[str, list[float]] = {name: [] for name in cases}
    for _ in range(repeats + 2):
        for name, frame in cases.items():
            before = processor_seconds()
            frame.write.format("noop").mode("overwrite").save()
            taken[name].append(processor_seconds() - before)
    return {name: median(each[2:]) for name, each in taken.items()}


def main() -> None:
    """Print what a row costs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--repeats", type=int, default=8)
    options = parser.parse_args()
    given = tables(options.rows)
    query = ps.Query(
        "SELECT a.id, b.price, b.bidder FROM auctions a [RANGE 1 SECOND], bids b [NOW] "
        "WHERE a.id = b.auction",
        streams={"auctions": "opened_at", "bids": "at"},
    )
    plan = query.optimize(
        query.measure({name: table.slice(0, 20_000) for name, table in given.items()})
    )
    spark = session(cores=2)
    with tempfile.TemporaryDirectory() as folder:
        frames = {}
        for name, table in given.items():
            pq.write_table(table, f"{folder}/{name}.parquet")
            frames[name] = spark.read.parquet(f"{folder}/{name}.parquet")
        taken = in_turns(
            {
                "empty": batch(plan, frames, 0.0),
                "nothing": frames["bids"].where("FALSE"),
                "read": frames["bids"],
                "dropped": batch(plan, frames, _NONE),
                "through": batch(plan, frames, 1.0),
            },
            options.repeats,
        )
    # Without bids the query still reads the auctions, starts its tasks and its Python processes.
    cost = {name: 1e6 * (each - taken["empty"]) / options.rows for name, each in taken.items()}
    read = 1e6 * (taken["read"] - taken["nothing"]) / options.rows
    print(f"a row that goes through: {cost['through']:.3f} microseconds of a processor")
    print(f"a row that is dropped:   {cost['dropped']:.3f}")
    print(f"to read a row:           {read:.3f}")
    print(f"share:                   {cost['dropped'] / cost['through']:.3f}")
    spark.stop()


if __name__ == "__main__":
    main()

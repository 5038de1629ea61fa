"""What more shards than partitions cost on Spark: room to grow, paid for in every micro-batch.

``python -m benchmarks.shards`` prints it.

The same join runs over the same files, each time from a new checkpoint to the end, with one, two,
four and eight shards for each partition of Spark. The ways take turns. Counted are rows per second
by the clock, and processor time of Java and of its Python processes.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import penstock as ps
from benchmarks.data import LEFT, RIGHT, keyed
from benchmarks.drop_boxes import processor_seconds
from benchmarks.workload import Sizes, join_of
from benchmarks.workload_on_spark import files_of, run_to_the_end
from penstock.bench.timing import Spread, ratios
from penstock.report.tables import Table
from penstock.spark import session

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

TIMES = (1, 2, 4, 8)
"""Shards for each partition."""


def measure(
    sizes: Sizes, partitions: int, folder: Path, times: Sequence[int] = TIMES
) -> dict[int, list[tuple[float, float]]]:
    """Return the seconds by the clock and of the processor of each way, in each round."""
    spark = session(cores=partitions)
    spark.conf.set("spark.sql.shuffle.partitions", str(partitions))
    tables = keyed(sizes.rows, sizes.keys, seed=0)
    frames = files_of(spark, {name: tables[name] for name in (LEFT, RIGHT)}, sizes.batches, folder)
    join = replace(join_of(sizes), budget=ps.Budget(rows=sizes.budget_rows))
    started = {each: partial(join.stream, frames, shards=each * partitions) for each in times}
    taken: dict[int, list[tuple[float, float]]] = {each: [] for each in times}
    for number in range(sizes.rounds + 1):  # the first warms up: Java compiles
        for each, start in started.items():
            before, began = processor_seconds(), time.perf_counter()
            run_to_the_end([start()], folder)
            if number:
                passed = time.perf_counter() - began
                taken[each].append((passed, processor_seconds() - before))
    spark.stop()
    return taken


def table_of(
    taken: Mapping[int, Sequence[tuple[float, float]]], sizes: Sizes, partitions: int
) -> Table:
    """Return rows per second, and processor time as a multiple of that with one shard each."""
    first = min(taken)
    rows = []
    for each, turns in taken.items():
        per_second = Spread.of([2 * sizes.rows / passed / 1e3 for passed, _ in turns])
        of_one = ratios([cpu for _, cpu in turns], [cpu for _, cpu in taken[first]])
        rows.append((f"{each * partitions}", f"{each}", per_second.text(1), of_one.text()))
    return Table.titled(
        f"{sizes.batches} micro-batches of {2 * sizes.rows // sizes.batches:,} rows, budget "
        f"{sizes.budget_rows:,} rows, {partitions} partitions and cores",
        ("shards", "for each partition", "thousand rows/s", "times the processor time of 1"),
        tuple(rows),
    )


def main() -> None:
    """Print rows per second and processor times."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=400_000, help="of each stream")
    parser.add_argument("--window-rows", type=int, default=100_000)
    parser.add_argument("--batches", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--partitions", type=int, default=2)
    options = parser.parse_args()
    window = options.window_rows
    sizes = Sizes(options.rows, window, window * 2 // 5, window, options.batches, options.rounds)
    with tempfile.TemporaryDirectory() as folder:
        taken = measure(sizes, options.partitions, Path(folder))
    print(table_of(taken, sizes, options.partitions).as_text())


if __name__ == "__main__":
    main()

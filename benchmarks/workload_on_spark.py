"""Processor time of three joins on Spark: as one workload, as one large join, as three queries.

``python -m benchmarks.workload_on_spark`` prints it.

Counted is processor time of Java and of its Python processes, for streaming queries over the same
files, each started with a new checkpoint and run to the end. The ways take turns.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
from pyspark.sql.pandas.types import from_arrow_schema

import penstock as ps
from benchmarks.data import LEFT, RIGHT
from benchmarks.drop_boxes import processor_seconds
from benchmarks.report import Target
from benchmarks.workload import JOINS, Sizes, in_batches, join_of, streams, workload_of
from penstock.bench.timing import ratios
from penstock.spark import session

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

_SHARDS = 2
_MOST_OF_ONE = 1.1
_numbers = count()


def files_of(
    spark: SparkSession, tables: Mapping[str, pa.Table], batches: int, folder: Path
) -> dict[str, DataFrame]:
    """Write each micro-batch of each stream to a file, and return streams of them."""
    frames = {}
    for name, parts in in_batches(tables, batches).items():
        place = folder / name
        place.mkdir(parents=True)
        for number, part in enumerate(parts):
            file = place / f"{number}.parquet"
            pq.write_table(part, file)
            # Spark reads files in the order of their modification times.
            os.utime(file, (1_700_000_000 + number,) * 2)
        reader = spark.readStream.schema(from_arrow_schema(tables[name].schema))
        frames[name] = reader.option("maxFilesPerTrigger", 1).parquet(str(place))
    return frames


def run_to_the_end(frames: list[DataFrame], folder: Path) -> None:
    """Run queries at the same time, until all have read their files."""
    queries = [
        frame.writeStream.format("noop")
        .option("checkpointLocation", str(folder / f"checkpoint-{next(_numbers)}"))
        .trigger(availableNow=True)
        .start()
        for frame in frames
    ]
    for query in queries:
        query.awaitTermination()


def measure(sizes: Sizes, folder: Path) -> dict[str, list[float]]:
    """Return the processor time of each way in each round."""
    spark = session(cores=2)
    own, together = streams(sizes)
    prefixed = {f"{name}_{side}": own[name][side] for name in JOINS for side in (LEFT, RIGHT)}
    apart = files_of(spark, prefixed, sizes.batches, folder / "apart")
    whole = files_of(spark, together, sizes.batches, folder / "together")
    work = workload_of(sizes)
    large = replace(join_of(sizes), budget=ps.Budget(rows=len(JOINS) * sizes.budget_rows))

    def three() -> list[DataFrame]:
        budget = ps.Budget(rows=sizes.budget_rows)
        joins = {name: replace(join, budget=budget) for name, join in work.joins.items()}
        return [
            join.stream({each: apart[each] for each in join.names}, shards=_SHARDS)
            for join in joins.values()
        ]

    ways: dict[str, Callable[[], list[DataFrame]]] = {
        "workload": lambda: [work.stream(apart, shards=_SHARDS)],
        "one large join": lambda: [large.stream(whole, shards=_SHARDS)],
        "three queries": three,
    }
    taken: dict[str, list[float]] = {name: [] for name in ways}
    for number in range(sizes.rounds + 1):  # the first warms up: Java compiles
        for name, make in ways.items():
            before = processor_seconds()
            run_to_the_end(make(), folder)
            if number:
                taken[name].append(processor_seconds() - before)
    spark.stop()
    return taken


def targets(taken: Mapping[str, list[float]]) -> tuple[Target, ...]:
    """Compare a workload with one large join, and with three queries."""
    of_one, of_three = (
        ratios(taken["workload"], taken[other]) for other in ("one large join", "three queries")
    )
    return (
        Target(
            f"a workload of 3 joins takes at most {_MOST_OF_ONE} times the processor time of one "
            f"join three times as large",
            f"{of_one.text()} times",
            reached=of_one.median <= _MOST_OF_ONE,
        ),
        Target(
            "and less than three queries", f"{of_three.text()} times", reached=of_three.median < 1
        ),
    )


def main() -> None:
    """Print processor times and ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=500_000, help="of each stream")
    parser.add_argument("--window-rows", type=int, default=100_000)
    parser.add_argument("--batches", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    window = options.window_rows
    sizes = Sizes(options.rows, window, window * 2 // 5, window, options.batches, options.rounds)
    with tempfile.TemporaryDirectory() as folder:
        taken = measure(sizes, Path(folder))
    for name, each in taken.items():
        print(f"{name}: {', '.join(f'{seconds:.1f}' for seconds in each)} s")
    for target in targets(taken):
        print(target.as_text())


if __name__ == "__main__":
    main()

"""How joins are measured: all queries in one session, on the same files, in turns."""

from __future__ import annotations

import shutil
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.bench.figures import Figures, Measured
from penstock.bench.files import write_files
from penstock.bench.queries import floor, our_join, spark_join
from penstock.errors import PenstockError, SpecificationError, must
from penstock.join import progress
from penstock.report.progress import silent_step

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.listener import StreamingQueryProgress
    from pyspark.sql.streaming.query import StreamingQuery

    from penstock.report.progress import Step


_PROVIDER = "spark.sql.streaming.stateStore.providerClass"
_PACKAGE = "org.apache.spark.sql.execution.streaming.state."
_PROVIDERS = {
    "spark": _PACKAGE + "HDFSBackedStateStoreProvider",
    "rocksdb": _PACKAGE + "RocksDBStateStoreProvider",
}
# How many of a query's micro-batches Spark remembers; 100 by default.
_REMEMBERED = "spark.sql.streaming.numRecentProgressUpdates"
# Micro-batches that do not count: Spark starts its workers, and Java compiles its hot code.
_START_UP = 4
# With 2.5 rows of each key in a window, a left row has about 5 results.
_WINDOW_PER_KEY = 2.5


@dataclass(frozen=True)
class Size:
    """How much is measured.

    Attributes
    ----------
    rows
        Of each stream in a micro-batch.
    keys
        Different ones; windows hold 2.5 rows of each.
    batches
        Micro-batches that count, after 4 that do not.
    turns
        How often the quick queries take their turns; the first turn only warms them up.

    Raises
    ------
    SpecificationError
        If there is too little to measure.
    """

    rows: int = 100_000
    keys: int = 20_000
    batches: int = 10
    turns: int = 2

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            if value < 1:
                raise SpecificationError(must(name, "1 or more", value, "raise it"))


@dataclass(frozen=True)
class _Query:
    """A query to be measured."""

    name: str
    make: Callable[[], DataFrame]
    provider: str = "rocksdb"
    start_up: int = _START_UP


def bench_join(
    spark: SparkSession, size: Size, *, with_spark: bool = True, step: Step = silent_step
) -> Figures:
    """Measure the exact join and others, and Spark's own, on the same files.

    Parameters
    ----------
    spark
        The session; a local one.
    size
        How much is measured.
    with_spark
        Whether Spark's own join is measured too: that takes most of the time.
    step
        Reports progress; see `penstock.report.progress`.

    Raises
    ------
    SpecificationError
        If there are too few keys for the number of cores.
    PenstockError
        If two joins that should give the same number of results do not.
    """
    shards = spark.sparkContext.defaultParallelism
    # A tenth of the memory is half a row for each key, and each shard needs one of each stream.
    if size.keys < 4 * shards:
        requirement = f"{4 * shards} or more on {shards} cores"
        raise SpecificationError(must("keys", requirement, size.keys, "raise it"))
    settings = {name: str(spark.conf.get(name)) for name in (_PROVIDER, _REMEMBERED)}
    folder = Path(tempfile.mkdtemp(prefix="penstock-bench-"))
    try:
        return _measure_all(spark, size, folder, step, with_spark=with_spark)
    finally:
        for name, value in settings.items():
            spark.conf.set(name, value)
        shutil.rmtree(folder, ignore_errors=True)


def _measure_all(
    spark: SparkSession, size: Size, folder: Path, step: Step, *, with_spark: bool
) -> Figures:
    window = round(_WINDOW_PER_KEY * size.keys)
    # The long window must be full before its micro-batches count.
    fill = max(_START_UP, -(-10 * window // size.rows) + 1)
    with step("Writing the files ..."):
        for name, keys in (("files", size.keys), ("long", 10 * size.keys)):
            batches = size.batches + (fill if name == "long" else _START_UP)
            write_files(folder / name, batches=batches, rows=size.rows, keys=keys)
    files, long = folder / "files", folder / "long"
    shards = spark.sparkContext.defaultParallelism
    tenth = round(0.1 * 2 * window)
    quick = {
        "floor": _Query(
            "floor: to Python, shuffle, to Python", lambda: floor(spark, files, shards)
        ),
        "exact": _Query("Penstock, exact", lambda: our_join(spark, files, window, shards)),
        "long": _Query(
            "Penstock, exact, window and keys times ten",
            lambda: our_join(spark, long, 10 * window, shards),
            start_up=fill,
        ),
        "fifo": _Query(
            "Penstock, fifo, a tenth of the memory",
            lambda: our_join(spark, files, window, shards, strategy="fifo", rows=tenth),
        ),
        "best": _Query(
            "Penstock, its own choice, a tenth of the memory",
            lambda: our_join(spark, files, window, shards, strategy="best", rows=tenth),
        ),
    }
    slow = {
        "spark": _Query(
            "Spark, default state store", lambda: spark_join(spark, files, window), "spark"
        ),
        "rocksdb": _Query("Spark, RocksDB", lambda: spark_join(spark, files, window)),
    }
    measured: dict[str, Measured] = {}
    for turn in range(size.turns):
        of = f", turn {turn + 1} of {size.turns}" if size.turns > 1 else ""
        for name, query in quick.items():
            with step(f"{query.name}{of} ...") as tell:
                found = _measure(spark, query, folder / f"{name}-{turn}", size, tell)
            # The first turn warms up; all others count.
            measured[name] = found if turn < 2 else _with(measured[name], found)
    if with_spark:
        for name, query in slow.items():
            with step(f"{query.name} ...") as tell:
                measured[name] = _measure(spark, query, folder / name, size, tell)
        _check_same(measured)
    return Figures(measured)


def _measure(
    spark: SparkSession, query: _Query, folder: Path, size: Size, tell: Callable[[str], object]
) -> Measured:
    batches = query.start_up + size.batches
    spark.conf.set(_PROVIDER, _PROVIDERS[query.provider])
    # Twice as many, as Spark's own join has some without rows, which clean up.
    spark.conf.set(_REMEMBERED, str(2 * batches))
    running = (
        query.make()
        .writeStream.format("noop")
        .option("checkpointLocation", str(folder))
        .trigger(availableNow=True)
        .start()
    )
    done = 0
    try:
        while running.isActive:
            time.sleep(0.05)
            last = running.lastProgress
            if last is not None and last.batchId >= done:
                done = last.batchId + 1
                tell(f"micro-batch {done} of {batches}")
        running.awaitTermination()
    finally:
        running.stop()  # one that was interrupted still writes to the folder
    updates = [each for each in running.recentProgress if each.numInputRows]
    counted = updates[query.start_up :]
    emitted = sum(max(0, each.sink.numOutputRows) for each in counted)
    joins = bool(updates[0].stateOperators)
    shutil.rmtree(folder, ignore_errors=True)
    return Measured(
        name=query.name,
        rows_per_batch=2 * size.rows,
        seconds=tuple(each.durationMs["triggerExecution"] / 1000 for each in counted),
        results_per_left_row=emitted / (size.rows * len(counted)) if joins else 0.0,
        state_bytes=_state_bytes(running, updates[-1]),
    )


def _state_bytes(query: StreamingQuery, last: StreamingQueryProgress) -> int:
    ours = progress(query).state_bytes if "penstock" in last.observedMetrics else 0
    return ours or sum(each.memoryUsedBytes for each in last.stateOperators)


def _with(one: Measured, other: Measured) -> Measured:
    return Measured(
        name=other.name,
        rows_per_batch=other.rows_per_batch,
        seconds=one.seconds + other.seconds,
        results_per_left_row=other.results_per_left_row,
        state_bytes=other.state_bytes,
    )


def _check_same(measured: dict[str, Measured]) -> None:
    ours = measured["exact"].results_per_left_row
    for name in ("spark", "rocksdb"):
        theirs = measured[name].results_per_left_row
        if theirs != ours:
            raise PenstockError(
                f"results per left row must be the same; got {ours} by Penstock and {theirs} by "
                f"{measured[name].name}; please report this"
            )

"""How a live benchmark runs: calibration first, then one query after the other."""

from __future__ import annotations

import shutil
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from penstock.bench.live.calibration import Calibration
from penstock.bench.live.course import Course, course_of
from penstock.bench.live.figures import LiveFigures
from penstock.bench.live.real_time import monitor
from penstock.bench.live.sources import all_rows, compile_kernels, live_sources
from penstock.budget import Budget
from penstock.report.progress import silent_step

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from penstock.bench.live.load import AnyLoad
    from penstock.bench.live.speed import Sample, Speed
    from penstock.report.progress import Step

__all__ = ["bench_live"]

_PROVIDER = "spark.sql.streaming.stateStore.providerClass"
_PACKAGE = "org.apache.spark.sql.execution.streaming.state."
_DEFAULT, _ROCKSDB = (f"{_PACKAGE}{name}StateStoreProvider" for name in ("HDFSBacked", "RocksDB"))
_PARTITIONS = "spark.sql.shuffle.partitions"
# How many of a query's micro-batches Spark remembers; 100 by default.
_REMEMBERED = "spark.sql.streaming.numRecentProgressUpdates"
# Seconds between two queries, in which the tasks of the one that was stopped end.
_PAUSE = 3.0
# A budget with which everything is compiled that a budget needs: nearly all is shed.
_SMALL_BUDGET = Budget(cpu=0.001)

_Figures = TypeVar("_Figures", bound=LiveFigures[Any, Any])


def bench_live(
    spark: SparkSession,
    load: AnyLoad,
    kind: type[_Figures],
    *,
    speed: Speed | None = None,
    step: Step = silent_step,
) -> _Figures:
    """Join streams in real time, faster than the exact join can, by several queries in turn.

    Parameters
    ----------
    spark
        The session; a local one.
    load
        What is joined, and by which queries.
    kind
        What is returned.
    speed
        Of the exact join; None to measure it.
    step
        Reports progress; see `penstock.report.progress`.

    Raises
    ------
    SessionError
        If micro-batches take seconds without any rows, or leave no time for a join.
    """
    settings = {name: spark.conf.get(name, None) for name in (_PROVIDER, _PARTITIONS, _REMEMBERED)}
    folder = Path(tempfile.mkdtemp(prefix=f"penstock-{load.name}-"))
    try:
        return _run_all(spark, load, kind, folder, speed, step)
    finally:
        for name, value in settings.items():
            spark.conf.unset(name) if value is None else spark.conf.set(name, value)
        shutil.rmtree(folder, ignore_errors=True)


def _run_all(
    spark: SparkSession,
    load: AnyLoad,
    kind: type[_Figures],
    folder: Path,
    speed: Speed | None,
    step: Step,
) -> _Figures:
    shards = spark.sparkContext.defaultParallelism
    spark.conf.set(_PROVIDER, _ROCKSDB)
    spark.conf.set(_PARTITIONS, str(shards))
    # As many as there are seconds, and some without rows.
    spark.conf.set(_REMEMBERED, str(2 * load.seconds + 100))
    with step("Compiling the kernels (first run only) ..."):
        for budget in (None, _SMALL_BUDGET):
            compile_kernels(load, load.join(budget))
    samples: tuple[Sample, ...] = ()
    if speed is None:
        calibration = Calibration(spark, load, folder, shards=shards, step=step)
        speed, samples = calibration.speed()
        peak = load.size_at(load.peak(load.plan(speed)), speed)
        plan = load.plan(speed, calibration.overhead(peak))
    else:
        plan = load.plan(speed)
    load = load.planned(plan, speed)
    with step("Counting the results that there are ..."):
        truth = load.count_results({name: all_rows(spark, load, name) for name in load.streams})
    courses: dict[str, Course] = {}
    for name, query in load.queries(plan).items():
        with step(f"{query.name}, for {load.seconds} s ...") as tell:
            spark.conf.set(_PROVIDER, _ROCKSDB if query.is_ours else _DEFAULT)
            monitored = monitor(
                query.make(live_sources(spark, load), shards),
                folder / name,
                trigger=plan.trigger,
                seconds=load.seconds,
                tell=tell,
            )
            time.sleep(_PAUSE)
        courses[name] = course_of(query.name, monitored, truth, load, waits=query.waits)
    return kind(load=load, speed=speed, samples=samples, plan=plan, courses=courses)

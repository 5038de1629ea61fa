"""How the burst runs: calibration first, then one query after the other, on the same streams."""

from __future__ import annotations

import shutil
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.bench.burst_calibration import calibrate, overhead
from penstock.bench.burst_figures import BurstCourse, BurstFigures
from penstock.bench.burst_load import FACTOR, STREAMS, WINDOW, Load
from penstock.bench.burst_plan import plan_of
from penstock.bench.burst_queries import (
    all_rows,
    compile_kernels,
    live_sources,
    our_join,
    sampled,
    spark_join,
)
from penstock.bench.burst_real_time import watch
from penstock.bench.burst_truth import count_results
from penstock.bench.course import course_of
from penstock.budget import Budget
from penstock.report.progress import silent_step

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame, SparkSession

    from penstock.bench.burst_calibration import Sample, Speed
    from penstock.bench.burst_load import Phases
    from penstock.bench.burst_plan import Plan
    from penstock.report.progress import Step

__all__ = ["bench_burst"]

_PROVIDER = "spark.sql.streaming.stateStore.providerClass"
_PACKAGE = "org.apache.spark.sql.execution.streaming.state."
_DEFAULT, _ROCKSDB = (f"{_PACKAGE}{name}StateStoreProvider" for name in ("HDFSBacked", "RocksDB"))
_PARTITIONS = "spark.sql.shuffle.partitions"
# How many of a query's micro-batches Spark remembers; 100 by default.
_REMEMBERED = "spark.sql.streaming.numRecentProgressUpdates"
# Seconds between two queries, in which the tasks of the one that was stopped end.
_PAUSE = 5.0


def bench_burst(
    spark: SparkSession,
    phases: Phases,
    *,
    with_spark: bool = True,
    speed: Speed | None = None,
    step: Step = silent_step,
) -> BurstFigures:
    """Join two streams in real time, with a burst that the exact join is too slow for.

    Parameters
    ----------
    spark
        The session; a local one.
    phases
        How long the streams are, and when the burst is.
    with_spark
        Whether Spark's own join is run, too.
    speed
        Of the exact join; None to measure it.
    step
        Reports progress; see `penstock.report.progress`.

    Raises
    ------
    SessionError
        If micro-batches take seconds without any rows.
    """
    settings = {name: spark.conf.get(name, None) for name in (_PROVIDER, _PARTITIONS, _REMEMBERED)}
    folder = Path(tempfile.mkdtemp(prefix="penstock-burst-"))
    try:
        return _run_all(spark, phases, folder, speed, step, with_spark=with_spark)
    finally:
        for name, value in settings.items():
            spark.conf.unset(name) if value is None else spark.conf.set(name, value)
        shutil.rmtree(folder, ignore_errors=True)


def _run_all(
    spark: SparkSession,
    phases: Phases,
    folder: Path,
    speed: Speed | None,
    step: Step,
    *,
    with_spark: bool,
) -> BurstFigures:
    shards = spark.sparkContext.defaultParallelism
    spark.conf.set(_PROVIDER, _ROCKSDB)
    # As many as there are seconds, and some without rows.
    spark.conf.set(_REMEMBERED, str(2 * phases.seconds + 100))
    with step("Compiling the kernels (first run only) ..."):
        for budget in (None, Budget(cpu=0.5)):
            compile_kernels(our_join(budget))
    samples: tuple[Sample, ...] = ()
    if speed is None:
        speed, samples = calibrate(spark, folder, shards=shards, step=step)
        rate = plan_of(speed).rate * FACTOR
        beside = overhead(
            spark,
            folder,
            rate=rate,
            results_per_row=speed.results_per_row,
            shards=shards,
            step=step,
        )
        plan = plan_of(speed, beside)
    else:
        plan = plan_of(speed)
    load = Load(plan.rate, phases, results_per_row=speed.results_per_row)
    with step("Counting the results that there are ..."):
        truth = count_results(
            *(all_rows(spark, load, stream) for stream in STREAMS),
            window=WINDOW,
            seconds=phases.seconds,
        )
    courses: dict[str, BurstCourse] = {}
    for name, query in _queries(plan, shards, with_spark=with_spark).items():
        with step(f"{query.name}, for {phases.seconds} s ...") as tell:
            spark.conf.set(_PROVIDER, _ROCKSDB if query.is_ours else _DEFAULT)
            spark.conf.set(_PARTITIONS, str(shards))
            frame = query.make(live_sources(spark, load))
            watched = watch(
                frame,
                folder / name,
                trigger=plan.trigger,
                seconds=phases.seconds,
                tell=tell,
            )
            time.sleep(_PAUSE)
        courses[name] = course_of(
            BurstCourse, query.name, watched, truth, phases, waits=query.waits
        )
    return BurstFigures(
        load=load,
        speed=speed,
        samples=samples,
        plan=plan,
        courses=courses,
    )


@dataclass(frozen=True)
class _Query:
    """A query to be run.

    Attributes
    ----------
    name
        In the tables.
    make
        Returns its frame, from those of the streams.
    waits
        Whether rows wait until the other stream has got to their time.
    is_ours
        Whether it is Penstock's: Spark's own join is faster with its default state store.
    """

    name: str
    make: Callable[[dict[str, DataFrame]], DataFrame]
    waits: bool = False
    is_ours: bool = True


def _queries(plan: Plan, shards: int, *, with_spark: bool) -> dict[str, _Query]:
    """Return all queries; those that fall behind last, so that they disturb no other."""
    limited, exact = our_join(Budget(cpu=plan.cpu)), our_join()
    queries = {
        "cpu": _Query(
            f"Penstock, cpu={plan.cpu}",
            lambda frames: limited.stream(frames, shards=shards),
            waits=True,
        ),
        "sampled": _Query(
            f"Penstock, {plan.fraction:.0%} of the rows",
            lambda frames: exact.stream(sampled(frames, plan.fraction), shards=shards),
        ),
        "best": _Query(
            f"Penstock, {plan.best_fraction:.0%} of the rows",
            lambda frames: exact.stream(sampled(frames, plan.best_fraction), shards=shards),
        ),
        "exact": _Query("Penstock, exact", lambda frames: exact.stream(frames, shards=shards)),
    }
    if with_spark:
        queries["spark"] = _Query("Spark's own join", spark_join, is_ours=False)
    return queries

"""How live harvesting runs: calibration first, then one query after the other."""

from __future__ import annotations

import shutil
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.bench.burst_real_time import watch
from penstock.bench.course import Course, course_of
from penstock.bench.harvest_calibration import calibrate, plan_of
from penstock.bench.harvest_figures import HarvestFigures
from penstock.bench.harvest_load import STREAMS, WINDOW, HarvestLoad
from penstock.bench.harvest_queries import all_reports, compile_kernels, live_sources, our_join
from penstock.bench.harvest_truth import count_combinations
from penstock.budget import Budget
from penstock.errors import SpecificationError, must
from penstock.report.progress import silent_step

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from penstock.bench.harvest_calibration import HarvestPlan, HarvestSpeed, RateSample
    from penstock.join import Join
    from penstock.report.progress import Step

__all__ = ["bench_harvest", "check_seconds"]

_PROVIDER = "spark.sql.streaming.stateStore.providerClass"
_ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
_PARTITIONS = "spark.sql.shuffle.partitions"
# How many of a query's micro-batches Spark remembers; 100 by default.
_REMEMBERED = "spark.sql.streaming.numRecentProgressUpdates"
# Seconds between two queries, in which the tasks of the one that was stopped end.
_PAUSE = 5.0
# Seconds that do not count: Spark starts its workers, windows fill, and costs are measured.
_WARM_UP = 15
_LEAST_SECONDS = 4


def check_seconds(seconds: int) -> None:
    """Raise SpecificationError if a measurement of that many seconds is too short."""
    if seconds < _LEAST_SECONDS:
        requirement = f"{_LEAST_SECONDS} or more"
        raise SpecificationError(must("seconds", requirement, seconds, "make it longer"))


def bench_harvest(
    spark: SparkSession,
    seconds: int,
    *,
    warm_up: int = _WARM_UP,
    speed: HarvestSpeed | None = None,
    step: Step = silent_step,
) -> HarvestFigures:
    """Join three streams of vectors in real time, at twice the rate that the exact join can take.

    Parameters
    ----------
    spark
        The session; a local one.
    seconds
        How long each query is measured; 4 or more.
    warm_up
        Seconds before that, which do not count.
    speed
        Of the exact join; None to measure it.
    step
        Reports progress; see `penstock.report.progress`.

    Raises
    ------
    SpecificationError
        If `seconds` is too short.
    SessionError
        If micro-batches leave no time for a join.
    """
    check_seconds(seconds)
    settings = {name: spark.conf.get(name, None) for name in (_PROVIDER, _PARTITIONS, _REMEMBERED)}
    folder = Path(tempfile.mkdtemp(prefix="penstock-harvest-"))
    try:
        return _run_all(spark, seconds, warm_up, folder, speed, step)
    finally:
        for name, value in settings.items():
            spark.conf.unset(name) if value is None else spark.conf.set(name, value)
        shutil.rmtree(folder, ignore_errors=True)


def _run_all(
    spark: SparkSession,
    seconds: int,
    warm_up: int,
    folder: Path,
    speed: HarvestSpeed | None,
    step: Step,
) -> HarvestFigures:
    shards = spark.sparkContext.defaultParallelism
    spark.conf.set(_PROVIDER, _ROCKSDB)
    spark.conf.set(_PARTITIONS, str(shards))
    # As many as there are seconds, and some without rows.
    spark.conf.set(_REMEMBERED, str(2 * (warm_up + seconds) + 100))
    with step("Compiling the kernels (first run only) ..."):
        for budget in (None, Budget(cpu=0.001)):
            compile_kernels(our_join(budget))
    samples: tuple[RateSample, ...] = ()
    if speed is None:
        speed, plan, samples = calibrate(spark, folder, shards=shards, step=step)
    else:
        plan = plan_of(speed)
    load = HarvestLoad(plan.rate, warm_up=warm_up, measured=seconds)
    with step("Counting the results that there are ..."):
        truth = count_combinations(
            [all_reports(spark, load, stream) for stream in STREAMS],
            window=WINDOW,
            seconds=load.seconds,
        )
    courses: dict[str, Course] = {}
    for name, query in queries_of(plan).items():
        with step(f"{query.name}, for {load.seconds} s ...") as tell:
            frame = query.join.stream(live_sources(spark, load), shards=shards)
            watched = watch(
                frame, folder / name, trigger=plan.trigger, seconds=load.seconds, tell=tell
            )
            time.sleep(_PAUSE)
        waits = query.join.budget is not None
        courses[name] = course_of(Course, query.name, watched, truth, load, waits=waits)
    return HarvestFigures(load=load, speed=speed, samples=samples, plan=plan, courses=courses)


@dataclass(frozen=True)
class HarvestQuery:
    """A query to be run: its name in the tables, and its join."""

    name: str
    join: Join


def queries_of(plan: HarvestPlan) -> dict[str, HarvestQuery]:
    """Return all queries; the one that falls behind last, so that it disturbs no other."""
    budget = Budget(cpu=plan.cpu)
    return {
        "cpu": HarvestQuery(f"Penstock, cpu={plan.cpu}", our_join(budget)),
        "random": HarvestQuery(
            f"Penstock, random-drop, cpu={plan.cpu}", our_join(budget, "random-drop")
        ),
        "exact": HarvestQuery("Penstock, exact", our_join()),
    }

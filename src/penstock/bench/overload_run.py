"""How the overloaded query runs: calibration, then with drop boxes, then without."""

from __future__ import annotations

import shutil
import statistics
import tempfile
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from penstock.bench.live.course import Course, course_of
from penstock.bench.live.plan import trigger_for
from penstock.bench.live.real_time import monitor
from penstock.bench.live.stepping import is_warm, run_batches
from penstock.bench.overload_figures import OverloadFigures
from penstock.bench.overload_load import KEPT, STREAMS, OverloadLoad, boxed, count_triples
from penstock.errors import SessionError, must
from penstock.report.progress import silent_step

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pyspark.sql import DataFrame, SparkSession

    from penstock.planning.plan import Plan
    from penstock.report.progress import Step

__all__ = ["OverloadSpeed", "bench_overload", "compile_kernels", "rate_for", "speed_of"]

_PROVIDER = "spark.sql.streaming.stateStore.providerClass"
_ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
_PARTITIONS = "spark.sql.shuffle.partitions"
# How many of a query's micro-batches Spark remembers; 100 by default.
_REMEMBERED = "spark.sql.streaming.numRecentProgressUpdates"
# Seconds between two queries, in which the tasks of the one that was stopped end.
_PAUSE = 5.0
# Seconds that do not count, and those of them with few rows, in which Spark starts.
_WARM_UP, _START = 33, 25
# Seconds after the end of the streams, in triggers, in which their last rows are joined.
_GRACE = 3
# Rows per second of each stream that are measured: the first ones, and four times as many until
# micro-batches take at least so many times as long; micro-batches, and those that do not count.
_RATES, _LONGER, _BATCHES, _START_UP = (1_000, 4_000, 16_000, 64_000), 2.0, 10, 4
_LONGEST_WARM_UP = 60
# Seconds that the warm-up and each step of the calibration may take.
_LONGEST = 60.0
# Seconds that the query is to need for every second of the streams.
_NEED = 2.0


@dataclass(frozen=True)
class OverloadSpeed:
    """What a micro-batch of the query takes without drop boxes.

    Attributes
    ----------
    floor
        Seconds, whatever is in it.
    row
        Seconds for a row of each stream.
    """

    floor: float
    row: float


def rate_for(speed: OverloadSpeed) -> tuple[int, int]:
    """Return the seconds from one micro-batch to the next, and the rows per second of each stream.

    With so many rows the query needs two seconds for every second of the streams.

    Examples
    --------
    >>> rate_for(OverloadSpeed(floor=0.8, row=4e-4))
    (4, 4500)
    """
    trigger = trigger_for(speed.floor)
    return trigger, max(1, round((_NEED * trigger - speed.floor) / (trigger * speed.row)))


def bench_overload(
    spark: SparkSession,
    seconds: int,
    *,
    warm_up: int = _WARM_UP,
    start_up: int = _START,
    speed: OverloadSpeed | None = None,
    step: Step = silent_step,
) -> OverloadFigures:
    """Run a query of three streams at twice the rate that it can take, with drop boxes and without.

    Parameters
    ----------
    spark
        The session; a local one.
    seconds
        How long each of the two is measured.
    warm_up
        Seconds before that, which do not count.
    start_up
        Seconds of the warm-up in which there are few rows; see `OverloadLoad`.
    speed
        Of the query without drop boxes; None to measure it.
    step
        Reports progress; see `penstock.report.progress`.

    Raises
    ------
    SpecificationError
        If `seconds` is below 1.
    """
    OverloadLoad(1, warm_up=warm_up, measured=seconds, start_up=start_up)  # checks
    with _settings(spark, 2 * (warm_up + seconds) + 100) as folder:
        with step("Compiling the kernels (first run only) ..."):
            compile_kernels()
        if speed is None:
            speed = _calibrate(spark, folder, step)
        trigger, rate = rate_for(speed)
        load = OverloadLoad(rate, warm_up=warm_up, measured=seconds, start_up=start_up)
        with step("Counting the results that there are ..."):
            numbers = spark.range(load.rows).toDF("value").where(load.is_row())
            rows = {
                name: numbers.selectExpr(*load.time_and_keys(name)).toArrow() for name in STREAMS
            }
            truth = count_triples(rows, load.seconds)
        whole = load.plan()
        courses: dict[str, Course] = {}
        # The one that falls behind is last, so that it disturbs no other.
        for name, words, plan in (
            ("boxes", f"drop boxes, {1 - KEPT:.0%} dropped", boxed(whole)),
            ("whole", "the same query, nothing dropped", whole),
        ):
            with step(f"{words}, for {load.seconds} s ...") as tell:
                frame = _stream(spark, plan, load, "rate")
                monitored = monitor(
                    frame,
                    folder / name,
                    trigger=trigger,
                    seconds=load.seconds,
                    grace=_GRACE * trigger,
                    tell=tell,
                )
                time.sleep(_PAUSE)
            courses[name] = course_of(words, monitored, truth, load, waits=False)
    return OverloadFigures(
        load=load,
        floor=speed.floor,
        row=speed.row,
        trigger=trigger,
        recall=boxed(whole).recall,
        courses=courses,
    )


@contextmanager
def _settings(spark: SparkSession, remembered: int) -> Iterator[Path]:
    """Set what the queries need, give a folder for checkpoints, and put all back."""
    before = {name: spark.conf.get(name, None) for name in (_PROVIDER, _PARTITIONS, _REMEMBERED)}
    folder = Path(tempfile.mkdtemp(prefix="penstock-overload-"))
    spark.conf.set(_PROVIDER, _ROCKSDB)
    spark.conf.set(_PARTITIONS, str(spark.sparkContext.defaultParallelism))
    spark.conf.set(_REMEMBERED, str(remembered))
    try:
        yield folder
    finally:
        for name, value in before.items():
            spark.conf.unset(name) if value is None else spark.conf.set(name, value)
        shutil.rmtree(folder, ignore_errors=True)


def _calibrate(spark: SparkSession, folder: Path, step: Step) -> OverloadSpeed:
    """Measure micro-batches of a second with few rows and with many."""
    with step("Warming up Java ...") as tell:
        load = OverloadLoad(_RATES[1], warm_up=_LONGEST_WARM_UP, measured=_LONGEST_WARM_UP)
        frame = _stream(spark, load.plan(), load, "rate-micro-batch")
        run_batches(
            frame,
            folder / "warm-up",
            most=_LONGEST_WARM_UP,
            longest=_LONGEST,
            tell=tell,
            until=is_warm,
        )
    taken: dict[int, float] = {}
    for rate in _RATES:
        with step(f"Calibration: {rate:,} rows/s of each stream ...") as tell:
            load = OverloadLoad(rate, warm_up=_BATCHES, measured=_BATCHES)
            frame = _stream(spark, load.plan(), load, "rate-micro-batch")
            seconds = run_batches(
                frame, folder / f"calibration-{rate}", most=_BATCHES, longest=_LONGEST, tell=tell
            )
        taken[rate] = statistics.median(seconds[_START_UP:])
        if taken[rate] >= _LONGER * taken[_RATES[0]]:
            break
    return speed_of(taken)


def speed_of(taken: Mapping[int, float]) -> OverloadSpeed:
    """Return what an empty micro-batch takes, and a row, by what some have taken.

    >>> speed_of({1_000: 0.9, 4_000: 1.1, 16_000: 2.4})
    OverloadSpeed(floor=0.8, row=0.0001)

    Raises
    ------
    SessionError
        If they take as long whatever is in them.
    """
    few, many = min(taken), max(taken)
    row = (taken[many] - taken[few]) / (many - few)
    if row <= 0:
        hint = "run nothing else on this machine"
        requirement = f"longer with {many:,} rows than with {few:,}"
        raise SessionError(must("micro-batches", requirement, dict(taken), hint))
    return OverloadSpeed(floor=max(0.0, taken[few] - few * row), row=row)


def _stream(spark: SparkSession, plan: Plan, load: OverloadLoad, source: str) -> DataFrame:
    """Run a plan over the streams: as the clock counts, or a second in each micro-batch."""
    rate = {"rate": "rowsPerSecond", "rate-micro-batch": "rowsPerBatch"}[source]
    numbers = spark.readStream.format(source).option(rate, load.rate).option("numPartitions", 1)
    frames = {
        name: numbers.load().where(load.is_row()).selectExpr(*load.columns(name))
        for name in STREAMS
    }
    return plan.stream(frames, shards=spark.sparkContext.defaultParallelism)


def compile_kernels() -> None:
    """Run the plan over a few rows in this process, so that Spark's workers find the kernels."""
    load = OverloadLoad(20, warm_up=5, measured=5)
    numbers = np.arange(load.rows)
    table = pa.table(
        {
            "at": pa.array(numbers * 50_000).cast(pa.timestamp("us", tz="UTC")),
            "k": numbers % 7,
            "j": numbers % 5,
            "number": numbers,
        }
    )
    # In two micro-batches, as the second one uses more kernels than the first.
    halves = [table.slice(0, load.rows // 2), table.slice(load.rows // 2)]
    load.plan().replay(dict.fromkeys(STREAMS, halves), shards=2)

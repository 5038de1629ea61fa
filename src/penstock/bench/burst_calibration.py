"""How fast this machine is: what micro-batches take, of the exact join and beside a budget."""

from __future__ import annotations

import math
import statistics
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from penstock.bench.burst_load import RESULTS_PER_ROW, STREAMS, Load, Phases
from penstock.bench.burst_plan import trigger_for
from penstock.bench.burst_queries import our_join, stepped_sources
from penstock.budget import Budget
from penstock.costs import Costs
from penstock.errors import SessionError, must
from penstock.report.progress import silent_step

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from penstock.report.progress import Step

__all__ = ["Sample", "Speed", "calibrate", "fit", "is_warm", "overhead", "run_batches"]

# Micro-batches of a measurement, and how many of the first do not count.
_BATCHES, _START_UP = 14, 6
# The same with a budget, whose costs are to be measured first; and the share that is tried.
_LIMITED_BATCHES, _LIMITED_START_UP = 24, 12
_TRIED = 0.5
# Java compiles what it runs often, and its first hundred micro-batches take two or three times as
# long as later ones. It is warm when the last so many have taken no less, in the median, than as
# many before them, up to this share.
_WARM_UP, _LONGEST_WARM_UP = 16, 160
_STILL_FASTER = 0.95
# Rows per second of each stream to begin with.
_FIRST_RATES = 1_000, 4_000
_FEW_RESULTS = 1.0
# Of the work, the part that rows may take by themselves. A budget can give up results, but all rows
# have to come: where they take most of the time, no join keeps up. So they have enough results for
# that, though no more than the second number.
_ROWS_SHARE, _MOST_RESULTS = 0.06, 1_000.0
# If micro-batches take more seconds than this without rows, something is wrong with the machine.
_SLOWEST_FLOOR = 2.0


@dataclass(frozen=True)
class Sample:
    """What micro-batches of one size take.

    Attributes
    ----------
    rate
        Rows of each stream.
    results_per_row
        Results for each row.
    seconds
        Median of the micro-batches.
    """

    rate: int
    results_per_row: float
    seconds: float


@dataclass(frozen=True, kw_only=True)
class Speed:
    """What a micro-batch of the exact join takes, by what is in it.

    Attributes
    ----------
    floor
        Seconds, whatever is in it.
    arrival, result
        Seconds of a core for each row and for each result.
    shards
        Cores among which these are divided.
    results_per_row
        Results of each row of the streams that are planned with.

    Examples
    --------
    >>> speed = Speed(floor=0.2, arrival=1e-5, result=2e-6, shards=2)
    >>> speed.seconds(4_000)
    0.56
    >>> round(speed.rate_within(0.56))
    4000
    >>> round(speed.recall_within(0.4, 4_000), 2), round(speed.fraction_within(0.4, 4_000), 2)
    (0.5, 0.73)
    """

    floor: float
    arrival: float
    result: float
    shards: int
    results_per_row: float = RESULTS_PER_ROW

    def seconds(self, rate: float, results_per_row: float | None = None) -> float:
        """Return what a micro-batch with so many rows of each stream takes."""
        results = self.results_per_row if results_per_row is None else results_per_row
        return self.floor + rate * self._of_rate(results)

    def rate_within(self, seconds: float) -> float:
        """Return how many rows of each stream can be joined in a micro-batch of that time."""
        return (seconds - self.floor) / self._of_rate(self.results_per_row)

    def recall_within(self, seconds: float, rate: float) -> float:
        """Return the share of the results that fit, if all rows come: the most that can be had.

        All results cost the same. So it does not depend on which ones are given up.
        """
        rows = rate * self._of_rate(0.0)
        return (seconds - self.floor - rows) / (rate * self._of_rate(self.results_per_row) - rows)

    def fraction_within(self, seconds: float, rate: float) -> float:
        """Return the largest fraction of both streams' rows whose join fits.

        A sample has f times the rows, and f ** 2 times the results.
        """
        rows = rate * self._of_rate(0.0)
        results = rate * self._of_rate(self.results_per_row) - rows
        # results f^2 + rows f = the time that is left
        root = math.sqrt(rows**2 + 4.0 * results * (seconds - self.floor))
        return (root - rows) / (2.0 * results)

    def _of_rate(self, results_per_row: float) -> float:
        return len(STREAMS) / self.shards * (self.arrival + results_per_row * self.result)

    @property
    def costs(self) -> Costs:
        """For a budget of the processor's time."""
        return Costs(arrival=self.arrival, result=self.result)


def is_warm(seconds: Sequence[float]) -> bool:
    """Return whether micro-batches no longer get faster.

    Examples
    --------
    >>> falling = [1.0 / number for number in range(1, 33)]
    >>> is_warm(falling), is_warm([1.0] * 31), is_warm([2.0] + [1.0] * 31)
    (False, False, True)
    """
    if len(seconds) < 2 * _WARM_UP:
        return False
    before, last = seconds[-2 * _WARM_UP : -_WARM_UP], seconds[-_WARM_UP:]
    return statistics.median(last) >= _STILL_FASTER * statistics.median(before)


def fit(samples: Sequence[Sample], shards: int) -> Speed:
    """Return the speed that explains the measured times best.

    Times are weighed by their inverse, so that errors count by their share.

    Examples
    --------
    >>> true = Speed(floor=0.2, arrival=1e-5, result=2e-6, shards=2)
    >>> sizes = [(1_000, 40.0), (4_000, 40.0), (4_000, 1.0)]
    >>> speed = fit([Sample(*size, true.seconds(*size)) for size in sizes], shards=2)
    >>> f"{speed.floor:.3f} {speed.arrival:.2g} {speed.result:.2g} {speed.results_per_row:.0f}"
    '0.200 1e-05 2e-06 78'
    """
    seconds = np.array([sample.seconds for sample in samples])
    rows = np.array([len(STREAMS) / shards * sample.rate for sample in samples])
    results = rows * [sample.results_per_row for sample in samples]
    terms = np.column_stack([np.ones(len(samples)), rows, results])
    (floor, arrival, result), *_ = np.linalg.lstsq(terms / seconds[:, None], np.ones(len(samples)))
    # What is too small to be measured may come out below 0.
    speed = Speed(
        floor=float(max(floor, 0.0)),
        arrival=float(max(arrival, 1e-9)),
        result=float(max(result, 1e-9)),
        shards=shards,
    )
    enough = speed.arrival / speed.result * (1.0 / _ROWS_SHARE - 1.0)
    return replace(speed, results_per_row=min(max(RESULTS_PER_ROW, enough), _MOST_RESULTS))


def calibrate(
    spark: SparkSession, folder: Path, *, shards: int, step: Step = silent_step
) -> tuple[Speed, tuple[Sample, ...]]:
    """Measure the exact join with few and many rows, and with few results.

    Parameters
    ----------
    spark
        The session.
    folder
        For checkpoints.
    shards
        Of the join.
    step
        Reports progress; see `penstock.report.progress`.

    Raises
    ------
    SessionError
        If micro-batches take seconds without any rows.
    """
    samples: list[Sample] = []

    def measure(rate: int, results_per_row: float) -> None:
        words = f"Calibration: {rate:,} rows/s, {results_per_row:.0f} results for each ..."
        with step(words) as tell:
            frames = stepped_sources(spark, _load(rate, results_per_row))
            frame = our_join().stream(frames, shards=shards)
            checkpoint = folder / f"calibration-{len(samples)}"
            seconds = statistics.median(run_batches(frame, checkpoint, _BATCHES, tell)[_START_UP:])
        samples.append(Sample(rate, results_per_row, seconds))

    few, many = _FIRST_RATES
    with step("Warming up Java ...") as tell:
        load = _load(many, RESULTS_PER_ROW, seconds=_LONGEST_WARM_UP)
        frame = our_join().stream(stepped_sources(spark, load), shards=shards)
        run_batches(frame, folder / "warm-up", _LONGEST_WARM_UP, tell, until=is_warm)
    measure(few, RESULTS_PER_ROW)
    measure(many, RESULTS_PER_ROW)
    measure(many, _FEW_RESULTS)
    speed = fit(samples, shards)
    if speed.floor < _SLOWEST_FLOOR:
        # The rate that counts, which may be far from those above.
        rate = round(speed.rate_within(trigger_for(speed.floor)))
        measure(rate, speed.results_per_row)
        speed = fit(samples, shards)
    if speed.floor >= _SLOWEST_FLOOR:
        requirement = f"below {_SLOWEST_FLOOR} s"
        hint = "run nothing else on this machine, or take a faster one"
        raise SessionError(
            must("time of a micro-batch without rows", requirement, f"{speed.floor:.2f}", hint)
        )
    return speed, tuple(samples)


def overhead(
    spark: SparkSession,
    folder: Path,
    *,
    rate: int,
    results_per_row: float,
    shards: int,
    step: Step = silent_step,
) -> float:
    """Measure what a micro-batch of the burst takes beside its share of the processor.

    That is all that is not in the costs: Spark's own time, packing and the shuffle.

    Parameters
    ----------
    spark
        The session.
    folder
        For the checkpoint.
    rate
        Rows of each stream in a second of the burst.
    results_per_row
        Results of each of them.
    shards
        Of the join.
    step
        Reports progress; see `penstock.report.progress`.
    """
    with step(f"Calibration: {rate:,} rows/s with cpu={_TRIED} ...") as tell:
        frames = stepped_sources(spark, _load(rate, results_per_row))
        frame = our_join(Budget(cpu=_TRIED)).stream(frames, shards=shards)
        checkpoint = folder / "calibration-cpu"
        seconds = run_batches(frame, checkpoint, _LIMITED_BATCHES, tell)[_LIMITED_START_UP:]
    return max(0.0, statistics.median(seconds) - _TRIED)


def _load(rate: int, results_per_row: float, seconds: int = _LIMITED_BATCHES) -> Load:
    """Return a load without a burst, as long as the longest measurement."""
    phases = Phases(warm_up=seconds, before=seconds, burst=1, after=1)
    return replace(Load(rate, phases), factor=1, results_per_row=results_per_row)


def run_batches(
    frame: DataFrame,
    checkpoint: Path,
    count: int,
    tell: Callable[[str], object],
    until: Callable[[Sequence[float]], bool] = lambda _: False,
) -> list[float]:
    """Run so many micro-batches, each a second of the streams, and return what each has taken.

    Fewer if what they have taken so far is enough.
    """
    query = frame.writeStream.format("noop").option("checkpointLocation", str(checkpoint)).start()
    taken: list[float] = []
    try:
        while query.isActive and len(taken) < count and not until(taken):
            time.sleep(0.05)
            taken = [batch.durationMs["triggerExecution"] / 1000 for batch in query.recentProgress]
            tell(f"micro-batch {len(taken)} of {count}")
    finally:
        query.stop()
    if query.exception() is not None:
        query.awaitTermination()  # raises it
    return taken[:count]

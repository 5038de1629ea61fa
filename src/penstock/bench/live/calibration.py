"""How fast this machine is: what micro-batches take, of the exact join and beside a budget."""

from __future__ import annotations

import statistics
import time
from typing import TYPE_CHECKING

from penstock.bench.live.sources import stepped_sources
from penstock.bench.live.speed import Sample, Size, Speed, fit
from penstock.bench.live.stepping import is_warm, run_batches
from penstock.budget import Budget
from penstock.errors import SessionError, must
from penstock.report.progress import silent_step

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from penstock.bench.live.load import AnyLoad
    from penstock.report.progress import Step

__all__ = ["Calibration", "next_rate"]

# Micro-batches that count, after those in which windows fill and Spark starts its workers.
_COUNTED, _START_UP = 7, 2
# The same with a budget, whose costs are to be measured first; and the share that is tried.
_LIMITED, _LIMITED_START_UP = 8, 12
_TRIED = 0.5
_LONGEST_WARM_UP = 120
# Seconds that a warm-up, a measurement, and all measurements of the exact join may take. Those of a
# measurement grow with the window: before it is full there is less to compare.
_WARM_UP_SECONDS, _SAMPLE_SECONDS, _ALL_SECONDS = 60.0, 30.0, 120.0
_SECONDS_OF_WINDOW = 1.5
# Further measurements after the first ones: until the size that counts takes as long as was
# expected, up to this share. A rate is at most so many times one that was measured.
_MOST_FURTHER, _AS_EXPECTED, _MOST_GROWTH = 4, 0.15, 4
# If micro-batches take more seconds than this without rows, something is wrong with the machine.
_SLOWEST_FLOOR = 2.0


class Calibration:
    """Measures what micro-batches take. Its steps and its time are bounded.

    Parameters
    ----------
    spark
        The session.
    load
        What is joined, by any size.
    folder
        For checkpoints.
    shards
        Of the join.
    step
        Reports progress; see `penstock.report.progress`.
    clock
        Tells the time in seconds.
    """

    def __init__(
        self,
        spark: SparkSession,
        load: AnyLoad,
        folder: Path,
        *,
        shards: int,
        step: Step = silent_step,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._spark = spark
        self._load = load
        self._folder = folder
        self._shards = shards
        self._step = step
        self._clock = clock

    def speed(self) -> tuple[Speed, tuple[Sample, ...]]:
        """Measure the exact join, first in small sizes, then in the one that counts.

        Raises
        ------
        SessionError
            If micro-batches take seconds without any rows, or none end.
        """
        largest = max(self._load.first_sizes, key=lambda size: size.rate * size.work)
        with self._step(f"Warming up Java, for at most {_WARM_UP_SECONDS:.0f} s ...") as tell:
            run_batches(
                self._frame(largest, _LONGEST_WARM_UP),
                self._folder / "warm-up",
                most=_LONGEST_WARM_UP,
                longest=_WARM_UP_SECONDS,
                tell=tell,
                until=is_warm,
            )
        deadline = self._clock() + _ALL_SECONDS / _SAMPLE_SECONDS * self._sample_seconds
        samples: list[Sample] = []
        for size in self._load.first_sizes:
            samples.append(self._measure(size, len(samples)))
        for _ in range(_MOST_FURTHER):
            speed = _checked(fit(samples))
            if self._clock() > deadline:
                break
            wanted = self._load.rate_within(speed)
            rate = next_rate(wanted, samples)
            size = self._load.size_at(rate, speed)
            samples.append(self._measure(size, len(samples)))
            expected = speed.seconds(size.rate, size.work)
            if rate == wanted and abs(samples[-1].seconds / expected - 1.0) < _AS_EXPECTED:
                break
        return _checked(fit(samples)), tuple(samples)

    def overhead(self, size: Size) -> float:
        """Measure what a micro-batch takes beside its share of the processor.

        That is all that is not in the costs: Spark's own time, packing and the shuffle.

        Parameters
        ----------
        size
            The greatest that is to be joined.
        """
        start_up = max(_LIMITED_START_UP, self._load.window + _START_UP)
        batches = start_up + _LIMITED
        with self._step(f"Calibration: {size.rate:,} rows/s with cpu={_TRIED} ...") as tell:
            taken = run_batches(
                self._frame(size, batches, Budget(cpu=_TRIED)),
                self._folder / "calibration-cpu",
                most=batches,
                longest=2 * self._sample_seconds,
                tell=tell,
            )
        return max(0.0, _median_of_last(taken, start_up) - _TRIED)

    @property
    def _sample_seconds(self) -> float:
        """Seconds that a measurement may take."""
        return max(_SAMPLE_SECONDS, _SECONDS_OF_WINDOW * self._load.window)

    def _measure(self, size: Size, number: int) -> Sample:
        most = len(self._load.first_sizes) + _MOST_FURTHER
        batches = self._load.window + _START_UP + _COUNTED
        with self._step(
            f"Calibration, {number + 1} of at most {most}: {size.rate:,} rows/s ..."
        ) as tell:
            taken = run_batches(
                self._frame(size, batches),
                self._folder / f"calibration-{number}",
                most=batches,
                longest=self._sample_seconds,
                tell=tell,
            )
        return Sample(size, _median_of_last(taken, batches - _COUNTED))

    def _frame(self, size: Size, batches: int, budget: Budget | None = None) -> DataFrame:
        # Some seconds more than are run: a query is stopped a few micro-batches late.
        load = self._load.steady(size, batches + 10)
        return load.join(budget).stream(stepped_sources(self._spark, load), shards=self._shards)


def next_rate(wanted: int, samples: Sequence[Sample]) -> int:
    """Return the rate that is measured next: the one that is wanted, if it is not too far off.

    Parameters
    ----------
    wanted
        The rate that counts, by what was measured so far.
    samples
        What was measured.

    Examples
    --------
    >>> samples = [Sample(Size(100, 5.0), 0.3), Sample(Size(400, 5.0), 0.4)]
    >>> next_rate(900, samples), next_rate(3_200, samples)
    (900, 1600)
    """
    return min(wanted, _MOST_GROWTH * max(sample.size.rate for sample in samples))


def _median_of_last(taken: Sequence[float], start_up: int) -> float:
    """Return the median of those that count; of the last three if time was up before."""
    return statistics.median(taken[min(start_up, len(taken) - 3) :])


def _checked(speed: Speed) -> Speed:
    """Raise if micro-batches are too slow without rows."""
    if speed.floor >= _SLOWEST_FLOOR:
        requirement = f"below {_SLOWEST_FLOOR} s"
        hint = "run nothing else on this machine, or take a faster one"
        raise SessionError(
            must("time of a micro-batch without rows", requirement, round(speed.floor, 2), hint)
        )
    return speed

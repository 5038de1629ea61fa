"""How many vectors this machine can join on Spark, and what is chosen for live harvesting."""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from penstock.bench.burst_calibration import is_warm, run_batches
from penstock.bench.burst_plan import HEADROOM, trigger_for
from penstock.bench.harvest_load import WINDOW, HarvestLoad
from penstock.bench.harvest_queries import our_join, stepped_sources
from penstock.budget import Budget
from penstock.errors import SessionError, must
from penstock.report.progress import silent_step

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pyspark.sql import SparkSession

    from penstock.report.progress import Step

__all__ = ["HarvestPlan", "HarvestSpeed", "RateSample", "calibrate", "fit", "plan_of"]

# Micro-batches of a measurement, each a second of the streams, and how many of the first do not
# count: windows fill in these.
_BATCHES, _START_UP = WINDOW + 8, WINDOW + 1
# The same with a budget, whose costs are to be measured first; and the share that is tried.
_LIMITED_BATCHES, _LIMITED_START_UP = 2 * WINDOW + 8, 2 * WINDOW
_TRIED = 0.4
_LONGEST_WARM_UP = 80
# Rows per second of each stream to begin with. It is doubled until a micro-batch takes so long.
_FIRST_RATE, _MOST_RATES = 200, 8
_LONG_ENOUGH = 1.2
# How many times the rate that the exact join can take.
_FACTOR = 2.0
# The least share of the processor that is worth a budget.
_LEAST_CPU = 0.05


@dataclass(frozen=True)
class RateSample:
    """What micro-batches of one size take.

    Attributes
    ----------
    rate
        Rows of each stream in a second.
    seconds
        Median of the micro-batches.
    """

    rate: int
    seconds: float


@dataclass(frozen=True, kw_only=True)
class HarvestSpeed:
    """What a micro-batch of the exact join takes, by what is in it.

    Attributes
    ----------
    floor
        Seconds, whatever is in it.
    row
        Seconds for a row of each stream.
    pair
        Seconds for the square of a row of each stream: it is compared with a window of as many.

    Examples
    --------
    >>> speed = HarvestSpeed(floor=0.2, row=1e-4, pair=5e-7)
    >>> speed.seconds(1_000)
    0.8
    >>> round(speed.rate_within(0.8))
    1000
    """

    floor: float
    row: float
    pair: float

    def seconds(self, rate: float, trigger: int = 1) -> float:
        """Return what a micro-batch takes, with rows of so many seconds."""
        return self.floor + trigger * rate * (self.row + self.pair * rate)

    def rate_within(self, seconds: float, trigger: int = 1) -> float:
        """Return the greatest rate that can be joined in a micro-batch of that time."""
        # pair rate^2 + row rate = the time that is left for a second of the streams
        left = (seconds - self.floor) / trigger
        return (math.sqrt(self.row**2 + 4.0 * self.pair * left) - self.row) / (2.0 * self.pair)


@dataclass(frozen=True)
class HarvestPlan:
    """What is chosen by the calibration.

    Attributes
    ----------
    trigger
        Seconds from one micro-batch to the next.
    rate
        Rows per second of each stream.
    cpu
        Share of a core, in each shard: the trigger less the head room and what is not in the costs.
    """

    trigger: int
    rate: int
    cpu: float


def fit(samples: Sequence[RateSample]) -> HarvestSpeed:
    """Return the speed that explains the measured times best.

    Times are weighed by their inverse, so that errors count by their share.

    Examples
    --------
    >>> true = HarvestSpeed(floor=0.2, row=1e-4, pair=5e-7)
    >>> found = fit([RateSample(rate, true.seconds(rate)) for rate in (200, 400, 800, 1_600)])
    >>> f"{found.floor:.3f} {found.row:.2g} {found.pair:.2g}"
    '0.200 0.0001 5e-07'
    """
    seconds = np.array([sample.seconds for sample in samples])
    rates = np.array([sample.rate for sample in samples], np.float64)
    terms = np.column_stack([np.ones(rates.size), rates, rates**2]) / seconds[:, None]
    # What is too small to be measured may come out below 0: then it is left out.
    kept = [0, 1, 2]
    while True:
        found, *_ = np.linalg.lstsq(terms[:, kept], np.ones(rates.size))
        if found.min() >= 0.0:
            break
        del kept[int(np.argmin(found * np.abs(terms[:, kept]).sum(axis=0)))]
    floor, row, pair = (float(found[kept.index(at)]) if at in kept else 0.0 for at in range(3))
    return HarvestSpeed(floor=floor, row=max(row, 1e-12), pair=max(pair, 1e-12))


def plan_of(speed: HarvestSpeed, overhead: float | None = None) -> HarvestPlan:
    """Choose twice the rate that the exact join can take, and a share of the processor.

    Parameters
    ----------
    speed
        Of the exact join.
    overhead
        Seconds that a micro-batch with the rows of one second takes beside its share of the
        processor; None if they are those of the exact join's rows.

    Raises
    ------
    SessionError
        If nothing is left of the trigger.

    Examples
    --------
    >>> plan_of(HarvestSpeed(floor=0.25, row=1e-5, pair=5e-7))
    HarvestPlan(trigger=1, rate=2430, cpu=0.58)
    """
    trigger = trigger_for(speed.floor)
    rate = round(_FACTOR * speed.rate_within(trigger, trigger))
    for_rows = rate * speed.row if overhead is None else max(0.0, overhead - speed.floor)
    cpu = round((HEADROOM * trigger - speed.floor) / trigger - for_rows, 2)
    if cpu < _LEAST_CPU:
        hint = "run nothing else on this machine, or take a faster one"
        requirement = f"{_LEAST_CPU} s or more of each second"
        raise SessionError(must("what rows leave for a budget", requirement, cpu, hint))
    return HarvestPlan(trigger, rate, cpu)


def calibrate(
    spark: SparkSession, folder: Path, *, shards: int, step: Step = silent_step
) -> tuple[HarvestSpeed, HarvestPlan, tuple[RateSample, ...]]:
    """Measure the exact join at rising rates, and what rows take beside a budget.

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
        If nothing is left of the trigger.
    """
    with step("Warming up Java ...") as tell:
        frames = stepped_sources(spark, _load(_FIRST_RATE, _LONGEST_WARM_UP))
        frame = our_join().stream(frames, shards=shards)
        run_batches(frame, folder / "warm-up", _LONGEST_WARM_UP, tell, until=is_warm)
    samples: list[RateSample] = []
    rate = _FIRST_RATE
    while len(samples) < _MOST_RATES:
        with step(f"Calibration: {rate:,} rows/s of each stream ...") as tell:
            frames = stepped_sources(spark, _load(rate, _BATCHES))
            frame = our_join().stream(frames, shards=shards)
            taken = run_batches(frame, folder / f"calibration-{rate}", _BATCHES, tell)
        samples.append(RateSample(rate, statistics.median(taken[_START_UP:])))
        if samples[-1].seconds >= _LONG_ENOUGH and len(samples) > 2:
            break
        rate *= 2
    speed = fit(samples)
    plan = plan_of(speed)
    with step(f"Calibration: {plan.rate:,} rows/s with cpu={_TRIED} ...") as tell:
        frames = stepped_sources(spark, _load(plan.rate, _LIMITED_BATCHES))
        frame = our_join(Budget(cpu=_TRIED)).stream(frames, shards=shards)
        taken = run_batches(frame, folder / "calibration-cpu", _LIMITED_BATCHES, tell)
    overhead = max(0.0, statistics.median(taken[_LIMITED_START_UP:]) - _TRIED)
    return speed, plan_of(speed, overhead), tuple(samples)


def _load(rate: int, seconds: int) -> HarvestLoad:
    # A few seconds more than are run: a query is stopped some micro-batches late.
    return HarvestLoad(rate, warm_up=seconds, measured=seconds)

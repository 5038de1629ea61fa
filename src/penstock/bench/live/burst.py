"""The burst: two streams that are joined by equal keys, and for a while five times as many rows."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import pyarrow as pa

from penstock.bench.live.burst_plan import (
    FACTOR,
    RESULTS_PER_ROW,
    BurstPlan,
    plan_of,
    results_per_row,
    rows_within,
)
from penstock.bench.live.load import START, Load, Query
from penstock.bench.live.plan import trigger_for
from penstock.bench.live.speed import Size
from penstock.bench.live.truth import count_pairs
from penstock.budget import Budget
from penstock.engine.kernels.key_hash import combine_hash_each
from penstock.errors import SpecificationError, must
from penstock.goals import MaxSubset
from penstock.join import Join
from penstock.predicates import Equal
from penstock.spec import Stream

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame

    from penstock.bench.live.speed import Speed
    from penstock.bench.live.truth import Rows, TrueResults

__all__ = ["Burst", "Phases", "sampled", "spark_join"]

_STREAMS = ("left", "right")
_WINDOW = 2
_FEW_RESULTS = 1.0
_MICROSECONDS = 1_000_000
# Pairs of keys are rounded up, so that rows have no more results than is planned, but for little.
_ROUNDED_DOWN = 0.1
# Up to so many keys are chosen one by one, so that so many shards have as many each.
_FEW_KEYS, _SHARDS = 512, 8


@dataclass(frozen=True)
class Phases:
    """How long the streams are steady, how long the burst is, and how long they are steady again.

    Attributes
    ----------
    warm_up
        Seconds that do not count, in which Spark starts its workers and Java compiles.
    before, burst, after
        Seconds that count.

    Raises
    ------
    SpecificationError
        If one is shorter than a second.

    Examples
    --------
    >>> Phases.of(30)
    Phases(warm_up=10, before=15, burst=30, after=30)
    >>> Phases.of(30).burst_ends
    55
    """

    warm_up: int
    before: int
    burst: int
    after: int

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            if value < 1:
                hint = "make it longer"
                raise SpecificationError(must(f"seconds of {name}", "1 or more", value, hint))

    @classmethod
    def of(cls, seconds: int) -> Phases:
        """Return the phases around a burst of that many seconds.

        Raises
        ------
        SpecificationError
            If the burst is too short for windows to fill up in it.
        """
        least = 2 * _WINDOW
        if seconds < least:
            hint = "make it longer"
            raise SpecificationError(must("seconds", f"{least} or more", seconds, hint))
        return cls(warm_up=10, before=seconds // 2, burst=seconds, after=seconds)

    @property
    def burst_begins(self) -> int:
        """The second with which the burst begins, from the begin of the streams."""
        return self.warm_up + self.before

    @property
    def burst_ends(self) -> int:
        """The second after the last of the burst."""
        return self.burst_begins + self.burst

    @property
    def seconds(self) -> int:
        """All of them."""
        return self.burst_ends + self.after


@dataclass(frozen=True)
class Burst(Load[BurstPlan]):
    """Two streams with the same times, each with its own keys.

    A source counts; a row follows from its number. When the streams are steady, only every fifth
    number is a row. In the burst there are five times as many keys as well, as if five times as
    many users had come: so a row has as many results as before.

    Parameters
    ----------
    phases
        How long it is, and when the burst is.
    with_spark
        Whether Spark's own join is run, too.
    rate
        Rows per second of each stream when it is steady; chosen by the calibration.
    factor
        How many times as many rows come in the burst.
    results_per_row
        Rows of the other stream that an arriving row finds.

    Examples
    --------
    >>> load = Burst(Phases.of(30), rate=2_000)
    >>> load.keys, load.numbers_per_second, load.rows
    (100, 10000, 410000)
    """

    name: ClassVar[str] = "burst"
    streams: ClassVar[tuple[str, ...]] = _STREAMS
    window: ClassVar[int] = _WINDOW

    phases: Phases
    with_spark: bool = True
    rate: int = 1
    factor: int = FACTOR
    results_per_row: float = RESULTS_PER_ROW

    @property
    def warm_up(self) -> int:
        """Seconds that do not count."""
        return self.phases.warm_up

    @property
    def seconds(self) -> int:
        """All of them."""
        return self.phases.seconds

    @property
    def keys(self) -> int:
        """Different ones, when the streams are steady: an even number, for two shards."""
        pairs = self.rate * _WINDOW / self.results_per_row / 2.0
        return max(2, 2 * math.ceil(pairs - _ROUNDED_DOWN))

    @property
    def numbers_per_second(self) -> int:
        """Numbers that the source of each stream counts in a second."""
        return self.rate * self.factor

    @property
    def rows(self) -> int:
        """Rows of each stream."""
        steady = self.phases.seconds - self.phases.burst
        return self.rate * (steady + self.factor * self.phases.burst)

    def is_row(self) -> str:
        """Return the condition, in SQL, under which a number is a row."""
        return f"value < {self.numbers} AND ({self._in_burst()} OR value % {self.factor} = 0)"

    def columns(self, stream: str) -> tuple[str, ...]:
        """Return the columns of a stream's row, in SQL, from its number."""
        most = self.factor * self.keys
        keys = f"IF({self._in_burst()}, {most}, {self.keys})"
        key = f"pmod(xxhash64(value, {_STREAMS.index(stream)}), {keys})"
        if most <= _FEW_KEYS:
            key = f"array({', '.join(map(str, even_keys(most)))})[CAST({key} AS INT)]"
        return (
            f"timestamp_micros({START} + {self._microseconds()}) AS at",
            f"CAST({key} AS BIGINT) AS k",
            "value AS number",
        )

    def time_and_key(self, stream: str) -> tuple[str, ...]:
        """Return time, in microseconds from the begin, and key: what results follow from."""
        return (f"{self._microseconds()} AS at", self.columns(stream)[1])

    def _microseconds(self) -> str:
        return f"value * {_MICROSECONDS} DIV {self.numbers_per_second}"

    def _in_burst(self) -> str:
        phases = self.phases
        first, end = (
            self.numbers_per_second * second for second in (phases.burst_begins, phases.burst_ends)
        )
        return f"value BETWEEN {first} AND {end - 1}"

    def count_results(self, rows: Mapping[str, Rows]) -> TrueResults:
        """Return the results that there are."""
        return count_pairs(*(rows[name] for name in _STREAMS), window=_WINDOW, seconds=self.seconds)

    def join(self, budget: Budget | None = None, strategy: str | None = None) -> Join:
        """Return the join: exact, or with a budget."""
        each = Stream(time="at", window=f"{_WINDOW} seconds")
        goal = MaxSubset(strategy=strategy)
        return Join(streams=dict.fromkeys(_STREAMS, each), on=Equal("k"), goal=goal, budget=budget)

    def some_rows(self, count: int) -> pa.Table:
        """Return a few rows of any stream, for the compiler."""
        numbers = np.arange(count)
        at = pa.array(50_000 * numbers).cast(pa.timestamp("us", tz="UTC"))
        return pa.table({"at": at, "k": numbers % 3, "number": numbers})

    @property
    def first_sizes(self) -> tuple[Size, ...]:
        """Few rows, many, and many with few results."""
        results = 2.0 * RESULTS_PER_ROW
        return Size(1_000, results), Size(4_000, results), Size(4_000, 2.0 * _FEW_RESULTS)

    def rate_within(self, speed: Speed) -> int:
        """Return the rows of each stream that the exact join can just join in time."""
        return round(rows_within(speed, trigger_for(speed.floor)))

    def size_at(self, rate: int, speed: Speed) -> Size:
        """Return how much is joined with so many rows per second of each stream."""
        return Size(rate, 2.0 * results_per_row(speed))

    def peak(self, plan: BurstPlan) -> int:
        """Return the rows per second of each stream in the burst."""
        return plan.rate * FACTOR

    def steady(self, size: Size, seconds: int) -> Burst:
        """Return streams of one size, without a burst."""
        phases = Phases(warm_up=seconds, before=1, burst=1, after=1)
        return Burst(phases, rate=size.rate, factor=1, results_per_row=size.work / 2.0)

    def plan(self, speed: Speed, overhead: float | None = None) -> BurstPlan:
        """Choose the rate so that the exact join needs more than twice the time that it has."""
        return plan_of(speed, overhead)

    def planned(self, plan: BurstPlan, speed: Speed) -> Burst:
        """Return the streams that are chosen."""
        load = replace(self, rate=plan.rate, results_per_row=results_per_row(speed))
        return replace(load, results_per_row=plan.rate * _WINDOW / load.keys)

    def queries(self, plan: BurstPlan) -> dict[str, Query]:
        """Return all queries; those that fall behind last, so that they disturb no other."""
        exact = self.join()
        queries = {
            "cpu": Query.of(f"Penstock, cpu={plan.cpu}", self.join(Budget(cpu=plan.cpu))),
            "sampled": _of_a_part(plan.fraction, exact),
            "best": _of_a_part(plan.best_fraction, exact),
            "exact": Query.of("Penstock, exact", exact),
        }
        if self.with_spark:
            queries["spark"] = Query("Spark's own join", spark_join, is_ours=False)
        return queries


def even_keys(count: int) -> list[int]:
    """Return keys of which shards get as many each, if these are 2, 4 or 8.

    With a dozen keys chance would give one shard far more than another.

    >>> even_keys(8)
    [0, 10, 2, 22, 4, 1, 17, 9]
    """
    candidates = np.arange(100 + 20 * count)
    hashes = np.zeros(candidates.size, np.int64)
    combine_hash_each(hashes, candidates)
    shards = (hashes.view(np.uint64) % np.uint64(_SHARDS)).astype(np.int64)
    in_turn = [iter(candidates[shards == shard].tolist()) for shard in range(_SHARDS)]
    return [next(in_turn[number % _SHARDS]) for number in range(count)]


def _of_a_part(fraction: float, exact: Join) -> Query:
    """Return the exact join of a sample of the rows."""
    return Query(
        f"Penstock, {fraction:.0%} of the rows",
        lambda frames, shards: exact.stream(sampled(frames, fraction), shards=shards),
    )


def sampled(frames: Mapping[str, DataFrame], fraction: float) -> dict[str, DataFrame]:
    """Take a random sample of each stream's rows, each stream for itself."""
    return {
        name: frame.where(f"rand({seed}) < {fraction!r}")
        for seed, (name, frame) in enumerate(frames.items())
    }


def spark_join(frames: Mapping[str, DataFrame], shards: int) -> DataFrame:
    """Return Spark's own join, with watermarks so that it can drop old state."""
    del shards  # as many as the session has partitions
    left, right = (
        frame.withWatermark("at", "0 seconds").alias(name) for name, frame in frames.items()
    )
    reach = f"INTERVAL {_WINDOW} SECONDS"
    within = f"right.at BETWEEN left.at - {reach} AND left.at + {reach}"
    return left.join(right, on="k").where(within)

"""Live harvesting: three streams of vectors that report the same things with lags."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import pyarrow as pa

from penstock.bench.live.load import START, Load, Query
from penstock.bench.live.plan import Plan, cpu_for, trigger_for
from penstock.bench.live.speed import Size
from penstock.bench.live.truth import count_combinations
from penstock.budget import Budget
from penstock.errors import SpecificationError, must
from penstock.goals import MaxSubset
from penstock.join import Join
from penstock.predicates import Similar
from penstock.spec import Stream

if TYPE_CHECKING:
    from collections.abc import Mapping

    from penstock.bench.live.speed import Speed
    from penstock.bench.live.truth import Rows, TrueResults

__all__ = ["DIMENSIONS", "Harvest"]

DIMENSIONS = 64
"""Numbers in each vector."""

_STREAMS = ("a", "b", "c")
# Long enough that comparisons, not rows, are what the exact join takes most of its time for.
_WINDOW = 30
# Seconds from one micro-batch to the next, at least: one without rows takes a third of a second.
_LEAST_TRIGGER = 2
# Two rows of one thing are at a distance of 0.3, and rows of two things at one of 6.5.
_DISTANCE = 2.0
# A vector is put together from pieces of a table of random numbers, of which there are copies with
# other noise: to make all numbers by hashes took Spark longer than the join took to compare them.
_PIECES = 22, 21, 21
_PLACES, _COPIES = 1_024, 4
_SIZE = _PLACES + max(_PIECES)
# Seconds after which a stream reports a thing, and the longest that chance adds to them. All rows
# of a thing are in one window: the sum of the longest is less than a window.
_LAGS = {"c": 0.0, "b": 7.5, "a": 21.0}
_JITTER = 1.5
_NOISE = 0.05
# How many times the rate that the exact join can take.
_FACTOR = 2.0
_LEAST_SECONDS = 4
_FIRST_RATES = 200, 600, 1_200
_MICROSECONDS = 1_000_000


@dataclass(frozen=True)
class Harvest(Load[Plan]):
    """Three streams with the same times.

    A thing has a vector of 64 numbers between -1 and 1. A stream reports it some time after it
    happened, with a little noise: at once (c), after 7.5 s (b), and after 21 s (a), each up to
    1.5 s later. So a stream reports some things twice or more and others never, and a row has one
    result on average.

    Parameters
    ----------
    measured
        Seconds that count.
    warm_up
        Seconds before that, which do not count.
    rate
        Rows per second of each stream; chosen by the calibration.

    Raises
    ------
    SpecificationError
        If so few seconds count that nothing is to be seen.

    Examples
    --------
    >>> load = Harvest(60, rate=1_000)
    >>> load.seconds, load.numbers
    (93, 93000)
    """

    name: ClassVar[str] = "harvest"
    streams: ClassVar[tuple[str, ...]] = _STREAMS
    window: ClassVar[int] = _WINDOW

    measured: int
    warm_up: int = _WINDOW + 3
    rate: int = 1

    def __post_init__(self) -> None:
        if self.measured < _LEAST_SECONDS:
            requirement = f"{_LEAST_SECONDS} or more"
            raise SpecificationError(must("seconds", requirement, self.measured, "make it longer"))

    @property
    def seconds(self) -> int:
        """All of them."""
        return self.warm_up + self.measured

    @property
    def numbers_per_second(self) -> int:
        """Each number is a row."""
        return self.rate

    def is_row(self) -> str:
        """Return the condition, in SQL, under which a number is a row."""
        return f"value < {self.numbers}"

    def columns(self, stream: str) -> tuple[str, ...]:
        """Return the columns of a stream's row, in SQL, from its number."""
        table = f"array({', '.join(f'{each:.4f}F' for each in _numbers())})"
        pieces = [
            f"slice({table}, {self._place(stream, piece)}, {length})"
            for piece, length in enumerate(_PIECES)
        ]
        return (
            f"timestamp_micros({START} + {self._microseconds()}) AS at",
            f"concat({', '.join(pieces)}) AS vector",
            "value AS number",
        )

    def time_and_key(self, stream: str) -> tuple[str, ...]:
        """Return time, in microseconds from the begin, and the number of the thing."""
        return (f"{self._microseconds()} AS at", f"{self._thing(stream)} AS thing")

    def _thing(self, stream: str) -> str:
        """Return the number of the thing: as many happen in a second as rows come."""
        late = round(_LAGS[stream] * self.rate)
        jitter = max(1, round(_JITTER * self.rate))
        drawn = f"pmod(xxhash64(value, {_STREAMS.index(stream)}), {jitter})"
        return f"(value - {late} - {drawn})"

    def _place(self, stream: str, piece: int) -> str:
        """Return where a piece of a row's vector begins: its thing's place in one of the copies."""
        copy = f"pmod(xxhash64(value, {_STREAMS.index(stream)}, {piece}), {_COPIES})"
        place = f"pmod(xxhash64({self._thing(stream)}, {piece}), {_PLACES})"
        return f"int(1 + {_SIZE} * {copy} + {place})"

    def _microseconds(self) -> str:
        return f"value * {_MICROSECONDS} DIV {self.rate}"

    def count_results(self, rows: Mapping[str, Rows]) -> TrueResults:
        """Return the results that there are."""
        streams = [rows[name] for name in _STREAMS]
        return count_combinations(streams, window=_WINDOW, seconds=self.seconds)

    def join(self, budget: Budget | None = None, strategy: str | None = None) -> Join:
        """Return the join: exact, or with a budget."""
        each = Stream(time="at", window=f"{_WINDOW} seconds")
        return Join(
            streams=dict.fromkeys(_STREAMS, each),
            on=Similar(_DISTANCE, dimensions=DIMENSIONS, **dict.fromkeys(_STREAMS, "vector")),
            goal=MaxSubset(strategy=strategy),
            budget=budget,
        )

    def some_rows(self, count: int) -> pa.Table:
        """Return a few rows of any stream, for the compiler."""
        at = pa.array(100_000 * np.arange(count)).cast(pa.timestamp("us", tz="UTC"))
        values = np.random.default_rng(1).random(count * DIMENSIONS, np.float32)
        vectors = pa.FixedSizeListArray.from_arrays(pa.array(values), DIMENSIONS)
        vector = vectors.cast(pa.list_(pa.float32()))
        return pa.table({"at": at, "vector": vector, "number": np.arange(count)})

    @property
    def first_sizes(self) -> tuple[Size, ...]:
        """Three rates."""
        return tuple(Size(rate, _comparisons(rate)) for rate in _FIRST_RATES)

    def rate_within(self, speed: Speed) -> int:
        """Return the rows of each stream that the exact join can just join in time."""
        trigger = trigger_for(speed.floor, _LEAST_TRIGGER)
        # square rate^2 + row rate = the time that is left for a second of the streams
        left = (trigger - speed.floor) / trigger
        square = speed.work * _comparisons(1)
        return round((math.sqrt(speed.row**2 + 4.0 * square * left) - speed.row) / (2.0 * square))

    def size_at(self, rate: int, speed: Speed) -> Size:
        """Return how much is joined with so many rows per second of each stream."""
        del speed
        return Size(rate, _comparisons(rate))

    def peak(self, plan: Plan) -> int:
        """Return the rows per second of each stream."""
        return plan.rate

    def steady(self, size: Size, seconds: int) -> Harvest:
        """Return streams of one size."""
        return Harvest(seconds, warm_up=1, rate=size.rate)

    def plan(self, speed: Speed, overhead: float | None = None) -> Plan:
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
        >>> from penstock.bench.live.speed import Speed
        >>> Harvest(60).plan(Speed(floor=0.25, row=1e-5, work=5e-7 / 36))
        Plan(trigger=2, rate=1666, cpu=0.71)
        """
        rate = round(_FACTOR * self.rate_within(speed))
        for_rows = rate * speed.row if overhead is None else max(0.0, overhead - speed.floor)
        trigger = trigger_for(speed.floor, _LEAST_TRIGGER)
        return Plan(trigger, rate, cpu_for(speed, for_rows, _LEAST_TRIGGER))

    def planned(self, plan: Plan, speed: Speed) -> Harvest:
        """Return the streams that are chosen."""
        del speed
        return replace(self, rate=plan.rate)

    def queries(self, plan: Plan) -> dict[str, Query]:
        """Return all queries; the one that falls behind last, so that it disturbs no other."""
        budget = Budget(cpu=plan.cpu)
        return {
            "cpu": Query.of(f"Penstock, cpu={plan.cpu}", self.join(budget)),
            "random": Query.of(
                f"Penstock, random-drop, cpu={plan.cpu}", self.join(budget, "random-drop")
            ),
            "exact": Query.of("Penstock, exact", self.join()),
        }


def _numbers() -> list[float]:
    """Return the table from which vectors are put together."""
    random = np.random.default_rng(1)
    base = random.uniform(-1.0, 1.0, _SIZE)
    noise = random.uniform(-_NOISE, _NOISE, (_COPIES, _SIZE))
    return (base + noise).ravel().tolist()


def _comparisons(rate: int) -> float:
    """Return the comparisons of a row of each stream: each is compared with one other window."""
    return float(len(_STREAMS) * _WINDOW * rate)

"""What a study joins: two streams, and the true age curve of the first."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Protocol

import numpy as np
import numpy.typing as npt

from penstock.goals import MaxSubset
from penstock.join import Join
from penstock.spec import Stream
from penstock.statistics.age_curve import AgeCurve

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa

    from penstock.budget import Budget
    from penstock.goals import Goal
    from penstock.predicates import Predicate

__all__ = [
    "ARRIVALS_PER_RATE",
    "Scenario",
    "Workload",
    "exact_times",
    "first_stream_windowed",
    "result_times",
    "workload",
]

Floats = npt.NDArray[np.float64]

ARRIVALS_PER_RATE = 0.8
"""With the paper's arrivals, gaps of 1/2r to 2/r, a stream brings this share of its rate."""

# Parts of a curve that a strategy is given, at most.
_MOST_PARTS = 120


def first_stream_windowed(window: float) -> dict[str, Stream]:
    """Return two streams, of which only the first has a window."""
    return {
        "s1": Stream(time="time", window=window),
        "s2": Stream(time="time", window=0),
    }


class Scenario(Protocol):
    """The parameters of a workload: a frozen dataclass, seed included."""

    @property
    def name(self) -> str:
        """Its name in panels and tables."""

    def make(self) -> Workload:
        """Make the streams; the same parameters always make the same streams."""

    def __hash__(self) -> int: ...


@dataclass(frozen=True, kw_only=True, eq=False)
class Workload:
    """Two streams of which only the first one's window needs memory.

    Attributes
    ----------
    streams, on
        Of the join.
    tables
        The whole of each stream, in order of time.
    curve
        p1 of the first stream: results of a row in each part of its window, the newest first.
    rate
        Rows of the first stream per unit of time, as they really arrive.
    window
        Of the first stream, in units of time.
    measured_from
        The time from which recall is measured; before it, windows fill and curves are learned.
    """

    streams: Mapping[str, Stream]
    on: Predicate
    tables: Mapping[str, pa.Table]
    curve: Floats
    rate: float
    window: float
    measured_from: float

    @property
    def full_rows(self) -> float:
        """Rows in a full window: what 100 % of memory means."""
        return self.rate * self.window

    @property
    def curve_in_parts(self) -> Floats:
        """The curve in few parts: they are ranked again whenever one has passed."""
        parts = math.gcd(self.curve.size, _MOST_PARTS)
        in_parts: Floats = self.curve.reshape(parts, -1).sum(axis=1)
        return in_parts

    def join(self, goal: Goal | None = None, budget: Budget | None = None, seed: int = 0) -> Join:
        """Return the join; without a budget, the exact one."""
        goal = MaxSubset() if goal is None else goal
        return Join(streams=self.streams, on=self.on, goal=goal, budget=budget, seed=seed)

    def theory(self, rows: float) -> float:
        """Return the recall of AGE with this many rows, by eq. 3 of `srivastava04`."""
        curve = AgeCurve(self.curve)
        made = curve.output(rows, rate=self.rate, window=self.window)
        return float(made) / (self.rate * curve.total)


@lru_cache(maxsize=2)
def workload(scenario: Scenario) -> Workload:
    """Make a workload, or return the one made before: points of a grid share theirs."""
    return scenario.make()


@lru_cache(maxsize=2)
def exact_times(scenario: Scenario) -> Floats:
    """Return the times of all results of the exact join, in order."""
    made = workload(scenario)
    return result_times(made, made.join())


def result_times(made: Workload, join: Join) -> Floats:
    """Run a join over a workload; return the times of its results, in order."""
    times = join.replay(made.tables).result["time"].to_numpy()
    return np.sort(times.astype(np.float64))

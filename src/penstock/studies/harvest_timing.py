"""How long it takes to set harvest fractions: figures 8 to 10 of `gedik05`."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from penstock.statistics.harvest_frontier import best_harvest
from penstock.statistics.harvest_greedy import budget_of, climb, descend, greedy
from penstock.studies.harvest_problems import problem
from penstock.yardsticks.harvest_optimum import harvest_optimum

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from penstock.statistics.harvest_model import Harvest, HarvestModel

__all__ = ["WAYS", "TimePoint", "TimeRow", "measure_time"]

_BEST_DELTA = 2


def _tried(model: HarvestModel, throttle: float, way: str) -> int:
    """Return how many settings of a direction a greedy way evaluates."""
    budget = budget_of(model, throttle)
    if way == "double-sided":
        way = "forward" if throttle <= 0.5 ** ((model.streams - 1) / 2) else "reverse"
    if way == "forward":
        return climb(model.table, budget, _BEST_DELTA, np.zeros_like(model.table.steps))
    return descend(model.table, budget, _BEST_DELTA, model.table.steps.copy())


WAYS: Mapping[str, Callable[[HarvestModel, float], Harvest]] = {
    "forward": greedy,
    "reverse": lambda model, z: greedy(model, z, way="reverse"),
    "double-sided": lambda model, z: greedy(model, z, way="double-sided"),
    "best_harvest": best_harvest,
    "optimum": harvest_optimum,
}
"""Greedy by best-delta in three ways, ours, and the optimum by search."""


@dataclass(frozen=True)
class TimePoint:
    """One way to choose, on problems of one size.

    Attributes
    ----------
    contender
        A name of `WAYS`.
    streams, count
        m and n.
    throttle
        z.
    problems, repeats
        How many problems there are, and how often each is solved.
    """

    contender: str
    streams: int
    count: int
    throttle: float
    problems: int = 10
    repeats: int = 5


@dataclass(frozen=True)
class TimeRow:
    """What a choice takes.

    Attributes
    ----------
    contender, streams, count, throttle
        The point.
    milliseconds
        The median over problems of the least of all repeats.
    tried
        Settings of a direction that a greedy way evaluates, on average; NaN for other ways.
    """

    contender: str
    streams: int
    count: int
    throttle: float
    milliseconds: float
    tried: float


def measure_time(point: TimePoint) -> TimeRow:
    """Measure how long a way takes. Models are given: what is timed is the choice."""
    models = [
        problem("uniform", seed, streams=point.streams, count=point.count)
        for seed in range(point.problems)
    ]
    choose = WAYS[point.contender]
    choose(models[0], point.throttle)  # compiles
    least = []
    for model in models:
        _ = model.table, model.full_cost  # made once for each model, and kept
        times = []
        for _ in range(point.repeats):
            start = time.perf_counter()
            choose(model, point.throttle)
            times.append(time.perf_counter() - start)
        least.append(min(times))
    is_greedy = point.contender in {"forward", "reverse", "double-sided"}
    tried = [_tried(model, point.throttle, point.contender) for model in models if is_greedy]
    return TimeRow(
        point.contender,
        point.streams,
        point.count,
        point.throttle,
        1e3 * float(np.median(least)),
        float(np.mean(tried)) if tried else float("nan"),
    )

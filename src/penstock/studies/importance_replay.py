"""What the engine makes of streams whose tuples differ in importance."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from penstock.engine.operator import Operator
from penstock.engine.plan import bind
from penstock.goals import MaxImportance
from penstock.join import Join
from penstock.predicates import Equal
from penstock.spec import Stream

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa

    from penstock.budget import Budget

__all__ = ["BY_IMPORTANCE", "Found", "join_of", "replayed"]

BY_IMPORTANCE = MaxImportance(of="importance")
"""The goal without a strategy: Penstock's own choice."""


class Found(NamedTuple):
    """What one contender came to on one pair of streams.

    Attributes
    ----------
    importance, results
        Of all results, and how many: divided by the number of tuples that came.
    fairness
        Jain's index of how long tuples stayed, eq. 4; NaN for yardsticks.
    tuples
        That came, of both streams.
    recomputations
        How many times priorities were computed anew; NaN for yardsticks.
    """

    importance: float
    results: float
    fairness: float
    tuples: int
    recomputations: float


def join_of(
    tables: Mapping[str, pa.Table],
    window: float,
    goal: MaxImportance = BY_IMPORTANCE,
    budget: Budget | None = None,
) -> Join:
    """Give the join of streams with columns ``time``, ``key`` and ``importance``."""
    streams = {name: Stream(time="time", window=window) for name in tables}
    return Join(streams=streams, on=Equal("key"), goal=goal, budget=budget)


def replayed(
    tables: Mapping[str, pa.Table], window: float, goal: MaxImportance, budget: Budget
) -> Found:
    """Run the engine, and give what it came to."""
    schemas = {name: table.schema for name, table in tables.items()}
    operator = Operator(bind(join_of(tables, window, goal, budget), schemas))
    for _ in operator.pieces(tables):
        pass  # of many millions of results only what they come to is wanted
    metrics = operator.metrics()
    fairness = np.nan if metrics.fairness is None else metrics.fairness
    tuples = metrics.arrived
    return Found(
        metrics.importance / tuples,
        metrics.emitted / tuples,
        fairness,
        tuples,
        metrics.recomputations,
    )

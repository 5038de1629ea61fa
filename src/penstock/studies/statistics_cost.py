"""What the steps of a join cost in this implementation, those of statistics included.

All figures are processor time of `Join.replay`, so they differ between machines and runs. The
streams have no value in common: nothing but arrivals, insertions and statistics costs.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pyarrow as pa

from penstock.budget import Budget
from penstock.costs import Costs
from penstock.studies.work_scenario import RATES, WINDOWS, WorkScenario, streams_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from penstock.join import Join
    from penstock.metrics import Metrics

__all__ = ["CostPoint", "CostRow", "measure_costs"]

# Insertions that are almost free, and so dear that hardly any row is inserted.
_FREE, _DEAR = 1e-12, 1e-2
# By which the values of the two streams differ.
_APART = 1_000_000


@dataclass(frozen=True)
class CostPoint:
    """At which rate costs are measured.

    Attributes
    ----------
    scale
        Rates are so many times those of `RATES`.
    seconds
        Of the streams.
    repeats
        The least of so many times counts.
    contender
        What the point is called among others.
    """

    scale: float
    seconds: float
    repeats: int
    contender: str = "costs"


@dataclass(frozen=True)
class CostRow:
    """Costs in microseconds.

    Attributes
    ----------
    rate
        Rows per second, of both streams.
    exact
        Of an arrival in the exact join, insertion included.
    arrival
        Of an arrival under a limit of work that is not inserted.
    insert
        Of an insertion, C_u.
    by_partner, max_subset
        Of an arrival for statistics, and for the decisions that they serve: more than PNI takes.
    result
        Of a result, C_p.
    """

    rate: float
    exact: float
    arrival: float
    insert: float
    by_partner: float
    max_subset: float
    result: float


def measure_costs(point: CostPoint) -> CostRow:
    """Measure what steps cost."""
    scenario = WorkScenario("direct", scale=point.scale, duration=point.seconds)
    streams = streams_of(scenario)
    apart = dict(streams.tables)
    keys = pa.array(apart["right"]["key"].to_numpy() + _APART)
    apart["right"] = apart["right"].set_column(0, "key", keys)
    rows = sum(table.num_rows for table in apart.values())
    exact_join = streams.join()

    def limited(strategy: str, insert: float) -> Join:
        budget = Budget(cpu=1.0, costs=Costs(insert=insert), burst=max(WINDOWS))
        return replace(exact_join, goal=replace(exact_join.goal, strategy=strategy), budget=budget)

    def each(join: Join) -> tuple[float, Metrics]:
        seconds, metrics = _least(join, apart, point.repeats)
        return 1e6 * seconds / rows, metrics

    exact, _ = each(exact_join)
    whole, all_of = each(limited("probe-no-insert", _FREE))
    bare, few_of = each(limited("probe-no-insert", _DEAR))
    insert = (whole - bare) / ((all_of.inserted - few_of.inserted) / rows)
    by_partner, max_subset = (
        each(limited(name, _FREE))[0] - whole for name in ("by-partner", "max-subset")
    )
    return CostRow(
        rate=point.scale * sum(RATES),
        exact=exact,
        arrival=bare,
        insert=insert,
        by_partner=by_partner,
        max_subset=max_subset,
        result=_of_result(point.repeats),
    )


def _of_result(repeats: int) -> float:
    """Return the microseconds of a result, from streams that have hundreds for each row."""
    scenario = WorkScenario("direct", scale=20.0, duration=10.0)
    streams = streams_of(scenario)
    seconds, metrics = _least(streams.join(), streams.tables, repeats)
    return 1e6 * seconds / metrics.emitted


def _least(join: Join, tables: Mapping[str, pa.Table], repeats: int) -> tuple[float, Metrics]:
    """Return the least processor time of several runs, after one that does not count."""
    metrics = join.replay(tables).metrics
    times = []
    for _ in range(repeats):
        start = time.process_time()
        join.replay(tables)
        times.append(time.process_time() - start)
    return min(times), metrics

"""Several joins that share one budget, bound to the schemas of all streams."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from penstock.durations import to_units
from penstock.engine.description import describe
from penstock.engine.first_decision import row_overhead
from penstock.engine.limits import part_of
from penstock.engine.lives import lengths_of
from penstock.engine.plan import bind
from penstock.errors import SchemaError, SpecificationError, must

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa

    from penstock.budget import Budget
    from penstock.durations import DurationLike
    from penstock.engine.plan import Plan
    from penstock.spec import Specification

__all__ = ["JointPlan", "JointSpecification", "SharingRule", "least_amounts"]

# The budget is divided so often in the longest window of the join whose longest is shortest.
_DIVISIONS = 4


@dataclass(frozen=True)
class SharingRule:
    """How a budget is divided.

    Attributes
    ----------
    whole
        The memory of all joins and shards, in rows or bytes; 0 if it is not limited.
    cpu
        The share of a core that all joins of a shard have together; None if it is not limited.
    weights
        Of each join.
    objective
        "least" or "total".
    interval
        After so much stream time it is divided again: seconds, or units where times are numbers.
    """

    whole: int
    weights: Mapping[str, float]
    objective: str
    interval: float
    cpu: float | None = None


@dataclass(frozen=True)
class JointPlan:
    """Bound joins, and how their budget is divided.

    Attributes
    ----------
    plans
        Of each join, by its name.
    rule
        How the budget is divided.
    """

    plans: Mapping[str, Plan]
    rule: SharingRule

    def check_shards(self, shards: int) -> None:
        """Raise unless the budget has room for a row of each stream, join and shard.

        Raises
        ------
        SpecificationError
            If it has not.
        """
        least = sum(least_amounts(self.plans).values())
        if self.rule.whole and part_of(self.rule.whole, shards - 1, shards) < least:
            over = f" over {shards} shards" if shards > 1 else ""
            raise SpecificationError(
                must(
                    f"budget of the workload{over}",
                    f"at least {least * shards}: one row for each stream, join and shard",
                    self.rule.whole,
                    "raise it, or use fewer shards",
                )
            )


@dataclass(frozen=True)
class JointSpecification:
    """Several joins that share one budget, checked.

    Attributes
    ----------
    joins
        By name; each has the budget of all as its own, of which it gets a part.
    budget
        Of all.
    weights
        Of each join.
    objective
        "least" or "total".
    every
        After so much stream time the budget is divided again; None for a default.
    """

    joins: Mapping[str, Specification]
    budget: Budget
    weights: Mapping[str, float]
    objective: str
    every: DurationLike | None

    @property
    def streams(self) -> tuple[str, ...]:
        """The names of all streams, each once."""
        return tuple(dict.fromkeys(name for join in self.joins.values() for name in join.names))

    def describe(self, schemas: Mapping[str, pa.Schema]) -> dict[str, Any]:
        """Return each join as a text, by its name."""
        return {name: describe(join, schemas) for name, join in self.joins.items()}

    def bind(self, schemas: Mapping[str, pa.Schema]) -> JointPlan:
        """Bind all joins to the schemas of the streams.

        Raises
        ------
        SchemaError
            If a stream has no schema, or does not fit a join.
        SpecificationError
            If the joins count time in different ways.
        """
        for unknown in set(schemas) - set(self.streams):
            known = ", ".join(f'"{each}"' for each in self.streams)
            raise SchemaError(
                must("stream", f"one of the workload's ({known})", unknown, "leave it out")
            )
        for missing in set(self.streams) - set(schemas):
            raise SchemaError(
                must("tables", f'given for stream "{missing}"', sorted(schemas), "add it")
            )
        plans = {
            name: bind(join, {stream: schemas[stream] for stream in join.names})
            for name, join in self.joins.items()
        }
        return JointPlan(plans, self._rule(plans))

    def _rule(self, plans: Mapping[str, Plan]) -> SharingRule:
        scales = {name: plan.time.units_per_second for name, plan in plans.items()}
        if len({scale is None for scale in scales.values()}) > 1:
            kinds = {n: "numbers" if s is None else "timestamps" for n, s in scales.items()}
            raise SpecificationError(
                must(
                    "times of a workload's joins",
                    "all timestamps or all numbers",
                    kinds,
                    "the budget is divided as time goes on: run them as two workloads",
                )
            )
        interval = min(_longest(plan) for plan in plans.values()) / _DIVISIONS
        if self.every is not None:
            scale = next(iter(scales.values()))
            why = "times are numbers" if scale is None else "times are timestamps"
            interval = to_units(self.every, scale, "every", why) / (scale or 1)
            if not interval:
                hint = "give a longer duration"
                raise SpecificationError(must("every", "a unit of the times", self.every, hint))
        whole = self.budget.rows or self.budget.memory_bytes or 0
        return SharingRule(
            whole, self.weights, self.objective, float(interval) or 1.0, self.budget.cpu_share
        )


def least_amounts(plans: Mapping[str, Plan]) -> dict[str, int]:
    """Return the least that each join can run with: a row of each stream."""
    least = {}
    for name, plan in plans.items():
        budget = plan.spec.budget
        in_bytes = budget is not None and budget.memory_bytes is not None
        # Bytes are counted in words of 8.
        row = math.ceil(row_overhead(plan) / 8) * 8 if in_bytes else 1
        least[name] = row * len(plan.sides)
    return least


def _longest(plan: Plan) -> float:
    """Return how long a row can wait, in seconds, or in units where times are numbers."""
    return float(max(lengths_of(plan))) / (plan.time.units_per_second or 1)

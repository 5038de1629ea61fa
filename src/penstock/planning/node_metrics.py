"""What each operator of a plan took and gave, and its cost beside the model's."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from penstock.planning.measure import seconds_of
from penstock.planning.pipeline import Joined, Leaf, steps_of
from penstock.planning.tree import Filter, streams_below

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pyarrow as pa

    from penstock.engine.replay import ShardSet
    from penstock.metrics import Metrics
    from penstock.planning.pipeline import Step
    from penstock.planning.plan import Plan

__all__ = ["Counted", "NodeMetrics", "modelled_cost", "node_metrics", "work_of"]


@dataclass(frozen=True)
class NodeMetrics:
    """What one operator of a plan did.

    Attributes
    ----------
    name
        The relations that its rows are made of: ``b``, ``a+b``.
    taken
        Rows that it took, by the name of its input; of a stream, and of a join with a table, in a
        streaming query those of the micro-batches that Spark remembers.
    given
        Rows that it gave. Of the last join of a streaming query these are all that it found, before
        conditions and windows are tested that it does not test itself.
    cost
        Its work, counted, per unit of time, at the costs of the plan; None where it is not counted.
    measured
        Processor time that it took, per unit of time: in a replay the time of this process in the
        operator; of a join in a streaming query that of Python (`Metrics.seconds`). None for what
        Spark computes itself: it runs selections, drop boxes and joins with tables in one piece
        of code with what feeds them.
    modelled
        What the model says it costs per unit of time. A selection that the plan has above a join
        counts with the join.
    metrics
        Of the join; None if it is none.
    """

    name: str
    taken: Mapping[str, int]
    given: int
    cost: float | None
    modelled: float | None
    metrics: Metrics | None = None
    measured: float | None = field(default=None, compare=False)


@dataclass
class Counted:
    """What is counted of one operator while it runs.

    Attributes
    ----------
    taken, given
        Rows, by input, and in all.
    seconds
        Processor time.
    join
        If it is one of Penstock's.
    """

    join: ShardSet | None = None
    taken: dict[str, int] = field(default_factory=dict)
    given: int = 0
    seconds: float = 0.0


def node_metrics(
    plan: Plan,
    last: Step,
    counted: Mapping[str, Counted],
    tables: Mapping[str, Sequence[pa.Table]],
) -> tuple[NodeMetrics, ...]:
    """Return what all operators did, inputs before what they feed."""
    span = _span(plan, tables)
    return tuple(
        make_node(
            plan,
            step,
            counted[step.name],
            span,
        )
        for step in steps_of(last)
    )


def make_node(
    plan: Plan,
    step: Step,
    counted: Counted,
    span: float | None,
) -> NodeMetrics:
    """Return what one operator did in a span of time; None if that is not known."""
    modelled = modelled_cost(plan, step.members, is_joined=not isinstance(step, Leaf))
    metrics = None if counted.join is None else counted.join.metrics()
    cost = measured = None
    if span:
        measured = counted.seconds / span
        if metrics is not None:
            single = isinstance(step, Joined) and len(step.inputs) > 2
            cost = work_of(plan, metrics, single=single) / span
        elif isinstance(step, Leaf):
            tests = sum(counted.taken.values()) * len(step.selections) * step.share
            cost = plan.model.costs.select * tests / span
    return NodeMetrics(
        step.name, dict(counted.taken), counted.given, cost, modelled, metrics, measured
    )


def modelled_cost(plan: Plan, members: Sequence[str], *, is_joined: bool) -> float:
    """Return what the model says an operator costs: the selections of a relation, or a join.

    Of a join also the selections directly above it.
    """
    sets = sum(1 << plan.model.index(name) for name in members)
    return sum(
        node.cost
        for node in plan.estimate.nodes
        if streams_below(node.tree) == sets and (is_joined or isinstance(node.tree, Filter))
    )


def work_of(plan: Plan, metrics: Metrics, *, single: bool) -> float:
    """Return what the counted steps of a join cost, at the costs of the plan's model."""
    costs = plan.model.costs
    arrived = sum(stream.arrived for stream in metrics.streams.values())
    # In one operator over all streams each partial result looks for the next member.
    partial = max(metrics.compared - metrics.emitted, 0) if single else 0
    return (
        costs.probe * (arrived + partial)
        + costs.store * metrics.inserted
        + costs.result * metrics.emitted
    )


def _span(plan: Plan, tables: Mapping[str, Sequence[pa.Table]]) -> float | None:
    """Return the time from the first row to the last, in seconds or units of numeric time."""
    times = []
    for source in plan.query.parsed.sources:
        if source.is_table:
            continue
        column = plan.query.time_of(source.origin)
        times += [seconds_of(table.column(column)) for table in tables[source.origin]]
    known = np.concatenate([each[np.isfinite(each)] for each in times])
    return float(np.ptp(known)) if known.size else None

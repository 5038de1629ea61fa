"""What the joins of a plan have done so far in a streaming query."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.join import progress
from penstock.planning.node_metrics import NodeMetrics, modelled_cost
from penstock.planning.tree import Filter, Read, Single, inputs_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql.streaming.query import StreamingQuery

    from penstock.planning.plan import Plan
    from penstock.planning.tree import Tree

__all__ = ["join_name", "joins_of", "plan_progress"]


def join_name(plan: Plan, members: tuple[str, ...], name: str) -> str:
    """Return under which name a join of a plan is observed; the last has the name of the plan."""
    joins = list(joins_of(plan, plan.tree))
    return name if members == joins[-1] else f"{name} {'+'.join(members)}"


def joins_of(plan: Plan, tree: Tree) -> Iterator[tuple[str, ...]]:
    """Yield the members of each join of streams, inputs before what they feed."""
    for each in inputs_of(tree):
        yield from joins_of(plan, each)
    if isinstance(tree, Read | Filter):
        return
    sides = [_members(plan, each) for each in inputs_of(tree)]
    if isinstance(tree, Single) or not any(_are_tables(plan, each) for each in sides):
        yield _members(plan, tree)


def plan_progress(plan: Plan, query: StreamingQuery, name: str) -> tuple[NodeMetrics, ...]:
    """Return what each join has done; see `Plan.progress`."""
    found = []
    taken: dict[str, int] = {}
    for members in joins_of(plan, plan.tree):
        metrics = progress(query, join_name(plan, members, name))
        arrived = {each: stream.arrived for each, stream in metrics.streams.items()}
        taken |= arrived
        found.append(("+".join(members), members, arrived, metrics))
    return tuple(
        NodeMetrics(
            each,
            arrived,
            taken.get(each, metrics.emitted),
            None,
            modelled_cost(plan, members, is_joined=True),
            metrics,
        )
        for each, members, arrived, metrics in found
    )


def _are_tables(plan: Plan, members: tuple[str, ...]) -> bool:
    sources = {source.name: source for source in plan.query.parsed.sources}
    return all(sources[each].is_table for each in members)


def _members(plan: Plan, tree: Tree) -> tuple[str, ...]:
    """Return the relations of a tree in the order of its rows: tables come after streams."""
    if isinstance(tree, Read):
        return (plan.model.names[tree.relation],)
    sides = [_members(plan, each) for each in inputs_of(tree)]
    if not isinstance(tree, Single):
        sides.sort(key=lambda side: _are_tables(plan, side))
    return tuple(name for side in sides for name in side)

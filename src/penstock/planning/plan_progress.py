"""What the operators of a plan have done so far in a streaming query."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from penstock.join import progress
from penstock.planning.node_metrics import NodeMetrics, modelled_cost, work_of
from penstock.planning.tree import Filter, Read, Single, inputs_of, nodes_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pyspark.sql.streaming.query import StreamingQuery

    from penstock.metrics import Metrics
    from penstock.planning.plan import Plan
    from penstock.planning.tree import Tree
    from penstock.spark.stream_counts import Remembered

__all__ = ["join_name", "joins_of", "kept_name", "plan_progress", "read_name"]


def join_name(plan: Plan, members: tuple[str, ...], name: str) -> str:
    """Return under which name a join of a plan is observed; the last has the name of the plan."""
    joins = list(joins_of(plan, plan.tree))
    return name if members == joins[-1] else f"{name} {'+'.join(members)}"


def read_name(relation: str, name: str) -> str:
    """Return under which name the rows of a stream are counted, as they are read."""
    return f"{name} {relation} read"


def kept_name(relation: str, name: str) -> str:
    """Return under which name those that its drop box and its selections leave are counted."""
    return f"{name} {relation} kept"


def joins_of(plan: Plan, tree: Tree) -> Iterator[tuple[str, ...]]:
    """Yield the members of each join of streams, inputs before what they feed."""
    for members, is_joined in _operators(plan, tree):
        if is_joined:
            yield members


def plan_progress(plan: Plan, query: StreamingQuery, name: str) -> tuple[NodeMetrics, ...]:
    """Return what each operator has done; see `Plan.progress`."""
    from penstock.spark.stream_counts import remembered  # noqa: PLC0415  # only this needs Spark

    operators = list(_operators(plan, plan.tree))
    joins = {members: join_name(plan, members, name) for members, joined in operators if joined}
    metrics = {members: progress(query, of) for members, of in joins.items()}
    streams = [members[0] for members, joined in operators if not joined]
    counts = [of(each, name) for each in streams for of in (read_name, kept_name)]
    known = remembered(query, counts, joins.values())
    now = _latest(metrics.values())
    began = _latest(known.before.values()) if known.before else known.first
    span = None if now is None or began is None or now <= began else now - began
    found = []
    for members, is_joined in operators:
        if not is_joined:
            found.append(_stream(plan, members[0], known, name, span))
            continue
        single = any(isinstance(each, Single) for each in nodes_of(plan.tree))
        work = work_of(plan, metrics[members], single=single)
        seconds = metrics[members].seconds
        before = known.before.get(joins[members])
        if before is not None:
            work -= work_of(plan, before, single=single)
            seconds -= before.seconds
        found.append(
            NodeMetrics(
                "+".join(members),
                {each: stream.arrived for each, stream in metrics[members].streams.items()},
                metrics[members].emitted,
                None if span is None else work / span,
                modelled_cost(plan, members, is_joined=True),
                metrics[members],
                None if span is None else seconds / span,
            )
        )
    return _as_taken(found)


def _stream(
    plan: Plan, relation: str, known: Remembered, name: str, span: float | None
) -> NodeMetrics:
    """Return what the drop box and the selections of a stream did."""
    source = next(each for each in plan.query.parsed.sources if each.name == relation)
    selections = [each for each in plan.query.parsed.selections if each.relation == relation]
    rows = known.rows[read_name(relation, name)]
    share = plan.kept.get(relation, 1.0)
    given = known.rows[kept_name(relation, name)] if selections or share < 1 else rows
    tests = rows * len(selections) * share
    return NodeMetrics(
        relation,
        {source.origin: rows},
        given,
        None if span is None else plan.model.costs.select * tests / span,
        modelled_cost(plan, (relation,), is_joined=False),
    )


def _as_taken(nodes: list[NodeMetrics]) -> tuple[NodeMetrics, ...]:
    """Return the operators; a join below another has given what that one took."""
    taken: dict[str, int] = {}
    for node in nodes:
        if node.metrics is not None:
            taken |= node.taken
    return tuple(
        node if node.metrics is None else replace(node, given=taken.get(node.name, node.given))
        for node in nodes
    )


def _latest(metrics: Iterable[Metrics]) -> float | None:
    """Return the greatest time of all streams; None while there is none."""
    times = [
        stream.latest
        for each in metrics
        for stream in each.streams.values()
        if stream.latest is not None
    ]
    return max(times, default=None)


def _operators(plan: Plan, tree: Tree) -> Iterator[tuple[tuple[str, ...], bool]]:
    """Yield the members of each stream and of each join of streams, and whether it is a join."""
    for each in inputs_of(tree):
        yield from _operators(plan, each)
    if isinstance(tree, Filter):
        return
    members = _members(plan, tree)
    if isinstance(tree, Read):
        if not _are_tables(plan, members):
            yield members, False
        return
    sides = [_members(plan, each) for each in inputs_of(tree)]
    if isinstance(tree, Single) or not any(_are_tables(plan, each) for each in sides):
        yield members, True


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

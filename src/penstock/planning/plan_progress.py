"""What the operators of a plan have done so far in a streaming query."""

from __future__ import annotations

from dataclasses import replace
from enum import Enum, auto
from typing import TYPE_CHECKING

from penstock.join import progress
from penstock.planning.node_metrics import NodeMetrics, modelled_cost, work_of
from penstock.planning.tree import Filter, Read, Single, inputs_of, nodes_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pyspark.sql.streaming.query import StreamingQuery

    from penstock.metrics import Metrics
    from penstock.planning.plan import Plan
    from penstock.planning.tree import Tree
    from penstock.spark.stream_counts import Remembered

__all__ = [
    "given_name",
    "join_name",
    "joins_of",
    "kept_name",
    "plan_progress",
    "read_name",
    "taken_name",
]


class _Kind(Enum):
    """What an operator does."""

    READ = auto()
    JOIN = auto()
    TABLE_JOIN = auto()


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


def taken_name(members: tuple[str, ...], name: str) -> str:
    """Return under which name the results of a join are counted that are joined with a table."""
    return f"{name} {'+'.join(members)} taken"


def given_name(members: tuple[str, ...], name: str) -> str:
    """Return under which name the rows are counted that a join with a table gives."""
    return f"{name} {'+'.join(members)} given"


def joins_of(plan: Plan, tree: Tree) -> Iterator[tuple[str, ...]]:
    """Yield the members of each join of streams, inputs before what they feed."""
    for members, kind, _ in _operators(plan, tree):
        if kind is _Kind.JOIN:
            yield members


def plan_progress(plan: Plan, query: StreamingQuery, name: str) -> tuple[NodeMetrics, ...]:
    """Return what each operator has done; see `Plan.progress`."""
    from penstock.spark.stream_counts import remembered  # noqa: PLC0415  # only this needs Spark

    operators = list(_operators(plan, plan.tree))
    of_kind = {kind: [each for each, of, _ in operators if of is kind] for kind in _Kind}
    joins = {members: join_name(plan, members, name) for members in of_kind[_Kind.JOIN]}
    metrics = {members: progress(query, of) for members, of in joins.items()}
    counts = [of(each, name) for (each,) in of_kind[_Kind.READ] for of in (read_name, kept_name)]
    counts += [
        of(each, name) for each in of_kind[_Kind.TABLE_JOIN] for of in (taken_name, given_name)
    ]
    known = remembered(query, counts, joins.values())
    now = _latest(metrics.values())
    began = _latest(known.before.values()) if known.before else known.first
    span = None if now is None or began is None or now <= began else now - began
    found: list[NodeMetrics] = []
    for members, kind, below in operators:
        if kind is _Kind.READ:
            found.append(_stream(plan, members[0], known, name, span))
            continue
        if kind is _Kind.TABLE_JOIN:
            found.append(_table_join(plan, members, below, known, found, name))
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


def _table_join(
    plan: Plan,
    members: tuple[str, ...],
    below: tuple[str, ...],
    known: Remembered,
    found: Sequence[NodeMetrics],
    name: str,
) -> NodeMetrics:
    """Return what a join with a table did; what it took of the table is not counted."""
    source = next(each for each in found if each.name == "+".join(below))
    is_counted = source.metrics is not None  # a join, whose own counts are before its tests
    taken = known.rows[taken_name(members, name)] if is_counted else source.given
    return NodeMetrics(
        "+".join(members),
        {source.name: taken},
        known.rows[given_name(members, name)],
        None,
        modelled_cost(plan, members, is_joined=True),
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


def _operators(plan: Plan, tree: Tree) -> Iterator[tuple[tuple[str, ...], _Kind, tuple[str, ...]]]:
    """Yield the members of each operator that takes rows of streams, its kind, and its input.

    The input is that of joins with tables: what has streams.
    """
    for each in inputs_of(tree):
        yield from _operators(plan, each)
    if isinstance(tree, Filter):
        return
    members = _members(plan, tree)
    if _are_tables(plan, members):
        return
    if isinstance(tree, Read):
        yield members, _Kind.READ, ()
        return
    sides = [_members(plan, each) for each in inputs_of(tree)]
    with_rows = [each for each in sides if not _are_tables(plan, each)]
    if isinstance(tree, Single) or len(with_rows) == len(sides):
        yield members, _Kind.JOIN, ()
    else:
        yield members, _Kind.TABLE_JOIN, with_rows[0]


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

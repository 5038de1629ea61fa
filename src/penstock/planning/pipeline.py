"""A plan as it runs: what each stream is read as, which joins there are, and what feeds which."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

import pyarrow as pa

from penstock.durations import to_units
from penstock.engine.plan import bind
from penstock.engine.times import common_scale
from penstock.errors import SpecificationError, must
from penstock.join import Join
from penstock.planning.join_conditions import between, join_on
from penstock.planning.measure import window_seconds
from penstock.planning.member_rows import KEY, SELECTED, TIME, Key, MemberRows, MemberWindow
from penstock.planning.output import selected_columns
from penstock.planning.residual import check_condition
from penstock.planning.tree import Filter, Pair, Read, Single, Tree, inputs_of
from penstock.spec import ResultStream, Stream
from penstock.windows import Rows

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from penstock.durations import DurationLike
    from penstock.engine.times import TimeScale
    from penstock.planning.parsed import JoinCondition, Source
    from penstock.planning.plan import Plan

__all__ = ["Enriched", "Joined", "Leaf", "Step", "check_shards_of", "pipeline_of", "steps_of"]


@dataclass(frozen=True)
class Leaf:
    """A relation as it is read: dropped, selected and projected before anything else.

    Attributes
    ----------
    source
        The relation.
    stream
        Its time and window; None for a table.
    share
        Of its rows that the drop box keeps.
    selections
        Conditions on its rows.
    marks
        Whether rows that are not selected are marked, not left out: they count in a window by rows.
    schema
        Of the columns that are needed later.
    constants
        Columns that have the same value in all rows, for products.
    """

    source: Source
    stream: Stream | None
    share: float
    selections: tuple[str, ...]
    marks: bool
    schema: pa.Schema
    constants: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """As a join calls it."""
        return self.source.name

    @property
    def members(self) -> tuple[str, ...]:
        """The relations that its rows are made of."""
        return (self.source.name,)

    @property
    def row_schema(self) -> pa.Schema:
        """Of the rows as a join gets them."""
        fields = list(self.schema)
        fields += [pa.field(each, pa.int32()) for each in self.constants]
        return pa.schema(fields + ([pa.field(SELECTED, pa.bool_())] if self.marks else []))


@dataclass(frozen=True)
class Enriched:
    """Rows joined with those of stored tables.

    Attributes
    ----------
    inputs
        What has streams, if anything has; and tables.
    conditions
        Between the two.
    keys
        Columns of the next join.
    stream
        As the next join sees it; None if these are tables alone.
    row_schema
        Of the rows.
    """

    inputs: tuple[Step, Step]
    conditions: tuple[JoinCondition, ...]
    keys: tuple[Key, ...]
    stream: Stream | None
    row_schema: pa.Schema

    @property
    def name(self) -> str:
        """As a join calls it."""
        return "+".join(self.members)

    @property
    def members(self) -> tuple[str, ...]:
        """The relations that its rows are made of."""
        return self.inputs[0].members + self.inputs[1].members


@dataclass(frozen=True)
class Joined:
    """A join of streams, or of what other joins give.

    Attributes
    ----------
    inputs
        Of the join.
    join
        The join.
    rows
        Makes rows of its results.
    stream
        As the next join sees it.
    row_schema
        Of the rows.
    """

    inputs: tuple[Step, ...]
    join: Join
    rows: MemberRows
    stream: Stream
    row_schema: pa.Schema

    @property
    def name(self) -> str:
        """As a join calls it."""
        return "+".join(self.members)

    @property
    def members(self) -> tuple[str, ...]:
        """The relations that its rows are made of."""
        return self.rows.members


Step: TypeAlias = Leaf | Enriched | Joined


def steps_of(step: Step) -> Iterator[Step]:
    """Yield all steps, inputs before what they feed."""
    for each in () if isinstance(step, Leaf) else step.inputs:
        yield from steps_of(each)
    yield step


def pipeline_of(plan: Plan, schemas: Mapping[str, pa.Schema]) -> Step:
    """Return the last step of a plan over streams and tables of these columns.

    Selections are made where relations are read, wherever the plan has them: there they run in
    Spark's own code, and all plans give the same results.

    Parameters
    ----------
    plan
        The plan.
    schemas
        Of the streams and tables, by the names that the query has from `streams` and `tables`.

    Raises
    ------
    SchemaError
        If columns are missing, or have types that cannot be compared.
    SpecificationError
        If the plan cannot be run.
    """
    plan.query.check_schemas(schemas)
    return _Builder(plan, schemas).step(plan.tree, (), is_last=True)


def check_shards_of(last: Step, shards: int | None) -> None:
    """Raise if a plan is to have several shards, and one of its joins cannot.

    Parameters
    ----------
    last
        The last step.
    shards
        As the user says; None leaves the number to each join.
    """
    joins = [step for step in steps_of(last) if isinstance(step, Joined)]
    by_rows = [
        name
        for step in joins
        for name, stream in step.join.streams.items()
        if isinstance(stream.window, Rows)
    ]
    if by_rows and isinstance(shards, int) and shards > 1:
        what = f'shards of a plan with a window by rows of "{by_rows[0]}"'
        hint = "leave it out: a shard does not know how many rows of a stream went to the others"
        raise SpecificationError(must(what, "1", shards, hint))


class _Builder:
    def __init__(self, plan: Plan, schemas: Mapping[str, pa.Schema]) -> None:
        self._query = plan.query
        self._parsed = plan.query.parsed
        self._kept = plan.kept
        self._schemas = schemas
        self._sources = {source.name: source for source in self._parsed.sources}
        self._names = plan.model.names
        self._columns = selected_columns(self._parsed, schemas)
        for condition in self._parsed.conditions:
            self._columns |= {condition.left, condition.right}

    def step(self, tree: Tree, keys: Sequence[tuple[str, str] | None], *, is_last: bool) -> Step:
        """Return a tree as steps; its rows have columns for the next join to compare."""
        while isinstance(tree, Filter):
            tree = tree.below
        if isinstance(tree, Read):
            return self._leaf(self._names[tree.relation], keys)
        named = tuple(
            Key(f"{KEY}{place}", *(each or (None, None))) for place, each in enumerate(keys)
        )
        sides = [self._relations(each) for each in inputs_of(tree)]
        if isinstance(tree, Pair) and any(self._are_tables(each) for each in sides):
            return self._enriched(tree, named, is_last=is_last)
        return self._joined(tree, sides, named, is_last=is_last)

    def _relations(self, tree: Tree) -> tuple[str, ...]:
        if isinstance(tree, Read):
            return (self._names[tree.relation],)
        return tuple(name for each in inputs_of(tree) for name in self._relations(each))

    def _are_tables(self, relations: Sequence[str]) -> bool:
        return all(self._sources[each].is_table for each in relations)

    def _leaf(self, name: str, keys: Sequence[tuple[str, str] | None]) -> Leaf:
        source = self._sources[name]
        schema = self._schemas[source.origin]
        stream = None if source.is_table else self._stream(source)
        needed = {column for relation, column in self._columns if relation == name}
        needed |= {stream.time} if stream is not None else set()
        selections = tuple(each.text for each in self._parsed.selections if each.relation == name)
        return Leaf(
            source,
            stream,
            1.0 if source.is_table else self._kept.get(name, 1.0),
            selections,
            marks=source.rows is not None and bool(selections),
            schema=pa.schema([field for field in schema if field.name in needed]),
            constants=tuple(f"{KEY}{place}" for place, each in enumerate(keys) if each is None),
        )

    def _stream(self, source: Source) -> Stream:
        given = self._query.streams[source.origin]
        window = window_of(source)
        if isinstance(given, Stream):
            return replace(given, window=window)
        return Stream(time=given, window=window)

    def _enriched(self, tree: Pair, keys: tuple[Key, ...], *, is_last: bool) -> Enriched:
        one, other = tree.left, tree.right
        if self._are_tables(self._relations(one)):
            one, other = other, one
        inputs = (self.step(one, (), is_last=is_last), self.step(other, (), is_last=False))
        if not is_last:
            self._check_by_time(inputs[0].members)
        conditions = between(self._parsed.conditions, inputs[0].members, inputs[1].members)
        for each in conditions:
            check_condition(each, self._type(each.left), self._type(each.right))
        stream = inputs[0].stream
        if stream is not None:
            stream = replace(stream, time=TIME)
        fields = [_field_of(member, step) for step in inputs for member in step.members]
        if stream is not None:
            fields.append(pa.field(TIME, self._time_type(inputs[0])))
        fields += [self._key_field(each) for each in keys]
        return Enriched(inputs, conditions, keys, stream, pa.schema(fields))

    def _time_type(self, step: Step) -> pa.DataType:
        column = step.stream.time if isinstance(step, Leaf) and step.stream else TIME
        kind = step.row_schema.field(column).type
        return common_scale({step.name: (column, kind)}).type

    def _joined(
        self,
        tree: Tree,
        sides: Sequence[tuple[str, ...]],
        keys: tuple[Key, ...],
        *,
        is_last: bool,
    ) -> Joined:
        on = join_on(self._parsed.conditions, sides, is_single=isinstance(tree, Single))
        inputs = tuple(
            self.step(each, columns, is_last=False)
            for each, columns in zip(inputs_of(tree), on.columns, strict=True)
        )
        names = [step.name for step in inputs]
        columns = {
            step.name: tuple(
                each[1] if isinstance(step, Leaf) and each is not None else f"{KEY}{place}"
                for place, each in enumerate(wanted)
            )
            for step, wanted in zip(inputs, on.columns, strict=True)
        }
        for each in on.rest:
            check_condition(each, self._type(each.left), self._type(each.right))
        streams = {step.name: step.stream for step in inputs if step.stream is not None}
        join = Join(streams=streams, on=on.predicate(names, columns))
        bound = bind(join, {step.name: step.row_schema for step in inputs})
        rows = MemberRows(
            tuple((step.name, () if isinstance(step, Leaf) else step.members) for step in inputs),
            bound.time,
            self._windows(inputs, bound.time),
            on.rest,
            tuple(step.name for step in inputs if isinstance(step, Leaf) and step.marks),
            keys,
        )
        fields = [_field_of(member, step) for step in inputs for member in step.members]
        fields += [pa.field(TIME, bound.time.type), *(self._key_field(each) for each in keys)]
        window = self._shortest(rows.members, is_last=is_last)
        stream = ResultStream(time=TIME, window=window)
        return Joined(inputs, join, rows, stream, pa.schema(fields))

    def _windows(self, inputs: Sequence[Step], scale: TimeScale) -> tuple[MemberWindow, ...]:
        """Return the windows that the join itself does not see to: those of members of results."""
        found = []
        for step in inputs:
            streams = [each for each in step.members if not self._sources[each].is_table]
            for name in streams if len(streams) > 1 else ():
                source = self._sources[name]  # by time: `_shortest` has seen to it
                units = to_units(
                    source.duration or 0,
                    scale.units_per_second,
                    f'window of stream "{name}"',
                    "of times",
                )
                found.append(MemberWindow(name, self._stream(source).time, units))
        return tuple(found)

    def _check_by_time(self, members: Sequence[str]) -> None:
        """Check that windows of what is joined again are by time.

        Raises
        ------
        SpecificationError
            If one is by rows.
        """
        for source in (self._sources[each] for each in members):
            if not source.is_table and source.rows is not None:
                hint = (
                    "its rank has to be known at every later join: take a plan of Query.plans in "
                    f'which "{source.name}" is joined last'
                )
                got = f"{source.window} below another join"
                where = f'window by rows of "{source.name}"'
                raise SpecificationError(must(where, "at the last join of a plan", got, hint))

    def _shortest(self, members: Sequence[str], *, is_last: bool) -> DurationLike:
        """Return the window of results: they live no longer than any member does."""
        if not is_last:
            self._check_by_time(members)
        sources = [self._sources[each] for each in members if not self._sources[each].is_table]
        by_time = [each for each in sources if each.rows is None]
        shortest = min(by_time, key=window_seconds, default=None)
        return 0 if shortest is None or shortest.duration is None else shortest.duration

    def _type(self, column: tuple[str, str]) -> pa.DataType:
        return self._schemas[self._sources[column[0]].origin].field(column[1]).type

    def _key_field(self, key: Key) -> pa.Field:
        if key.relation is None or key.column is None:
            return pa.field(key.name, pa.int32())
        return pa.field(key.name, self._type((key.relation, key.column)))


def window_of(source: Source) -> DurationLike | Rows:
    """Return the window of a stream, as a `Stream` has it."""
    return source.duration or 0 if source.rows is None else Rows(source.rows)


def _field_of(member: str, step: Step) -> pa.Field:
    """Return the struct column of a member of a step's rows."""
    if isinstance(step, Leaf):
        return pa.field(member, pa.struct(list(step.row_schema)))
    return pa.field(member, step.row_schema.field(member).type)

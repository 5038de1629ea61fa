"""Plans run on Spark: selections, projections and drop boxes in SQL, joins as Penstock's operators.

What Spark computes itself is given as SQL, so that it runs before any row reaches Python.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import pyarrow as pa

from penstock.errors import SchemaError, must
from penstock.planning.condition_sql import condition_sql
from penstock.planning.drop_hash import hashed_columns, threshold
from penstock.planning.member_rows import SELECTED, TIME
from penstock.planning.output import output_columns
from penstock.planning.parsed import quoted
from penstock.planning.pipeline import (
    Enriched,
    Joined,
    Leaf,
    check_shards_of,
    pipeline_of,
    steps_of,
)
from penstock.planning.plan_progress import given_name, join_name, kept_name, read_name, taken_name

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame

    from penstock.planning.parsed import JoinCondition
    from penstock.planning.pipeline import Step
    from penstock.planning.plan import Plan

__all__ = ["run_plan"]


def run_plan(
    plan: Plan,
    frames: Mapping[str, DataFrame],
    shards: int | None,
    *,
    name: str | None,
    time: str | None,
    seed: int,
) -> DataFrame:
    """Run a plan over bounded frames, or over streaming ones if it has a name.

    See `Plan.batch` and `Plan.stream`.
    """
    from penstock.spark.frames import arrow_schemas  # noqa: PLC0415  # only this needs Spark

    parsed = plan.query.parsed
    _check_frames(plan, frames, streaming=name is not None)
    schemas = arrow_schemas(frames)
    last = pipeline_of(plan, schemas)
    check_shards_of(last, shards)
    columns = output_columns(parsed, schemas, time)
    names = {}
    if name is not None:
        joins = [step for step in steps_of(last) if isinstance(step, Joined)]
        names = {step.name: join_name(plan, step.members, name) for step in joins}
    running = _Running(
        frames, schemas, shards, last, names, name=name, seed=seed, has_time=time is not None
    )
    rows = running.composed(last)
    return rows.selectExpr(*(f"{text} AS {quoted(each)}" for each, text in columns.items()))


class _Running:
    """The frames of a plan."""

    def __init__(
        self,
        frames: Mapping[str, DataFrame],
        schemas: Mapping[str, pa.Schema],
        shards: int | None,
        last: Step,
        names: Mapping[str, str],
        *,
        name: str | None,
        seed: int,
        has_time: bool,
    ) -> None:
        self._frames = frames
        self._schemas = schemas
        self._shards = shards
        self._names = names  # of joins in a streaming query; none in a batch
        self._name = name  # of a streaming query
        self._last_join = next(
            (step for step in reversed(list(steps_of(last))) if isinstance(step, Joined)), None
        )
        self._has_time = has_time
        self._seed = seed

    def _rows(self, step: Step) -> DataFrame:
        """Return the rows that a step gives, as a join takes them."""
        if isinstance(step, Leaf):
            return self._read(step)
        return self._enrich(step) if isinstance(step, Enriched) else self._join(step)

    def composed(self, step: Step) -> DataFrame:
        """Return the rows of a step with a struct column for each member."""
        rows = self._rows(step)
        if not isinstance(step, Leaf):
            return rows
        inside = ", ".join(map(quoted, step.row_schema.names))
        columns = [f"struct({inside}) AS {quoted(step.name)}"]
        if step.stream is not None:
            kind = step.row_schema.field(step.stream.time).type
            columns.append(f"{_as_time(quoted(step.stream.time), kind)} AS {TIME}")
        return rows.selectExpr(*columns)

    def _read(self, leaf: Leaf) -> DataFrame:
        origin = leaf.source.origin
        rows = self._counted(self._frames[origin], leaf, read_name)
        if leaf.share < 1:
            rows = rows.filter(drop_box(leaf, self._schemas[origin], self._seed))
        rows = rows.alias(leaf.name)
        for text in () if leaf.marks else leaf.selections:
            rows = rows.filter(text)
        if leaf.share < 1 or leaf.selections:
            rows = self._counted(rows, leaf, kept_name)
        columns = [quoted(each) for each in leaf.schema.names]
        columns += [f"CAST(0 AS INT) AS {quoted(each)}" for each in leaf.constants]
        if leaf.marks:
            holds = " AND ".join(f"({text})" for text in leaf.selections)
            columns.append(f"COALESCE({holds}, FALSE) AS {SELECTED}")
        return rows.selectExpr(*columns)

    def _counted(
        self, rows: DataFrame, leaf: Leaf, name_of: Callable[[str, str], str]
    ) -> DataFrame:
        """Count the rows of a stream in a streaming query, for `Plan.progress`."""
        if self._name is None or leaf.stream is None:
            return rows
        from penstock.spark.stream_counts import count_rows  # noqa: PLC0415  # needs Spark

        time = leaf.stream.time
        kind = leaf.schema.field(time).type
        return count_rows(rows, name_of(leaf.name, self._name), time, kind)

    def _enrich(self, step: Enriched) -> DataFrame:
        from penstock.spark.frames import COMPLETE  # noqa: PLC0415  # only this needs Spark
        from penstock.spark.table_joins import join_with_table  # noqa: PLC0415  # as above

        left, right = (self.composed(each) for each in step.inputs)
        if isinstance(step.inputs[0], Joined):
            left = self._counted_results(left, step, taken_name)
        parts = [self._condition(each, step) for each in step.conditions]
        member = step.inputs[1].members[0]
        rows = join_with_table(left, right, " AND ".join(parts) or "TRUE", member)
        rows = self._counted_results(rows, step, given_name)
        columns = [quoted(each) for each in step.members]
        columns += [TIME] if step.stream is not None else []
        for key in step.keys:
            value = "CAST(0 AS INT)"
            if key.relation is not None and key.column is not None:
                value = f"{quoted(key.relation)}.{quoted(key.column)}"
            columns.append(f"{value} AS {quoted(key.name)}")
        return rows.selectExpr(*columns, *([COMPLETE] if COMPLETE in rows.columns else []))

    def _counted_results(
        self, rows: DataFrame, step: Enriched, name_of: Callable[[tuple[str, ...], str], str]
    ) -> DataFrame:
        """Count what a join with a table takes and gives, in the same way."""
        if self._name is None or step.stream is None:
            return rows
        from penstock.spark.stream_counts import count_results  # noqa: PLC0415  # needs Spark

        return count_results(rows, name_of(step.members, self._name))

    def _condition(self, condition: JoinCondition, step: Enriched) -> str:
        left, right = (
            step.row_schema.field(relation).type.field(column).type
            for relation, column in (condition.left, condition.right)
        )
        return condition_sql(condition, left, right)

    def _join(self, step: Joined) -> DataFrame:
        from penstock.spark import stream  # noqa: PLC0415  # only this needs Spark
        from penstock.spark.feeding import Feed  # noqa: PLC0415  # as above

        frames = {each.name: self._rows(each) for each in step.inputs}
        is_last = step is self._last_join
        feed = Feed(
            step.rows,
            step.row_schema,
            step.rows.inputs,
            TIME,
            tuple((key.name, key.relation, key.column) for key in step.rows.keys),
            joins=bool(self._names) and not is_last,
        )
        shards = self._shards  # left out, it is 1 for a join with a window by rows
        if not self._names:
            return stream.batch(step.join, frames, shards, feed=feed)
        return stream.stream(
            step.join,
            frames,
            shards,
            self._names[step.name],
            feed=feed,
            watermark=is_last and self._has_time,
        )


def drop_box(leaf: Leaf, schema: pa.Schema, seed: int) -> str:
    """Return the condition, in SQL, for which a drop box keeps a row."""
    if leaf.share <= 0:
        return "FALSE"
    name = leaf.name.replace("\\", "\\\\").replace("'", "\\'")
    columns = ", ".join([f"{seed}L", f"'{name}'", *map(quoted, hashed_columns(schema))])
    return f"xxhash64({columns}) < {threshold(leaf.share)}L"


def _check_frames(plan: Plan, frames: object, *, streaming: bool) -> None:
    """Check that there is a frame of the right kind for each stream and table.

    Raises
    ------
    SchemaError
        If there is not.
    """
    origins = {source.origin: source.is_table for source in plan.query.parsed.sources}
    if not isinstance(frames, Mapping):
        hint = f"write {{{', '.join(f'{name!r}: ...' for name in origins)}}}"
        kind = type(frames).__name__
        raise SchemaError(must("frames", "one for each stream and table", kind, hint))
    for name, frame in frames.items():
        if name not in origins:
            continue
        if not hasattr(frame, "isStreaming"):
            hint = "for a pyarrow.Table see Plan.replay"
            kind = type(frame).__name__
            raise SchemaError(must(f'frame of "{name}"', "a DataFrame of Spark", kind, hint))
        wanted = streaming and not origins[name]
        if frame.isStreaming != wanted:
            kinds = {True: "streaming, as spark.readStream gives", False: "bounded"}
            why = "it is a stored table" if origins[name] else "see Plan.batch and Plan.stream"
            got = kinds[frame.isStreaming]
            raise SchemaError(must(f'frame of "{name}"', kinds[wanted], got, why))


def _as_time(column: str, kind: pa.DataType) -> str:
    """Return a time column in SQL, of the type that the engine counts it in."""
    if pa.types.is_date(kind):
        return f"CAST({column} AS TIMESTAMP_NTZ)"
    if pa.types.is_integer(kind):
        return f"CAST({column} AS BIGINT)"
    if pa.types.is_floating(kind):
        return f"CAST({column} AS DOUBLE)"
    return column

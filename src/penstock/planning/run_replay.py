"""Plans run over tables in the Python process: one engine for each join, one feeding the next."""

from __future__ import annotations

import time as clock
from collections.abc import Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from penstock.engine.replay import ShardSet, batches_of, in_step
from penstock.engine.struct_column import as_struct
from penstock.engine.times import common_scale
from penstock.errors import SchemaError, must
from penstock.planning.drop_hash import kept_rows
from penstock.planning.member_rows import SELECTED, TIME, with_keys
from penstock.planning.node_metrics import Counted, NodeMetrics, node_metrics
from penstock.planning.output import output_columns, project
from penstock.planning.pipeline import (
    Enriched,
    Joined,
    Leaf,
    check_shards_of,
    pipeline_of,
    steps_of,
)
from penstock.planning.selection_values import selected_rows
from penstock.planning.table_join import join_rows

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from penstock.planning.pipeline import Step
    from penstock.planning.plan import Plan

__all__ = ["PlanReplay", "replay_plan"]


@dataclass(frozen=True)
class PlanReplay:
    """The results of a query over tables, and what its operators did.

    Attributes
    ----------
    result
        The columns of the SELECT list.
    nodes
        What each operator of the plan took and gave, inputs before what they feed.
    """

    result: pa.Table
    nodes: tuple[NodeMetrics, ...]


def replay_plan(
    plan: Plan,
    tables: Mapping[str, pa.Table | Sequence[pa.Table]],
    shards: int = 1,
    *,
    ended: bool = True,
    time: str | None = None,
    seed: int = 0,
) -> PlanReplay:
    """Run a plan over tables; see `Plan.replay`."""
    parsed = plan.query.parsed
    if not isinstance(tables, Mapping):
        names = dict.fromkeys(source.origin for source in parsed.sources)
        hint = f"write {{{', '.join(f'{name!r}: ...' for name in names)}}}"
        raise SchemaError(
            must("tables", "one for each stream and table", type(tables).__name__, hint)
        )
    batches = {name: batches_of(name, given) for name, given in tables.items()}
    schemas = {name: parts[0].schema for name, parts in batches.items()}
    last = pipeline_of(plan, schemas)
    check_shards_of(last, shards)
    columns = output_columns(parsed, schemas, time)
    stored = {source.origin for source in parsed.sources if source.is_table}
    for name in stored:
        if len(batches[name]) > 1:
            hint = "concatenate them: a stored table is there from the beginning"
            raise SchemaError(must(f'table "{name}"', "one", len(batches[name]), hint))
    running = _Running(last, shards, seed, {name: batches[name][0] for name in stored})
    moving = {name: parts for name, parts in batches.items() if name not in stored}
    results = []
    count = max(len(parts) for parts in moving.values())
    for number, batch in enumerate(in_step(moving), start=1):
        running.begin(batch, last=ended and number == count)
        results.append(project(running.composed(last), columns))
    whole = pa.concat_tables(results, promote_options="permissive")
    return PlanReplay(whole, node_metrics(plan, last, running.counted, moving))


class _Running:
    """The operators of a plan, batch after batch."""

    def __init__(self, last: Step, shards: int, seed: int, stored: Mapping[str, pa.Table]) -> None:
        self._last = last
        self._seed = seed
        self._stored = stored
        self._tables: dict[str, pa.Table] = {}  # steps without streams, which never change
        self.counted = {step.name: Counted() for step in steps_of(last)}
        self._joins = {
            step.name: ShardSet(
                step.join,
                {each.name: each.row_schema for each in step.inputs},
                shards,
            )
            for step in steps_of(last)
            if isinstance(step, Joined)
        }
        for name, join in self._joins.items():
            self.counted[name].join = join
        self._batch: Mapping[str, pa.Table] = {}
        self._ended = False

    def begin(self, batch: Mapping[str, pa.Table], *, last: bool) -> None:
        """Take the rows of a micro-batch."""
        self._batch, self._ended = batch, last

    def _rows(self, step: Step) -> pa.Table:
        """Return the rows that a step gives in this batch, as a join takes them."""
        if step.stream is None and step.name in self._tables:
            return self._tables[step.name]
        if isinstance(step, Leaf):
            rows = self._read(step)
        elif isinstance(step, Enriched):
            rows = self._enrich(step)
        else:
            rows = self._join(step)
        self.counted[step.name].given += rows.num_rows
        if step.stream is None:
            self._tables[step.name] = rows
        return rows

    def composed(self, step: Step) -> pa.Table:
        """Return the rows of a step with a struct column for each member."""
        rows = self._rows(step)
        if not isinstance(step, Leaf):
            return rows
        struct = as_struct(rows, pa.struct(list(step.row_schema)))
        made = pa.table({step.name: struct})
        if step.stream is None:
            return made
        kind = step.row_schema.field(step.stream.time).type
        scale = common_scale({step.name: (step.stream.time, kind)})
        times, good = scale.read(rows.column(step.stream.time))
        return made.append_column(TIME, pa.array(times, mask=~good).cast(scale.type))

    def _read(self, leaf: Leaf) -> pa.Table:
        origin = leaf.source.origin
        table = self._stored[origin] if leaf.stream is None else self._batch.get(origin)
        if table is None:
            return leaf.row_schema.empty_table()
        self._take(leaf, origin, table)
        with self._timed(leaf):
            return self._kept(leaf, table)

    def _kept(self, leaf: Leaf, table: pa.Table) -> pa.Table:
        """Return what the drop box and the selections of a relation leave of its rows."""
        if leaf.share < 1:
            table = table.filter(kept_rows(table, leaf.name, leaf.share, self._seed))
        chosen = selected_rows(leaf.selections, table)
        if leaf.selections and not leaf.marks:
            table = table.filter(pa.array(chosen))
        rows = table.select(leaf.schema.names)
        for name in leaf.constants:
            rows = rows.append_column(name, pa.array(np.zeros(rows.num_rows, np.int32)))
        return rows.append_column(SELECTED, pa.array(chosen)) if leaf.marks else rows

    def _enrich(self, step: Enriched) -> pa.Table:
        left, right = (self.composed(each) for each in step.inputs)
        for each, rows in zip(step.inputs, (left, right), strict=True):
            self._take(step, each.name, rows)
        with self._timed(step):
            return with_keys(join_rows(left, right, step.conditions), step.keys)

    def _join(self, step: Joined) -> pa.Table:
        batch = {each.name: self._rows(each) for each in step.inputs}
        for name, rows in batch.items():
            self._take(step, name, rows)
        told = {each.name: self._complete_until(each) for each in step.inputs}
        known = {name: until for name, until in told.items() if until is not None}
        join = self._joins[step.name]
        with self._timed(step):
            pieces = list(join.pieces(batch, last=self._ended, told=known))
            made = [step.rows(piece) for piece in pieces]
            return pa.concat_tables([step.row_schema.empty_table(), *made])

    def _complete_until(self, step: Step) -> float | None:
        while isinstance(step, Enriched):
            step = step.inputs[0]
        return self._joins[step.name].complete_until() if isinstance(step, Joined) else None

    @contextmanager
    def _timed(self, step: Step) -> Iterator[None]:
        """Count the processor time of what a step does itself."""
        began = clock.process_time()
        yield
        self.counted[step.name].seconds += clock.process_time() - began

    def _take(self, step: Step, name: str, rows: pa.Table) -> None:
        taken = self.counted[step.name].taken
        taken[name] = taken.get(name, 0) + rows.num_rows

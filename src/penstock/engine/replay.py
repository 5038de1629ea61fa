"""A join over tables in the Python process: the same engine, without Spark or a JVM."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING, TypeAlias

import pyarrow as pa

from penstock.engine.first_decision import row_overhead
from penstock.engine.operator import Operator
from penstock.engine.plan import Plan, bind
from penstock.engine.sharding import route
from penstock.engine.stream_progress import progress_of_all
from penstock.errors import SchemaError, SpecificationError, must
from penstock.metrics import total

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from penstock.metrics import Metrics
    from penstock.spec import Specification

Tables: TypeAlias = "pa.Table | Sequence[pa.Table]"


@dataclass(frozen=True)
class Replay:
    """The results of a join over tables, and its metrics.

    Attributes
    ----------
    result
        For each stream a struct column of its name with the whole row; ``time``, the greatest of
        the joined times; ``weight``.
    metrics
        What happened to the rows, and what it cost.
    """

    result: pa.Table
    metrics: Metrics


def replay(
    spec: Specification,
    tables: Mapping[str, Tables],
    shards: int = 1,
    *,
    ended: bool = True,
    callback: Callable[[Metrics], object] | None = None,
) -> Replay:
    """Run a join over tables; see `Join.replay`."""
    if not isinstance(tables, Mapping):
        raise SchemaError(
            must(
                "tables",
                "a table for each stream, by its name",
                type(tables).__name__,
                f"write {{{', '.join(f'{name!r}: ...' for name in spec.names)}}}",
            )
        )
    batches = {name: batches_of(name, given) for name, given in tables.items()}
    shard_set = ShardSet(spec, {name: parts[0].schema for name, parts in batches.items()}, shards)
    results = [shard_set.plan.result_schema.empty_table()]
    last = max(len(parts) for parts in batches.values())
    for number, batch in enumerate(in_step(batches), start=1):
        results.extend(shard_set.pieces(batch, last=ended and number == last))
        if callback is not None:
            callback(shard_set.metrics())
    return Replay(pa.concat_tables(results), shard_set.metrics())


class ShardSet:
    """All shards of a join in this process, batch after batch.

    Parameters
    ----------
    spec
        The join.
    schemas
        Of its streams.
    shards
        Into how many it is divided.
    """

    def __init__(
        self, spec: Specification, schemas: Mapping[str, pa.Schema], shards: int = 1
    ) -> None:
        self.plan = bind(spec, schemas)
        check_shards(self.plan, shards)
        self._operators = [
            Operator(self.plan, shard=shard, shards=shards, aligned=True) for shard in range(shards)
        ]

    def pieces(
        self,
        batch: Mapping[str, pa.Table],
        *,
        last: bool = False,
        told: Mapping[str, float] | None = None,
    ) -> Iterator[pa.Table]:
        """Join one batch and yield its results; see `Operator.pieces`."""
        shards = len(self._operators)
        stream_progress = progress_of_all(self.plan, batch) if shards > 1 else None
        routed = route(self.plan, batch, shards)
        for operator, part in zip(self._operators, routed, strict=True):
            operator.settle_dimensions(batch)
            clock = cpu_clock(self.plan)
            began, used = clock(), time.process_time()
            yield from operator.pieces(part, stream_progress, last=last, told=told)
            operator.seconds += time.process_time() - used
            if operator.work is not None:
                operator.work.ledger.measure(clock() - began)

    def complete_until(self) -> int | float | None:
        """Return the time from which on results can still come; None while a stream has no rows."""
        return self._operators[0].complete_until()

    def metrics(self) -> Metrics:
        """Return what all shards have done so far."""
        return total(operator.metrics() for operator in self._operators)


def cpu_clock(*plans: Plan) -> Callable[[], float]:
    """Return the clock by which the steps of joins in this process are timed.

    That of the thread that joins, unless products of vectors may use others. (Spark's workers have
    one thread for them, `OMP_NUM_THREADS`.)
    """
    return time.process_time if any(each.vectors for each in plans) else time.thread_time


def check_shards(plan: Plan, shards: object) -> None:
    """Raise unless `shards` is a number of shards over which the budget can be divided."""
    if not isinstance(shards, int) or isinstance(shards, bool) or shards < 1:
        raise SpecificationError(
            must("shards", "a whole number of 1 or more", shards, "leave it out for one shard")
        )
    if plan.has_row_windows and shards > 1:
        raise SpecificationError(
            must(
                "shards of a join with a window of rows",
                "1",
                shards,
                "leave it out: a shard does not know how many rows of a stream went to the others",
            )
        )
    budget = plan.spec.budget
    if budget is None:
        return
    least = shards * len(plan.sides)
    over = f" over {shards} shards" if shards > 1 else ""
    if budget.rows is not None and budget.rows < least:
        raise SpecificationError(
            must(
                f"rows of the budget{over}",
                f"at least {least}: one for each stream and shard",
                budget.rows,
                "raise it, or use fewer shards",
            )
        )
    needed = least * row_overhead(plan)
    if budget.memory_bytes is not None and budget.memory_bytes < needed:
        raise SpecificationError(
            must(
                f"memory of the budget{over}",
                f"at least {needed} bytes: one row for each stream and shard",
                budget.memory,
                "raise it, or use fewer shards",
            )
        )


def batches_of(name: str, given: object) -> list[pa.Table]:
    """Return the micro-batches of a stream: one table, or a list of them.

    Raises
    ------
    SchemaError
        If it is something else, or the tables have different columns.
    """
    parts: list[pa.Table] = list(given) if isinstance(given, (list, tuple)) else [given]
    for part in parts:
        if not isinstance(part, pa.Table):
            raise SchemaError(
                must(
                    f'table of stream "{name}"',
                    "a pyarrow.Table, or a list of them, one for each micro-batch",
                    type(part).__name__,
                    "see pyarrow.table and pyarrow.Table.from_pandas",
                )
            )
        if part.schema != parts[0].schema:
            raise SchemaError(
                f'tables of stream "{name}" must have one schema; got\n{parts[0].schema}\nand\n'
                f"{part.schema}\ncast one of them"
            )
    if not parts:
        raise SchemaError(
            f'tables of stream "{name}" must not be empty; got an empty list; '
            f"pass a table without rows, so that its columns are known"
        )
    return parts


def in_step(batches: Mapping[str, list[pa.Table]]) -> Iterator[dict[str, pa.Table]]:
    """Yield the micro-batches; a stream whose list has ended is left out."""
    for parts in zip_longest(*batches.values()):
        yield {n: part for n, part in zip(batches, parts, strict=True) if part is not None}

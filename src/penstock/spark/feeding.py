"""Results of one join that feed another: how they travel, and how far the first has come.

Results become rows of the next join in Python, as soon as they are unpacked. With them go rows that
are no results: each says, in the column `COMPLETE`, from which time on results can still come. So
the next join knows it also while there are none (`penstock.engine.source_clocks`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import pyarrow as pa
from pyspark.sql.types import DataType, IntegerType, StructField, StructType

from penstock.engine.ipc import from_ipc
from penstock.spark.frames import COMPLETE, nullable, result_type
from penstock.spark.result_files import ResultReader
from penstock.spark.worker import freeze_loaded_objects

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pyspark.sql import DataFrame

    from penstock.engine.plan import Plan
    from penstock.spark.definition import Definition

__all__ = ["Feed", "RowUnpacker", "row_type", "split_told"]

MakeRows: TypeAlias = Callable[[pa.Table], pa.Table]


@dataclass(frozen=True)
class Feed:
    """How a join's results become the rows of another join, or of the query.

    Attributes
    ----------
    rows
        Makes rows of results; travels to Spark's workers.
    schema
        Of the rows.
    inputs
        Of each input of the join its name and its members; one that is a stream itself has none.
    time
        Name of the column with the results' time.
    keys
        Name, member and column of each further column; None and None for a whole number.
    joins
        Whether another join takes them, which needs to know how far this one has come.
    """

    rows: MakeRows
    schema: pa.Schema
    inputs: Sequence[tuple[str, Sequence[str]]]
    time: str
    keys: Sequence[tuple[str, str | None, str | None]] = ()
    joins: bool = False


def row_type(
    plan: Plan, frames: Mapping[str, DataFrame], feed: Feed, *, watermark: bool
) -> StructType:
    """Return Spark's type of the rows."""
    members: dict[str, DataType] = {}
    for name, parts in feed.inputs:
        schema = frames[name].schema
        if not parts:
            members[name] = nullable(schema)
        members |= {part: nullable(schema[part].dataType) for part in parts}
    time = result_type(plan, frames, watermark=watermark)["time"]
    fields = [StructField(name, kind) for name, kind in members.items()]
    fields.append(StructField(feed.time, time.dataType, metadata=time.metadata))
    for name, member, column in feed.keys:
        kind: DataType = IntegerType()
        if member is not None and column is not None:
            kind = members[member][column].dataType  # type: ignore[index]  # a struct
        fields.append(StructField(name, kind))
    if feed.joins:
        fields.append(StructField(COMPLETE, time.dataType))
    return StructType(fields)


@dataclass(frozen=True)
class RowUnpacker:
    """Unpacks results and makes rows of them: a function for `mapInArrow`."""

    definition: Definition
    feed: Feed

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the rows, and how far the join has come."""
        freeze_loaded_objects()
        with ResultReader() as reader:
            for batch in batches:
                for address in batch.column("address").drop_null().to_pylist():
                    for results in reader.read(address):
                        yield from self._rows(pa.Table.from_batches([results]))
                for packed in batch.column("results").drop_null():
                    yield from self._rows(from_ipc(packed.as_buffer()))
                if self.feed.joins:
                    for text in batch.column("complete_time").drop_null().to_pylist():
                        yield self._complete(text)

    def _rows(self, results: pa.Table) -> Iterator[pa.RecordBatch]:
        rows = self.feed.rows(results)
        if self.feed.joins:
            rows = rows.append_column(COMPLETE, pa.nulls(rows.num_rows, self._time))
        yield from rows.to_batches()

    def _complete(self, text: str) -> pa.RecordBatch:
        """Return the row that says how far the join has come."""
        columns = {field.name: pa.nulls(1, field.type) for field in self.feed.schema}
        scale = self.definition.plan().time
        time = np.array([scale.dtype.type(text)], scale.dtype)
        return pa.record_batch({**columns, COMPLETE: scale.to_arrow(time)})

    @property
    def _time(self) -> pa.DataType:
        return self.definition.plan().time.type


def split_told(plan: Plan, table: pa.Table) -> tuple[pa.Table, int | float | None]:
    """Return the rows of a stream of results, and the time that its source has sent."""
    last = table.column(table.num_columns - 1)
    rows = table.select(range(table.num_columns - 1)).filter(last.is_null())
    times, good = plan.time.read(last)
    return rows, times[good].min().item() if good.any() else None

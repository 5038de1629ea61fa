"""Readers of one of the market's streams: whole, or in micro-batches."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, TypeAlias, cast

import numpy as np
from pyspark.sql.datasource import DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow

from penstock.spark.market.rows import generate, table_of, times_of, times_of_both

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pyarrow as pa

    from penstock.spark.market.options import SourceOptions

__all__ = ["StreamReader", "WholeReader"]

Offset: TypeAlias = dict[str, int]

# Two readers of one query look at the clock some milliseconds apart. As rows fall due in steps of
# a tenth of a second, both nearly always see the same step, and end the micro-batch together.
_STEPS_PER_SECOND = 10

# As many as Spark puts into one batch itself (spark.sql.execution.arrow.maxRecordsPerBatch).
_ROWS_PER_ARROW_BATCH = 10_000


@dataclass(frozen=True, slots=True)
class _RowRange(InputPartition):
    """Rows of a stream, from `first` up to but not including `end`."""

    first: int
    end: int


class WholeReader(DataSourceReader):
    """Reads a stream from beginning to end."""

    def __init__(self, options: SourceOptions) -> None:
        self._options = options

    def partitions(self) -> list[InputPartition]:
        """Split all rows into partitions."""
        rows = table_of(generate(self._options.market), self._options.stream).num_rows
        # Without any partition, Spark would make one that is not a row range.
        return _split(0, rows, self._options.partitions) or [_RowRange(0, 0)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a partition."""
        return _read(self._options, cast("_RowRange", partition))


class StreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reads a stream in micro-batches that end where those of the other stream do.

    Spark makes two of these for each stream of a query. One lives in a process of its own on the
    driver for as long as the query runs, and answers all questions about offsets. The other is only
    pickled, for tasks to call its `read`. So only the first one's attributes ever change.
    """

    def __init__(self, options: SourceOptions, clock: Callable[[], float]) -> None:
        self._options = options
        self._clock = clock
        self._rows_per_second = options.rows_per_second
        self._began: tuple[float, int] | None = None  # when, and how many rows had been read

    def initialOffset(self) -> Offset:  # noqa: N802  # Spark's
        """Return the offset before the first row."""
        return {"until": 0}

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802  # Spark's
        """Return the limit of a micro-batch; called before the first question about offsets."""
        # Spark asks both streams for this before it asks either for an offset. If the market were
        # generated only then, the clock of the second would start later by as long as that takes.
        times_of_both(self._options.market)
        return ReadMaxRows(self._options.rows_per_batch)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802  # Spark's
        """Ignore the pace: all rows are available."""
        self._rows_per_second = None

    def latestOffset(self, start: Offset, limit: ReadLimit) -> Offset:  # noqa: N802  # Spark's
        """Return where the next micro-batch ends; `start` if there are no new rows."""
        times = times_of_both(self._options.market)
        read = int(np.searchsorted(times, start["until"], side="right"))
        end = times.size
        if isinstance(limit, ReadMaxRows):
            if self._began is None:
                self._began = (self._clock(), read)
            end = self._rows_due()
            if end - read > limit.max_rows:
                # To the next multiple, not just as many rows more. So a stream that is behind the
                # other catches up with it.
                end = (read // limit.max_rows + 1) * limit.max_rows
        return {"until": int(times[end - 1])} if end > read else start

    def reportLatestOffset(self) -> Offset | None:  # noqa: N802  # Spark's
        """Return the offset of the last row that is due, for Spark's progress reports."""
        due = self._rows_due()
        return {"until": int(times_of_both(self._options.market)[due - 1])} if due else None

    def partitions(self, start: Offset, end: Offset) -> list[InputPartition]:
        """Split the rows of a micro-batch into partitions."""
        times = times_of(generate(self._options.market), self._options.stream)
        first, last = np.searchsorted(times, [start["until"], end["until"]], side="right")
        return _split(int(first), int(last), self._options.partitions)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a partition."""
        return _read(self._options, cast("_RowRange", partition))

    def _rows_due(self) -> int:
        """Return how many rows of both streams together are due by now."""
        rows = times_of_both(self._options.market).size
        if self._rows_per_second is None:
            return rows
        if self._began is None:
            return 0
        began, read = self._began
        steps = math.floor((self._clock() - began) * _STEPS_PER_SECOND)
        return int(min(read + steps * self._rows_per_second / _STEPS_PER_SECOND, rows))


def _split(first: int, end: int, partitions: int) -> list[InputPartition]:
    """Split rows into parts of nearly the same size, none of them empty."""
    parts = min(partitions, end - first)
    edges = np.linspace(first, end, parts + 1, dtype=np.int64).tolist()
    return [_RowRange(*edge) for edge in pairwise(edges)]


def _read(options: SourceOptions, rows: _RowRange) -> Iterator[pa.RecordBatch]:
    table = table_of(generate(options.market), options.stream)
    part = table.slice(rows.first, rows.end - rows.first)
    return iter(part.to_batches(max_chunksize=_ROWS_PER_ARROW_BATCH))

"""Results handed from the operator to Spark: in rows or in files, and how long that takes."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pandas as pd

from penstock.engine.ipc import to_ipc
from penstock.spark import result_files
from penstock.spark.result_files import ResultFile

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa

__all__ = ["HandingOver", "output_row"]

_COLUMNS = ("complete_until", "complete_time", "counters", "address", "results")
# Results in a row, if they do not go to a file: few enough bytes for Java to hold several rows.
_MAX_ROW_BYTES = 16 << 20


class HandingOver:
    """Hands the results of one shard and micro-batch over to Spark.

    Parameters
    ----------
    query, batch
        Which query's micro-batch this is.
    may_use_files
        Whether results may be in files that are not encrypted.

    Attributes
    ----------
    handed_over
        Results that Spark has taken, and the seconds that this took beside the CPU time of this
        thread: by the clock, because what Java does meanwhile is not seen from here. With files
        these are results of earlier micro-batches, which is known by now.
    """

    def __init__(self, query: str, batch: int, *, may_use_files: bool) -> None:
        self._query, self._batch = query, batch
        self._uses_files = may_use_files and result_files.is_possible()
        self.handed_over = result_files.close_old_files(query, batch)

    def rows(self, pieces: Iterator[pa.Table]) -> Iterator[pd.DataFrame]:
        """Yield rows with results, or with their addresses in a file."""
        file = None
        for piece in pieces:
            if self._uses_files:
                file = file or ResultFile(self._query, self._batch)
                yield output_row(address=file.append(piece))
                continue
            rows = max(1, piece.num_rows * _MAX_ROW_BYTES // max(1, piece.nbytes))
            for start in range(0, piece.num_rows, rows):
                row = output_row(results=to_ipc(piece.slice(start, rows)))
                busy, began = time.thread_time(), time.perf_counter()
                yield row
                waited = time.perf_counter() - began - (time.thread_time() - busy)
                taken, seconds = self.handed_over
                taken += min(rows, piece.num_rows - start)
                self.handed_over = taken, seconds + max(waited, 0.0)


def output_row(**given: object) -> pd.DataFrame:
    """Return one row of what a shard yields, as Spark takes it."""
    columns = dict.fromkeys(_COLUMNS) | given
    return pd.DataFrame({name: pd.Series([value], dtype=object) for name, value in columns.items()})

"""Rows of tables that may have more text than Arrow's offsets of 32 bits can count: 2 GiB.

A column of such a table stays in chunks, and rows are taken chunk by chunk. What is taken at a time
must itself be small: `runs` cuts rows by their bytes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Sequence

    from penstock.engine.arrays import Integers

# Tables up to this size are safe to combine: far below 2 GiB.
_SAFE_BYTES = 1 << 30


def combined(table: pa.Table) -> pa.Table:
    """Return a table in one chunk, or as it is if it is too large for that."""
    return table.combine_chunks() if table.nbytes <= _SAFE_BYTES else table


def take(tables: Sequence[pa.Table], index: Integers, size: int) -> pa.Table:
    """Return rows of some tables, which are numbered throughout.

    Parameters
    ----------
    tables
        Of one schema.
    index
        The rows, in the order wanted.
    size
        Bytes of all tables.
    """
    if size <= _SAFE_BYTES:
        together = tables[0] if len(tables) == 1 else pa.concat_tables(tables)
        return together.take(pa.array(index))
    batches = [batch for table in tables for batch in table.to_batches()]
    ends = np.cumsum([batch.num_rows for batch in batches])
    batch_of = np.searchsorted(ends, index, side="right")
    order = np.argsort(batch_of, kind="stable")
    parts = [tables[0].slice(0, 0)]
    for number in np.unique(batch_of):
        batch = batches[number]
        rows = index[batch_of == number] - (ends[number] - batch.num_rows)
        parts.append(pa.Table.from_batches([batch.take(pa.array(rows))]))
    back = np.empty(index.size, np.int64)
    back[order] = np.arange(index.size)
    return pa.concat_tables(parts).combine_chunks().take(pa.array(back))


def runs(sizes: Integers, most_bytes: int, most_rows: int) -> list[tuple[int, int]]:
    """Cut rows into runs of so many bytes and rows at most, or of a single row.

    >>> runs(np.array([3, 3, 9, 1, 1, 1]), most_bytes=6, most_rows=2)
    [(0, 2), (2, 3), (3, 5), (5, 6)]
    """
    ends = np.cumsum(sizes)
    cut = []
    start = 0
    while start < sizes.size:
        before = int(ends[start - 1]) if start else 0
        stop = int(np.searchsorted(ends, before + most_bytes, side="right"))
        stop = min(max(stop, start + 1), start + most_rows)
        cut.append((start, stop))
        start = stop
    return cut

"""Whole tables cut into micro-batches, as a stream would deliver them."""

from __future__ import annotations

from datetime import datetime
from itertools import pairwise
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from penstock.errors import SpecificationError, must
from penstock.tables import check_tables
from penstock.testing._arguments import check_count

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from penstock.spec import Specification

__all__ = ["cut", "cut_rows"]

Boundary = TypeVar("Boundary", datetime, float)


def cut(
    join: Specification,
    tables: Mapping[str, pa.Table],
    at: Sequence[Boundary],
) -> list[dict[str, pa.Table]]:
    """Cut all streams at the same times, so that they advance together.

    Parameters
    ----------
    join
        The join, which names the time column of each stream.
    tables
        The whole of each stream, by the join's names.
    at
        Times at which to cut, ascending: `datetime` objects if times are timestamps (UTC if they
        have no zone), else numbers. A row at a boundary is in the batch after it.

    Returns
    -------
    list of dict
        One batch more than there are boundaries, each with a table (maybe empty) for every stream.
        Each row is in exactly one batch; rows of a batch keep their order. Rows whose time is null
        or NaN are in the last batch.

    Examples
    --------
    >>> from penstock.predicates import Equal
    >>> from penstock.spec import Specification, Stream
    >>> stream = Stream(time="t", window=10)
    >>> join = Specification(streams={"a": stream, "b": stream}, on=Equal("t"))
    >>> tables = {"a": pa.table({"t": [0, 4, 5, 9]}), "b": pa.table({"t": [7, 8]})}
    >>> batches = cut(join, tables, at=[5])
    >>> [{name: batch["t"].to_pylist() for name, batch in part.items()} for part in batches]
    [{'a': [0, 4], 'b': []}, {'a': [5, 9], 'b': [7, 8]}]
    """
    check_tables(join, tables)
    if any(later < earlier for earlier, later in pairwise(at)):
        raise SpecificationError(must("at", "in ascending order", list(at), "sort the boundaries"))
    cuts = {}
    for name, stream in join.streams.items():
        batch = _batch_of_rows(tables[name][stream.time], at)
        rows = tables[name].take(pa.array(np.argsort(batch, kind="stable")))
        cuts[name] = _slices(rows, np.searchsorted(np.sort(batch), np.arange(1, len(at) + 1)))
    return _together(cuts)


def cut_rows(
    tables: Mapping[str, pa.Table], *, batches: int, seed: int = 0
) -> list[dict[str, pa.Table]]:
    """Cut each stream at random rows of its own, so that one runs ahead of the other.

    Parameters
    ----------
    tables
        The whole of each stream.
    batches
        Number of batches; at least 1.
    seed
        The same seed gives the same cuts.

    Returns
    -------
    list of dict
        The batches, each with a table (maybe empty) for every stream. Concatenated they are the
        tables, in their own order.

    Examples
    --------
    >>> tables = {"a": pa.table({"t": range(6)}), "b": pa.table({"t": range(6)})}
    >>> batches = cut_rows(tables, batches=3, seed=2)
    >>> [(batch["a"].num_rows, batch["b"].num_rows) for batch in batches]
    [(1, 0), (4, 2), (1, 4)]
    """
    check_count("batches", batches)
    generator = np.random.default_rng(seed)
    return _together(
        {
            name: _slices(
                table,
                np.sort(generator.integers(table.num_rows, size=batches - 1, endpoint=True)),
            )
            for name, table in tables.items()
        }
    )


def _batch_of_rows(column: pa.ChunkedArray, at: Sequence[Boundary]) -> npt.NDArray[np.int64]:
    """Return the batch number of each row: the number of boundaries not after its time."""
    boundaries = np.asarray(at)
    times = column
    if pa.types.is_timestamp(column.type):
        # In the column's own unit; finer boundaries are an error, not rounded.
        boundaries = pa.array(list(at), column.type).cast(pa.int64()).to_numpy()
        times = column.cast(pa.int64())
    numbers = pc.fill_null(times, 0).to_numpy()
    batch: npt.NDArray[np.int64] = np.searchsorted(boundaries, numbers, side="right")
    batch[column.is_null().to_numpy()] = len(at)
    return batch


def _slices(table: pa.Table, positions: npt.NDArray[np.int64]) -> list[pa.Table]:
    bounds = [0, *positions.tolist(), table.num_rows]
    return [table.slice(start, end - start) for start, end in pairwise(bounds)]


def _together(cuts: Mapping[str, list[pa.Table]]) -> list[dict[str, pa.Table]]:
    return [dict(zip(cuts, parts, strict=True)) for parts in zip(*cuts.values(), strict=True)]

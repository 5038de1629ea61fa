"""Columns of two tables as numbers: one code for equal keys, one scale for all times."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from penstock.columns import at_midnight, decoded
from penstock.errors import SchemaError, must
from penstock.tables import UNITS_PER_SECOND

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["TIME_LIMIT", "codes_of", "times_of"]

Indices = npt.NDArray[np.int64]
Times = npt.NDArray[Any]

TIME_LIMIT = 2**61
"""As in the engine: further from zero than any clock, and no sum of two below it overflows."""


def codes_of(left: Sequence[pa.ChunkedArray], right: Sequence[pa.ChunkedArray]) -> Indices:
    """Number the keys of two tables so that equal keys have equal codes.

    Parameters
    ----------
    left, right
        The key columns of each table, each to be compared with its counterpart.

    Returns
    -------
    array
        A code for each row of `left` and then of `right`; -1 where a column is null or NaN,
        which equals nothing.

    Raises
    ------
    SchemaError
        If two columns cannot be compared.

    Examples
    --------
    >>> codes_of([pa.chunked_array([[7, None]])], [pa.chunked_array([[9.0, 7.0]])]).tolist()
    [0, -1, 1, 0]
    """
    codes = np.zeros(len(left[0]) + len(right[0]), np.int64)
    for one, other in zip(left, right, strict=True):
        values = _stacked(one, other)
        usable = values.is_valid()
        if pa.types.is_floating(values.type):
            usable = pc.and_kleene(usable, pc.invert(pc.is_nan(values)))
            values = pc.add(values, pa.scalar(0.0, values.type))  # -0.0 + 0.0 is 0.0
        usable = pc.fill_null(usable, fill_value=False).to_numpy(zero_copy_only=False)
        own = values.dictionary_encode().indices.fill_null(0).to_numpy().astype(np.int64)
        # Codes so far and those of this column are below the number of rows: no overflow.
        joint = np.unique(codes * (own.max(initial=0) + 1) + own, return_inverse=True)[1]
        codes = np.where((codes >= 0) & usable, joint, -1)
    return codes


def _stacked(one: pa.ChunkedArray, other: pa.ChunkedArray) -> pa.Array:
    """Put one column after the other, in a type that holds both."""
    tables = [pa.table({"key": decoded(each)}) for each in (one, other)]
    try:
        both = pa.concat_tables(tables, promote_options="permissive")
    except pa.ArrowException as error:
        kinds = f"{one.type} and {other.type}"
        hint = "cast one of them to the type of the other"
        raise SchemaError(must("columns of Equal", "of one kind", kinds, hint)) from error
    return both["key"].combine_chunks()


def times_of(columns: Sequence[pa.ChunkedArray], units: int | None) -> list[Times]:
    """Return the times of each stream in one scale.

    Parameters
    ----------
    columns
        The time column of each stream.
    units
        Units per second of the result if they are timestamps, None for plain numbers.

    Returns
    -------
    list of array
        Their times: whole numbers, or floats if one stream has floats. An unusable time (null, not
        finite, 2**61 or more from zero) is 2**61, which is further than any usable one.

    Examples
    --------
    >>> seconds = pa.chunked_array([pa.array([5, None], pa.timestamp("s"))])
    >>> times_of([seconds, seconds.cast(pa.timestamp("ms"))], 1000)
    [array([               5000, 2305843009213693952]), array([ ...5000, ...])]
    """
    floating = any(pa.types.is_floating(column.type) for column in columns)
    return [_read(column, units, floating=floating) for column in columns]


def _read(column: pa.ChunkedArray, units: int | None, *, floating: bool) -> Times:
    column = at_midnight(column)
    if floating:
        floats = column.cast(pa.float64(), safe=False).fill_null(np.nan).to_numpy()
        return np.where(np.abs(floats) < TIME_LIMIT, floats, float(TIME_LIMIT))
    scale = 1 if units is None else units // UNITS_PER_SECOND[column.type.unit]
    if pa.types.is_uint64(column.type):
        column = pc.if_else(pc.less(column, pa.scalar(TIME_LIMIT, column.type)), column, None)
    whole = column.cast(pa.int64()).fill_null(TIME_LIMIT).to_numpy()
    limit = TIME_LIMIT // scale
    usable = (whole < limit) & (whole > -limit)
    return np.where(usable, np.where(usable, whole, 0) * scale, TIME_LIMIT)

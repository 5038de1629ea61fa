"""Columns of two tables as numbers: keys that are equal get one code, times one scale."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from penstock.errors import SchemaError, must

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from penstock.spec import Specification

__all__ = ["check_tables", "codes_of", "times_of"]

Indices = npt.NDArray[np.int64]
Times = npt.NDArray[Any]

_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
# As in the engine: further from zero than any clock shows, and no sum of two overflows below it.
_TIME_LIMIT = 2**61


def check_tables(join: Specification, tables: Mapping[str, pa.Table]) -> None:
    """Refuse tables that are not those of the join's streams, or lack a column that it needs."""
    if set(tables) != set(join.names):
        requirement = f"those of the streams {', '.join(join.names)}"
        raise SchemaError(must("tables", requirement, list(tables), "give one for each stream"))
    for name in join.names:
        if not isinstance(tables[name], pa.Table):
            hint = "put several together with pyarrow.concat_tables"
            kind = type(tables[name]).__name__
            raise SchemaError(must(f'table of stream "{name}"', "one table", kind, hint))
        known = tables[name].column_names
        for column in (join.streams[name].time, *join.on.columns_of(name)):
            if known.count(column) != 1:
                requirement = f"one of {', '.join(known)}, and only one"
                label = f'column of stream "{name}"'
                raise SchemaError(must(label, requirement, column, "correct the name"))


def codes_of(left: Sequence[pa.ChunkedArray], right: Sequence[pa.ChunkedArray]) -> Indices:
    """Number the keys of two tables, one after the other, so that equal keys have equal codes.

    Parameters
    ----------
    left, right
        The columns of the key in each table, each to be compared with its counterpart.

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
    tables = [pa.table({"key": _decoded(each)}) for each in (one, other)]
    try:
        both = pa.concat_tables(tables, promote_options="permissive")
    except pa.ArrowException as error:
        kinds = f"{one.type} and {other.type}"
        hint = "cast one of them to the type of the other"
        raise SchemaError(must("columns of Equal", "of one kind", kinds, hint)) from error
    return both["key"].combine_chunks()


def _decoded(column: pa.ChunkedArray) -> pa.ChunkedArray:
    kind = column.type
    return column.cast(kind.value_type) if pa.types.is_dictionary(kind) else column


def times_of(columns: Mapping[str, pa.ChunkedArray]) -> tuple[list[Times], int | None]:
    """Give the times of each stream in one scale.

    Parameters
    ----------
    columns
        By stream, its time column.

    Returns
    -------
    list of array
        Their times: whole numbers, or floats if one stream has floats. An unusable time (null, not
        finite, 2**61 or more from zero) is 2**61, which is further than any usable one.
    int or None
        Units per second if they are timestamps, None for plain numbers.

    Raises
    ------
    SchemaError
        If a column holds no times, or some are timestamps and others numbers.

    Examples
    --------
    >>> seconds = pa.chunked_array([pa.array([5, None], pa.timestamp("s"))])
    >>> times_of({"a": seconds, "b": seconds.cast(pa.timestamp("ms"))})
    ([array([               5000, 2305843009213693952]), array([ ...5000, ...])], 1000)
    """
    units: set[int | None] = set()
    for name, column in columns.items():
        kind = column.type
        if pa.types.is_timestamp(kind):
            units.add(_PER_SECOND[kind.unit])
        elif pa.types.is_integer(kind) or pa.types.is_floating(kind):
            units.add(None)
        else:
            label = f'time column of stream "{name}"'
            raise SchemaError(must(label, "a timestamp or a number", str(kind), "cast it"))
    if None in units and len(units) > 1:
        requirement = "timestamps in both streams or numbers in both"
        raise SchemaError(must("time columns", requirement, "one of each", "cast one of them"))
    finest = max((unit for unit in units if unit is not None), default=None)
    floating = any(pa.types.is_floating(column.type) for column in columns.values())
    return [_read(column, finest, floating=floating) for column in columns.values()], finest


def _read(column: pa.ChunkedArray, finest: int | None, *, floating: bool) -> Times:
    if floating:
        floats = column.cast(pa.float64(), safe=False).fill_null(np.nan).to_numpy()
        return np.where(np.abs(floats) < _TIME_LIMIT, floats, float(_TIME_LIMIT))
    scale = 1 if finest is None else finest // _PER_SECOND[column.type.unit]
    if pa.types.is_uint64(column.type):
        column = pc.if_else(pc.less(column, pa.scalar(_TIME_LIMIT, column.type)), column, None)
    whole = column.cast(pa.int64()).fill_null(_TIME_LIMIT).to_numpy()
    limit = _TIME_LIMIT // scale
    usable = (whole < limit) & (whole > -limit)
    return np.where(usable, np.where(usable, whole, 0) * scale, _TIME_LIMIT)

"""Results of a join in a form that can be compared: whole rows as text, in sorted order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from penstock.tables import units_per_second
from penstock.testing._columns import times_of
from penstock.testing.exact import exact_join

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from penstock.spec import Specification

__all__ = ["canonical_rows", "expected_rows"]

_UNITS = ("s", "ms", "us", "ns")


def canonical_rows(
    table: pa.Table, *, columns: Sequence[str] | None = None
) -> list[tuple[str, ...]]:
    """Write the rows of a table as text, sorted, so that two tables compare as multisets.

    Values of any type can be compared in this way, also nested ones and NaN. Columns of different
    types give the same text if they hold the same values: int32 and int64, string and
    large_string, timestamps of different units or time zones. A whole number and a float do not:
    1 is not 1.0.

    Parameters
    ----------
    table
        The result of a join, or any other table.
    columns
        Columns to compare, in this order; None for all, in the table's own order.

    Returns
    -------
    list of tuple of str
        One tuple for each row, with one text for each column; ascending, duplicates kept.

    Examples
    --------
    >>> canonical_rows(pa.table({"n": [2, 1, 1], "s": [{"x": [0.5]}, {"x": None}, None]}))
    [('1', 'None'), ('1', '{x: None}'), ('2', '{x: [0.5]}')]
    """
    chosen = table if columns is None else table.select(columns)
    if chosen.num_columns == 0:
        return [()] * chosen.num_rows
    return sorted(zip(*(_texts(column.combine_chunks()) for column in chosen), strict=True))


def expected_rows(join: Specification, tables: Mapping[str, pa.Table]) -> list[tuple[str, ...]]:
    """Return the canonical rows of the exact join, found by brute force.

    So the test of a join is one line::

        assert canonical_rows(join.replay(tables).result) == expected_rows(join, tables)

    Parameters
    ----------
    join
        The join; its goal and budget are ignored.
    tables
        The whole of each stream, by the join's names; at most a few hundred rows, as all
        combinations are checked.

    Returns
    -------
    list of tuple of str
        One tuple for each result: the row of each stream, the latest of their times and the
        weight, 1.0; ascending.

    Examples
    --------
    >>> from penstock.predicates import Equal
    >>> from penstock.spec import Specification, Stream
    >>> join = Specification(
    ...     streams={"a": Stream(time="t", window=10), "b": Stream(time="t", window=0)},
    ...     on=Equal("k"),
    ... )
    >>> a = pa.table({"t": [0, 5], "k": ["x", "y"]})
    >>> b = pa.table({"t": [10], "k": ["x"]})
    >>> expected_rows(join, {"a": a, "b": b})
    [("{t: 0, k: 'x'}", "{t: 10, k: 'x'}", '10', '1.0')]
    """
    results = exact_join(join, tables)
    units = units_per_second(join, tables)
    columns, times = {}, []
    for place, (name, stream) in enumerate(join.streams.items()):
        rows = tables[name].take(pa.array([result[place] for result in results], pa.int64()))
        columns[name] = rows.to_struct_array()
        times.append(times_of(rows[stream.time], units))
    kinds = [tables[name].schema.field(stream.time).type for name, stream in join.streams.items()]
    columns["time"] = _newest(times, kinds)
    columns["weight"] = pa.array([1.0] * len(results))
    return canonical_rows(pa.table(columns))


def _newest(times: list[list[Any]], kinds: list[pa.DataType]) -> pa.Array:
    """Return the latest time of each result, in the finest of the streams' types."""
    newest = [max(members) for members in zip(*times, strict=True)]
    if any(map(pa.types.is_floating, kinds)):
        return pa.array(newest, pa.float64())
    if all(map(pa.types.is_integer, kinds)):
        return pa.array(newest)
    finest = max((getattr(kind, "unit", "ms") for kind in kinds), key=_UNITS.index)
    return pa.array(newest, pa.int64()).cast(pa.timestamp(finest))


def _texts(values: pa.Array | pa.ChunkedArray) -> list[str]:
    """Write values as `_text` does: a column at a time, which is many times as fast."""
    if isinstance(values, pa.ChunkedArray):  # of no rows, or of a type that has no long arrays
        return [text for chunk in values.chunks for text in _texts(chunk)]
    kind = values.type
    if pa.types.is_struct(kind) and kind.num_fields:
        return _struct_texts(values)
    if (pa.types.is_integer(kind) or pa.types.is_floating(kind)) and not values.null_count:
        return [repr(value) for value in values.to_numpy(zero_copy_only=False).tolist()]
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return [repr(value) for value in values.to_pylist()]
    if pa.types.is_timestamp(kind):
        encoded = values.dictionary_encode()
        texts = [_text(value) for value in encoded.dictionary]
        return ["None" if at is None else texts[at] for at in encoded.indices.to_pylist()]
    return [_text(value) for value in values]


def _struct_texts(values: pa.StructArray) -> list[str]:
    kind = values.type
    columns = [
        [f"{kind.field(place).name}: {text}" for text in _texts(column)]
        for place, column in enumerate(values.flatten())
    ]
    texts = [f"{{{', '.join(fields)}}}" for fields in zip(*columns, strict=True)]
    if not values.null_count:
        return texts
    valid = values.is_valid().to_pylist()
    return [text if there else "None" for text, there in zip(texts, valid, strict=True)]


def _text(value: pa.Scalar) -> str:
    """Write a value as text that does not depend on the unit or the width of its type."""
    kind = value.type
    if not value.is_valid:
        return "None"
    if isinstance(value, pa.StructScalar):
        fields = (f"{kind.field(i).name}: {_text(value[i])}" for i in range(kind.num_fields))
        return f"{{{', '.join(fields)}}}"
    if isinstance(value, pa.ListScalar):  # maps too, as lists of keys and values
        return f"[{', '.join(map(_text, value.values))}]"
    if isinstance(value, pa.DictionaryScalar | pa.ExtensionScalar):
        return _text(value.value)
    return _time_text(value) if pa.types.is_temporal(kind) else repr(value.as_py())


def _time_text(value: pa.Scalar) -> str:
    """Write a time as text; Python's own types would lose nanoseconds."""
    kind = value.type
    if pa.types.is_timestamp(kind):
        date, _, fraction = str(np.datetime64(value.value, kind.unit)).partition(".")
        return f"{date}.{fraction.rstrip('0')}".removesuffix(".")
    if pa.types.is_date(kind) or pa.types.is_interval(kind):
        return repr(value.as_py())
    return f"{value.value * 1000 ** (3 - _UNITS.index(kind.unit))} ns"

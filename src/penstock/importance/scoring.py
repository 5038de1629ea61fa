"""The importance of each row of a table, by a definition."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.columns import decoded, plain
from penstock.errors import SchemaError, did_you_mean, must
from penstock.importance.definitions import LARGEST, Function, Histogram, Lookup

if TYPE_CHECKING:
    from penstock.importance.definitions import Definition
    from penstock.importance.results import Floats

__all__ = ["check_schema", "column_of", "score"]


def column_of(definition: Definition) -> str | None:
    """Return the column that a definition uses; None if it names none.

    >>> column_of("price"), column_of(Lookup("site", {"a": 1})), column_of(5)
    ('price', 'site', None)
    """
    if isinstance(definition, Lookup | Histogram):
        return definition.column
    return definition if isinstance(definition, str) else None


def check_schema(definition: Definition, schema: pa.Schema, stream: str) -> None:
    """Raise if the columns of a stream do not fit a definition.

    Raises
    ------
    SchemaError
        If it has no such column, or the column's type does not fit.
    """
    column = column_of(definition)
    if column is None:
        return
    if column not in schema.names:
        raise _no_column(column, schema, stream)
    kind = plain(schema.field(column).type)
    if pa.types.is_null(kind):  # the type of a column that was never filled
        return
    owner = f'column "{column}" of stream "{stream}", with its importance,'
    if not isinstance(definition, Lookup):
        if not _is_numeric(kind):
            hint = "cast it, or define the importance of each value with a Lookup"
            raise SchemaError(must(owner, "a number", str(kind), hint))
        return
    if not (_is_text(kind) or _is_numeric(kind) or pa.types.is_boolean(kind)):
        hint = "cast it to text, or use a function"
        raise SchemaError(must(owner, "text, a number or a boolean", str(kind), hint))
    for value, _ in definition.pairs:
        if value is not None and isinstance(value, str) != _is_text(kind):
            hint = "write the values of the table as they are in the column"
            requirement = f"of a type that is equal to {value!r}, as its Lookup says"
            raise SchemaError(must(owner, requirement, str(kind), hint))


def score(definition: Definition, table: pa.Table, stream: str) -> Floats:
    """Compute the importance of each row of a table; NaN for rows that have none.

    A row has none if its number is null, NaN, negative, infinite or above 1e100, or if a `Lookup`
    without a default does not have its value.

    Parameters
    ----------
    definition
        The definition; `check_schema` has checked that it fits the columns.
    table
        Rows of the stream, with all its columns.
    stream
        Name of the stream, for messages.

    Raises
    ------
    SchemaError
        If a function does not return one number for each row.

    Examples
    --------
    >>> news = pa.table({"category": ["sports", "politics", "weather"]})
    >>> score(Lookup("category", {"politics": 90, "sports": 40}), news, "cnn")
    array([40., 90., nan])
    """
    if isinstance(definition, int | float):
        return np.full(table.num_rows, float(definition))
    if table.num_rows == 0:  # a function need not handle an empty table
        return np.zeros(0)
    if isinstance(definition, Lookup):
        return _looked_up(definition, table)
    if isinstance(definition, Histogram):
        return _in_ranges(definition, table)
    if isinstance(definition, Function):
        return _usable(_computed(definition, table, stream))
    return _usable(_numbers(table[definition]))


def _usable(scores: Floats) -> Floats:
    """Return numbers, with NaN in place of those that are no importance."""
    good = (scores >= 0) & (scores <= LARGEST)  # false for NaN too
    return scores if good.all() else np.where(good, scores, math.nan)


def _looked_up(lookup: Lookup, table: pa.Table) -> Floats:
    column = decoded(table[lookup.column])
    known = {_as_in_column(value, column.type): number for value, number in lookup.pairs}
    # Each different value is looked up once, by Python's equality.
    encoded = column.dictionary_encode(null_encoding="encode")
    default = math.nan if lookup.default is None else lookup.default
    values = encoded.dictionary.to_pylist()
    by_value = np.array([known.get(value, default) for value in values], np.float64)
    scores: Floats = by_value[encoded.indices.to_numpy()]
    return scores


def _in_ranges(histogram: Histogram, table: pa.Table) -> Floats:
    numbers = _numbers(table[histogram.column])
    breaks = np.array(histogram.breaks, np.float64)
    values = np.array(histogram.values, np.float64)
    # A break belongs to the upper range.
    scores: Floats = values[np.searchsorted(breaks, numbers, side="right")]
    scores[np.isnan(numbers)] = math.nan
    return scores


def _computed(function: Function, table: pa.Table, stream: str) -> Floats:
    given = function.call(table)
    owner = f'importance of stream "{stream}", by {function!r},'
    scores: Floats | None = None
    try:
        if isinstance(given, pa.Array | pa.ChunkedArray):
            scores = _numbers(given)
        else:
            listed = np.asarray(given)
            if listed.dtype.kind == "O" and listed.ndim == 1:  # None is among the numbers
                listed = np.array([math.nan if each is None else each for each in listed])
            if listed.dtype.kind in "biufO":  # text that looks like a number is an error
                scores = listed.astype(np.float64)
    except (TypeError, ValueError, NotImplementedError):  # Arrow's own errors are among them
        scores = None
    if scores is None or scores.shape != (table.num_rows,):
        hint = "return an array with a number for each row"
        requirement = f"one number for each of {table.num_rows} rows"
        raise SchemaError(must(owner, requirement, given, hint))
    return scores


def _numbers(column: pa.Array | pa.ChunkedArray) -> Floats:
    """Return a column of numbers as floats, NaN for nulls."""
    # Whole numbers beyond 2**53 are rounded: that is exact enough for an importance.
    floats = pc.cast(decoded(column), pa.float64(), safe=False)
    numbers: Floats = floats.to_numpy(zero_copy_only=False)
    return numbers


def _as_in_column(value: object, kind: pa.DataType) -> object:
    """Return a value of a Lookup in the column's type: 0.1 is another number in each type."""
    if isinstance(value, float) and pa.types.is_decimal(kind):
        return Decimal(repr(value))
    if isinstance(value, Decimal) and pa.types.is_floating(kind):
        value = float(value)
    if isinstance(value, float) and pa.types.is_floating(kind) and kind.bit_width < 64:
        with np.errstate(over="ignore"):
            return float(kind.to_pandas_dtype()(value))
    return value


def _is_numeric(kind: pa.DataType) -> bool:
    types = pa.types
    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind))


def _is_text(kind: pa.DataType) -> bool:
    types = pa.types
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def _no_column(column: str, schema: pa.Schema, stream: str) -> SchemaError:
    listed = ", ".join(f'"{name}"' for name in schema.names) or "none"
    guess = did_you_mean(column, schema.names, "")
    hint = f'define the importance in this stream: MaxImportance(of={{"{stream}": ..., ...}})'
    return SchemaError(
        f'stream "{stream}" must have a column "{column}", for its importance; it has {listed}; '
        + (f"{guess} Or {hint}" if guess else hint)
    )

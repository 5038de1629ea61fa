"""Expressions on Arrow tables: the part of Spark's SQL that runs without Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.errors import SchemaError, must
from penstock.planning.spark_values import NoValueError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from penstock.planning.spark_values import ColumnOf, Value

__all__ = ["selected_rows", "selected_share", "value_of"]

_WITHOUT_SPARK = "use plan.batch or plan.stream, or compute it from the result"


class _UndefinedError(SchemaError):
    """Raised if an expression has no value for some row."""


def selected_share(text: str, table: pa.Table, before: Sequence[str] = ()) -> float:
    """Return the share of a table's rows for which an expression is true.

    Parameters
    ----------
    text
        An expression over the table's columns; see `value_of`.
    table
        The rows.
    before
        Expressions that are tested first. If this one has no value for all rows, as a quotient with
        a divisor of zero, the share is that of the rows for which they are true.

    Raises
    ------
    SchemaError
        If the expression has other functions, or does not fit the columns' types.

    Examples
    --------
    >>> table = pa.table({"price": [5, 20, 300, None], "site": ["a", "b", "b", "a"]})
    >>> selected_share("b.price > 10 AND b.site LIKE 'b%'", table)
    0.5
    """
    hint = f'give its share: measure(tables, selectivities={{"{text}": ...}})'
    chosen = np.ones(table.num_rows, np.bool_)
    try:
        holds = _value_or_error(text, _columns_where(table, chosen), hint)
    except _UndefinedError:
        chosen = selected_rows(before, table)
        holds = _value_or_error(text, _columns_where(table, chosen), hint)
    if isinstance(holds, pa.Scalar):
        return 1.0 if holds.as_py() else 0.0
    return int(pc.sum(holds.cast(pa.int64())).as_py() or 0) / max(int(chosen.sum()), 1)


def selected_rows(texts: Sequence[str], table: pa.Table) -> npt.NDArray[np.bool_]:
    """Return for which rows of a table all expressions are true; null is false.

    Each is computed only for rows for which those before it are true, as Spark's filters do.

    Raises
    ------
    SchemaError
        As `value_of`.

    Examples
    --------
    >>> table = pa.table({"price": [5, 20, None, 0]})
    >>> selected_rows(["b.price <> 0", "100 / b.price > 10"], table).tolist()
    [True, False, False, False]
    """
    chosen = np.ones(table.num_rows, np.bool_)
    for text in texts:
        holds = value_of(text, _columns_where(table, chosen))
        if isinstance(holds, pa.Scalar):
            chosen &= bool(holds.as_py())
        else:
            chosen[chosen] = pc.fill_null(holds, fill_value=False).to_numpy(zero_copy_only=False)
    return chosen


def _columns_where(table: pa.Table, chosen: npt.NDArray[np.bool_]) -> ColumnOf:
    if chosen.all():
        return lambda _, name: table.column(name)
    mask = pa.array(chosen)
    return lambda _, name: table.column(name).filter(mask)


def value_of(text: str, column_of: ColumnOf) -> Value:
    """Return the values of an expression, as Spark computes them in its ANSI mode.

    Parameters
    ----------
    text
        Comparisons, arithmetic, AND, OR, NOT, IN, BETWEEN, LIKE, IS NULL, CASE, IF, COALESCE,
        NULLIF, CAST, ABS, UPPER, LOWER, LENGTH, CONCAT, and fields of structs. A quotient is
        a double, also of decimals.
    column_of
        Returns a column, by the names of its relation and of itself.

    Raises
    ------
    SchemaError
        If the expression has functions that only Spark has, or does not fit the columns' types; or
        if it has no value for some row, such as a quotient with a divisor of zero.
    """
    return _value_or_error(text, column_of, _WITHOUT_SPARK)


def _value_or_error(text: str, column_of: ColumnOf, hint: str) -> Value:
    from penstock.planning.sql_values import evaluate  # noqa: PLC0415  # only queries need sqlglot

    try:
        return evaluate(text, column_of)
    except NoValueError as error:
        why = f"{error}, for which Spark raises an error, too: leave such rows out, say with CASE"
        raise _UndefinedError(
            must(f'expression "{text}"', "defined for all rows", text, why)
        ) from error
    except (pa.ArrowException, KeyError, NotImplementedError) as error:
        why = " ".join(str(error).split())
        requirement = f"one that runs without Spark ({why})"
        raise SchemaError(must(f'expression "{text}"', requirement, text, hint)) from error

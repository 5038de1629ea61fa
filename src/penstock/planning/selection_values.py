"""Selections on Arrow tables: the part of Spark's SQL that a sample can be tested with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from penstock.errors import SchemaError, must

if TYPE_CHECKING:
    from collections.abc import Callable

    ColumnOf: TypeAlias = Callable[[str, str], pa.ChunkedArray]

__all__ = ["selected_rows", "selected_share", "value_of"]


def selected_share(text: str, table: pa.Table) -> float:
    """Return the share of a table's rows for which an expression is true.

    Parameters
    ----------
    text
        An expression over the table's columns: comparisons, arithmetic, AND, OR, NOT, IN,
        BETWEEN, LIKE, IS NULL, ABS, UPPER, LOWER and LENGTH.
    table
        The rows.

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
    try:
        holds = _value_of(text, lambda _, name: table.column(name))
        if not isinstance(holds, pa.ChunkedArray | pa.Array):
            return 1.0 if holds.as_py() else 0.0
        true = int(pc.sum(holds.cast(pa.int64())).as_py() or 0)
    except (pa.ArrowException, KeyError, NotImplementedError) as error:
        hint = f'give its share: selectivities={{"{text}": ...}}'
        why = " ".join(str(error).split())
        raise SchemaError(
            must(f'condition "{text}"', f"one that a sample can be tested with ({why})", text, hint)
        ) from error
    return true / max(int(table.num_rows), 1)


def selected_rows(text: str, table: pa.Table) -> pa.ChunkedArray | pa.Array:
    """Return for which rows of a table an expression is true; null is false.

    Raises
    ------
    SchemaError
        As `value_of`.

    Examples
    --------
    >>> selected_rows("b.price > 10", pa.table({"price": [5, 20, None]})).to_pylist()
    [False, True, False]
    """
    holds = value_of(text, lambda _, name: table.column(name))
    if not isinstance(holds, pa.ChunkedArray | pa.Array):
        return pa.repeat(pa.scalar(bool(holds.as_py())), table.num_rows)
    return pc.fill_null(holds, fill_value=False)


def value_of(text: str, column_of: ColumnOf) -> Any:  # noqa: ANN401 -- Arrow has no types
    """Return the values of an expression.

    Parameters
    ----------
    text
        As in `selected_share`.
    column_of
        Returns a column, by the names of its relation and of itself.

    Raises
    ------
    SchemaError
        If the expression has functions that only Spark has, or does not fit the columns' types.
    """
    try:
        return _value_of(text, column_of)
    except (pa.ArrowException, KeyError, NotImplementedError) as error:
        hint = "use plan.batch or plan.stream, or compute it from the result"
        why = " ".join(str(error).split())
        requirement = f"one that runs without Spark ({why})"
        raise SchemaError(must(f'expression "{text}"', requirement, text, hint)) from error


def _value_of(text: str, column_of: ColumnOf) -> Any:  # noqa: ANN401 -- as above
    from sqlglot import parse_one  # noqa: PLC0415  # only queries need it

    return _value(parse_one(text, dialect="spark"), column_of)


def _value(node: Any, column_of: ColumnOf) -> Any:  # noqa: ANN401 -- as above
    from sqlglot import exp  # noqa: PLC0415  # as above

    binary: dict[type, Callable[[Any, Any], Any]] = {
        exp.EQ: pc.equal,
        exp.NEQ: pc.not_equal,
        exp.LT: pc.less,
        exp.LTE: pc.less_equal,
        exp.GT: pc.greater,
        exp.GTE: pc.greater_equal,
        exp.And: pc.and_kleene,
        exp.Or: pc.or_kleene,
        exp.Add: pc.add,
        exp.Sub: pc.subtract,
        exp.Mul: pc.multiply,
        exp.Div: lambda x, y: pc.divide(pc.cast(x, pa.float64()), y),
    }
    unary: dict[type, Callable[[Any], Any]] = {
        exp.Paren: lambda x: x,
        exp.Not: pc.invert,
        exp.Neg: pc.negate,
        exp.Abs: pc.abs,
        exp.Upper: pc.utf8_upper,
        exp.Lower: pc.utf8_lower,
        exp.Length: pc.utf8_length,
    }
    kind = type(node)
    if kind in binary:
        return binary[kind](_value(node.this, column_of), _value(node.expression, column_of))
    if kind in unary:
        return unary[kind](_value(node.this, column_of))
    value: Any
    match node:
        case exp.Column():
            value = column_of(node.table, node.name)
        case exp.Literal():
            value = _literal(str(node.this), is_text=node.is_string)
        case exp.Boolean():
            value = pa.scalar(bool(node.this))
        case exp.Between():
            tested, low, high = (
                _value(node.args[each], column_of) for each in ("this", "low", "high")
            )
            value = pc.and_kleene(pc.greater_equal(tested, low), pc.less_equal(tested, high))
        case exp.In() if node.expressions:
            column = _value(node.this, column_of)
            options = pa.array([_value(each, column_of).as_py() for each in node.expressions])
            value = pc.is_in(column, options.cast(column.type))
        case exp.Is() if isinstance(node.expression, exp.Null):
            value = pc.is_null(_value(node.this, column_of))
        case exp.Like() if isinstance(node.expression, exp.Literal):
            value = pc.match_like(_value(node.this, column_of), str(node.expression.this))
        case _:
            raise NotImplementedError(node.sql(dialect="spark"))
    return value


def _literal(text: str, *, is_text: bool) -> pa.Scalar:
    if is_text:
        return pa.scalar(text)
    return pa.scalar(int(text) if text.isdigit() else float(text))

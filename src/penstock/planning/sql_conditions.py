"""Conditions between two relations: from SQL to predicates."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp
from sqlglot.dialects.spark import Spark

from penstock.planning.parsed import JoinCondition
from penstock.predicates import Band, Compare, Equal, Within

if TYPE_CHECKING:
    from penstock.predicates import Number

__all__ = ["read_condition", "spell"]

_OPERATORS: dict[type[exp.Expr], str] = {
    exp.EQ: "=",
    exp.NEQ: "!=",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
}


def spell(node: exp.Expr) -> str:
    """Return an expression as Spark's SQL, in one spelling."""
    return node.sql(dialect=Spark)


def read_condition(part: exp.Expr) -> JoinCondition | None:
    """Return a condition between two relations as a predicate; None if it cannot be one.

    >>> import sqlglot
    >>> for text in ("a.x <= b.y", "ABS(a.x - b.y) <= 2", "a.x BETWEEN b.y - 1 AND b.y + 2"):
    ...     print(read_condition(sqlglot.parse_one(text)).predicate)
    Compare('<=', a='x', b='y')
    Within(2, a='x', b='y')
    Band(low=-1, high=2, b='y', a='x')
    """
    operator = _OPERATORS.get(type(part))
    if operator is not None:
        left, right = _plain(part.this), _plain(part.expression)
        if isinstance(left, exp.Column) and isinstance(right, exp.Column):
            one, other = (left.table, left.name), (right.table, right.name)
            columns = {left.table: left.name, right.table: right.name}
            predicate = Equal(**columns) if operator == "=" else Compare(operator, **columns)
            return JoinCondition(one, other, predicate, spell(part))
        return _distance(part, operator)
    if isinstance(part, exp.Between):
        return _band(part)
    return None


def _distance(part: exp.Expr, operator: str) -> JoinCondition | None:
    """Read ABS(x - y) <= c."""
    call, bound = _plain(part.this), _number(part.expression)
    if operator != "<=" or not isinstance(call, exp.Abs) or bound is None or bound < 0:
        return None
    difference = _plain(call.this)
    if not isinstance(difference, exp.Sub):
        return None
    left, right = _plain(difference.this), _plain(difference.expression)
    if not isinstance(left, exp.Column) or not isinstance(right, exp.Column):
        return None
    predicate = Within(bound, **{left.table: left.name, right.table: right.name})
    return JoinCondition((left.table, left.name), (right.table, right.name), predicate, spell(part))


def _band(part: exp.Between) -> JoinCondition | None:
    """Read x BETWEEN y - c AND y + d."""
    value = _plain(part.this)
    low, high = _shifted(part.args["low"]), _shifted(part.args["high"])
    if not isinstance(value, exp.Column) or low is None or high is None:
        return None
    other = low[0]
    if other.sql() != high[0].sql() or low[1] > high[1]:
        return None
    predicate = Band(low=low[1], high=high[1], **{other.table: other.name, value.table: value.name})
    return JoinCondition(
        (other.table, other.name), (value.table, value.name), predicate, spell(part)
    )


def _shifted(node: exp.Expr) -> tuple[exp.Column, Number] | None:
    """Return the column and the number of ``column + number``."""
    node = _plain(node)
    if isinstance(node, exp.Column):
        return node, 0
    if not isinstance(node, exp.Add | exp.Sub):
        return None
    column, number = _plain(node.this), _number(node.expression)
    if not isinstance(column, exp.Column) or number is None:
        return None
    return column, -number if isinstance(node, exp.Sub) else number


def _plain(node: exp.Expr) -> exp.Expr:
    while isinstance(node, exp.Paren):
        node = node.this
    return node


def _number(node: exp.Expr) -> Number | None:
    node = _plain(node)
    if isinstance(node, exp.Neg):
        value = _number(node.this)
        return None if value is None else -value
    if not isinstance(node, exp.Literal) or node.is_string:
        return None
    text = str(node.this)
    return int(text) if text.isdigit() else float(text)

"""Conditions between two relations: from SQL to predicates."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from penstock.planning.parsed import JoinCondition
from penstock.planning.sql_dialect import parts_of, spell
from penstock.predicates import Band, Compare, Equal, Within

if TYPE_CHECKING:
    from penstock.predicates import Number

__all__ = ["meaning", "read_condition"]

_OPERATORS: dict[type[exp.Expr], str] = {
    exp.EQ: "=",
    exp.NEQ: "!=",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
}


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
        one, other = _column(part.this), _column(part.expression)
        if one is not None and other is not None:
            columns = dict([one, other])
            predicate = Equal(**columns) if operator == "=" else Compare(operator, **columns)
            return JoinCondition(one, other, predicate, spell(part))
        return _distance(part, operator)
    if isinstance(part, exp.Between):
        return _band(part)
    return None


def meaning(condition: JoinCondition) -> tuple[object, ...]:
    """Return what is the same for two conditions that say the same.

    >>> import sqlglot
    >>> one, other = (
    ...     read_condition(sqlglot.parse_one(each)) for each in ("a.x < b.y", "b.y > a.x")
    ... )
    >>> meaning(one) == meaning(other)
    True
    """
    predicate = condition.predicate
    ends: tuple[object, ...] = (condition.left, condition.right)
    match predicate:
        case Compare(operator="!="):
            return ("!=", frozenset(ends))
        case Compare(operator=operator) if operator[0] == ">":
            return (operator.replace(">", "<"), *ends[::-1])
        case Compare(operator=operator):
            return (operator, *ends)
        case Within():
            return (predicate.distance, frozenset(ends))
        case Band():
            return (predicate.low, predicate.high, *ends)
    return ("=", frozenset(ends))


def _distance(part: exp.Expr, operator: str) -> JoinCondition | None:
    """Read ABS(x - y) <= c."""
    call, bound = _plain(part.this), _number(part.expression)
    if operator != "<=" or not isinstance(call, exp.Abs) or bound is None or bound < 0:
        return None
    difference = _plain(call.this)
    if not isinstance(difference, exp.Sub):
        return None
    left, right = _column(difference.this), _column(difference.expression)
    if left is None or right is None:
        return None
    return JoinCondition(left, right, Within(bound, **dict([left, right])), spell(part))


def _band(part: exp.Between) -> JoinCondition | None:
    """Read x BETWEEN y - c AND y + d."""
    value = _column(part.this)
    low, high = _shifted(part.args["low"]), _shifted(part.args["high"])
    if value is None or low is None or high is None:
        return None
    other = low[0]
    if other != high[0] or low[1] > high[1] or {other[0], value[0]} & {"low", "high"}:
        return None  # a band cannot name streams like its bounds
    predicate = Band(low=low[1], high=high[1], **dict([other, value]))
    return JoinCondition(other, value, predicate, spell(part))


def _shifted(node: exp.Expr) -> tuple[tuple[str, str], Number] | None:
    """Return the column and the number of ``column + number``."""
    node = _plain(node)
    alone = _column(node)
    if alone is not None:
        return alone, 0
    if not isinstance(node, exp.Add | exp.Sub):
        return None
    column, number = _column(node.this), _number(node.expression)
    if column is None or number is None:
        return None
    return column, -number if isinstance(node, exp.Sub) else number


def _column(node: exp.Expr) -> tuple[str, str] | None:
    """Return relation and name of a column; None for anything else, also a field of a struct."""
    node = _plain(node)
    parts = parts_of(node) if isinstance(node, exp.Column) else ()
    return (parts[0], parts[1]) if len(parts) == 2 else None


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

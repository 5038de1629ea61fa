"""Expressions of SQL, computed on Arrow columns part by part."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp, parse_one

from penstock.columns import decoded
from penstock.planning.spark_values import cast, compare, compared_as
from penstock.planning.sql_dialect import Spark4, parts_of, spell
from penstock.planning.sql_functions import arguments, branches, functions, literal, type_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from penstock.planning.spark_values import ColumnOf, Value

__all__ = ["evaluate"]


def evaluate(text: str, column_of: ColumnOf) -> Value:
    """Return the values of an expression; see `penstock.planning.selection_values.value_of`."""
    return _Rows(column_of).value(_parsed(text))


@cache
def _parsed(text: str) -> exp.Expr:
    return parse_one(text, dialect=Spark4)


# Parts of expressions that are computed, or change nothing. Others, such as the BINARY of
# LENGTH, could change what an expression means.
_VALUES = ("this", "expression", "expressions", "low", "high", "true", "false", "ifs", "default")
_NAMES = ("to", "negate", "table", "db", "catalog", "is_string", "requires_string", "typed", "safe")
_READ = frozenset((*_VALUES, *_NAMES))


class _Rows:
    """Rows on which expressions are computed.

    An expression that may raise an error is only computed on rows that need it: of ``y <> 0 AND
    x / y > 1`` the second part where the first one does not decide.
    """

    def __init__(self, column_of: ColumnOf) -> None:
        self._column_of = column_of

    def only(self, mask: pa.Array) -> _Rows:
        """Return the rows for which a mask is true."""
        return _Rows(lambda relation, name: self._column(relation, name).filter(mask))

    def _column(self, relation: str, name: str) -> pa.Array:
        return decoded(self._column_of(relation, name))

    def value(self, node: exp.Expr) -> Value:
        """Return the value of an expression."""
        unread = {name for name, given in node.args.items() if given} - _READ
        if unread:
            raise NotImplementedError(spell(node))
        known = functions().get(type(node))
        if known is not None:
            return known(*(self.value(each) for each in arguments(node)))
        for kinds, method in self._methods:
            if isinstance(node, kinds):
                return method(node)
        return _constant(node)

    @property
    def _methods(self) -> list[tuple[tuple[type[exp.Expr], ...], Callable[..., Value]]]:
        return [
            ((exp.Column,), self._field),
            ((exp.And, exp.Or), self._connected),
            ((exp.In,), self._among),
            ((exp.Coalesce, exp.Case, exp.If), lambda node: self._first(branches(node))),
            ((exp.Like,), self._like),
            ((exp.Is,), self._is_null),
            ((exp.Cast,), self._cast),
        ]

    def _like(self, node: exp.Like) -> Value:
        if not isinstance(node.expression, exp.Literal):
            raise NotImplementedError(spell(node))
        found = pc.match_like(self.value(node.this), str(node.expression.this))
        return pc.invert(found) if node.args.get("negate") else found

    def _is_null(self, node: exp.Is) -> Value:
        if not isinstance(node.expression, exp.Null):
            raise NotImplementedError(spell(node))
        return pc.is_null(self.value(node.this))

    def _cast(self, node: exp.Cast) -> Value:
        if node.args.get("safe"):  # TRY_CAST
            raise NotImplementedError(spell(node))
        return cast(self.value(node.this), type_of(node))

    def _field(self, column: exp.Column) -> pa.Array:
        parts = parts_of(column)
        relation, name, *fields = parts if len(parts) > 1 else ("", *parts)
        found = self._column(relation, name)
        for each in fields:
            found = decoded(pc.struct_field(found, each))
        return found

    def _connected(self, node: exp.And | exp.Or) -> Value:
        decided = isinstance(node, exp.Or)  # by a left side that has this value
        together = pc.or_kleene if decided else pc.and_kleene
        left = self.value(node.this)
        if isinstance(left, pa.Scalar):
            return left if left.as_py() is decided else together(left, self.value(node.expression))
        is_open = pc.fill_null(pc.not_equal(left, decided), fill_value=True)
        if pc.all(is_open).as_py():
            return together(left, self.value(node.expression))
        right = self.only(is_open).value(node.expression)
        return together(left, _scattered(right, is_open, pa.bool_()))

    def _among(self, node: exp.In) -> Value:
        """Return IN: null if the value is none of those in the list and one of them is null."""
        if not node.expressions:
            raise NotImplementedError(spell(node))
        tested = self.value(node.this)
        found: Value = pa.scalar(value=False)
        for each in node.expressions:
            found = pc.or_kleene(found, compare("=", tested, self.value(each)))
        return found

    def _first(self, options: Sequence[tuple[exp.Expr | None, exp.Expr]]) -> Value:
        """Return the value of the first branch whose condition is true; None is one that is."""
        if not options:
            return pa.scalar(None, pa.null())
        (condition, result), *others = options
        if condition is None:  # a value that counts unless it is null
            found = self.value(result)
            if isinstance(found, pa.Scalar):
                return self._first(others) if found.as_py() is None else found
            is_open = pc.is_null(found)
        else:
            holds = self.value(condition)
            if isinstance(holds, pa.Scalar):
                return self.value(result) if holds.as_py() else self._first(others)
            is_open = pc.invert(pc.fill_null(holds, fill_value=False))
            chosen = pc.invert(is_open)
            found = _scattered(self.only(chosen).value(result), chosen)
        if not pc.any(is_open).as_py():
            return found
        rest = self.only(is_open)._first(others)  # noqa: SLF001  # of the same class
        found, rest = _of_one_type(found, _scattered(rest, is_open))
        return pc.if_else(is_open, rest, found)


def _of_one_type(one: pa.Array, other: pa.Array) -> tuple[pa.Array, pa.Array]:
    if one.type == other.type:
        return one, other
    kind = compared_as(one.type, other.type)
    return cast(one, kind), cast(other, kind)


def _scattered(value: Value, mask: pa.Array, kind: pa.DataType | None = None) -> pa.Array:
    """Return the values of the rows for which a mask is true, and null for the others."""
    kind = kind or value.type
    value = cast(value, kind)
    if pa.types.is_null(kind):
        return pa.nulls(len(mask))
    if isinstance(value, pa.Scalar):
        return pc.if_else(mask, value, pa.scalar(None, kind))
    return pc.replace_with_mask(pa.nulls(len(mask), kind), mask, value)


def _constant(node: exp.Expr) -> Value:
    match node:
        case exp.Literal():
            return literal(str(node.this), is_text=node.is_string)
        case exp.Boolean():
            return pa.scalar(bool(node.this))
        case exp.Null():
            return pa.scalar(None, pa.null())
    raise NotImplementedError(spell(node))

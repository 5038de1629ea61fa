"""Functions and operators of SQL as functions of Arrow values."""

from __future__ import annotations

from decimal import Decimal
from functools import cache
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from penstock.planning.spark_values import arithmetic, cast, checked, compare, concat, divide

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.planning.spark_values import Value

__all__ = ["arguments", "branches", "functions", "literal", "type_of"]


def branches(node: exp.Expr) -> list[tuple[exp.Expr | None, exp.Expr]]:
    """Return the conditions of a CASE, an IF or a COALESCE, each with its value."""
    match node:
        case exp.Coalesce():
            return [(None, each) for each in (node.this, *node.expressions)]
        case exp.If():
            default = node.args.get("false")
            branches = [(node.this, node.args["true"])]
        case _:
            default = node.args.get("default")
            branches = [(each.this, each.args["true"]) for each in node.args["ifs"]]
            if node.this is not None:  # CASE x WHEN 1 THEN ...
                tested = node.this
                branches = [(exp.EQ(this=tested, expression=one), two) for one, two in branches]
    return [*branches, *([] if default is None else [(exp.true(), default)])]


def arguments(node: exp.Expr) -> list[exp.Expr]:
    """Return the parts of an expression that are values."""
    given = [node.args.get(each) for each in ("this", "expression", "low", "high")]
    return [each for each in (*given, *(node.args.get("expressions") or [])) if each is not None]


@cache
def functions() -> dict[type, Callable[..., Value]]:
    """Return what is computed for each kind of expression from the values of its parts."""

    def comparison(operator: str) -> Callable[[Value, Value], Value]:
        return lambda left, right: compare(operator, left, right)

    def computation(operator: str) -> Callable[[Value, Value], Value]:
        return lambda left, right: arithmetic(operator, left, right)

    def between(tested: Value, low: Value, high: Value) -> Value:
        return pc.and_kleene(compare(">=", tested, low), compare("<=", tested, high))

    def null_if(value: Value, other: Value) -> Value:
        same = pc.fill_null(compare("=", value, other), fill_value=False)
        return pc.if_else(same, pa.scalar(None, value.type), value)

    operators = {exp.EQ: "=", exp.NEQ: "<>", exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">="}
    computed = {exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Mod: "%"}
    return {
        **{kind: comparison(operator) for kind, operator in operators.items()},
        **{kind: computation(operator) for kind, operator in computed.items()},
        exp.Div: divide,
        exp.Between: between,
        exp.Nullif: null_if,
        exp.Paren: lambda value: value,
        exp.Not: lambda value: pc.invert(cast(value, pa.bool_())),
        exp.Neg: lambda value: checked(pc.negate_checked, value),
        exp.Abs: lambda value: checked(pc.abs_checked, value),
        exp.Upper: lambda value: _in_case(value, pc.utf8_upper, str.upper),
        exp.Lower: lambda value: _in_case(value, pc.utf8_lower, str.lower),
        exp.Length: pc.utf8_length,
        exp.Concat: lambda *values: concat(list(values)),
        exp.DPipe: lambda *values: concat(list(values)),
    }


def _in_case(
    value: Value, of_ascii: Callable[[Value], Value], of_text: Callable[[str], str]
) -> Value:
    """Return texts in another case; a letter may become two, which Arrow's functions do not do."""
    if isinstance(value, pa.Scalar):
        return pa.scalar(None if value.as_py() is None else of_text(value.as_py()), value.type)
    if pc.all(pc.string_is_ascii(value)).as_py() is not False:
        return of_ascii(value)
    texts = value.to_pylist()
    return pa.array([None if each is None else of_text(each) for each in texts], value.type)


def literal(text: str, *, is_text: bool) -> pa.Scalar:
    """Return a literal with the type that Spark gives it."""
    if is_text:
        return pa.scalar(text)
    if "e" in text.lower():
        return pa.scalar(float(text))
    if not text.isdigit() or int(text) >= 2**63:
        return pa.scalar(Decimal(text))
    return pa.scalar(int(text), pa.int32() if int(text) < 2**31 else pa.int64())


def type_of(node: exp.Expr) -> pa.DataType:
    """Return the type of a CAST."""
    given = node.args["to"]
    kinds = {
        "TINYINT": pa.int8(),
        "SMALLINT": pa.int16(),
        "INT": pa.int32(),
        "BIGINT": pa.int64(),
        "FLOAT": pa.float32(),
        "DOUBLE": pa.float64(),
        "TEXT": pa.large_string(),
        "DATE": pa.date32(),
        "TIMESTAMPTZ": pa.timestamp("us", "UTC"),
        "TIMESTAMPLTZ": pa.timestamp("us", "UTC"),
        "TIMESTAMPNTZ": pa.timestamp("us"),
    }
    name = given.this.name if hasattr(given.this, "name") else str(given.this)
    if name == "DECIMAL":
        numbers = [int(each.this.name) for each in given.expressions]
        return pa.decimal128(*(numbers or [10, 0]))
    if name not in kinds or given.expressions:
        raise NotImplementedError(node.sql(dialect="spark"))
    return kinds[name]

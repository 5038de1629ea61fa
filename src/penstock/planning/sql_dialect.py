"""Spark's SQL, as Spark 4 reads it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot.dialects.spark import Spark

if TYPE_CHECKING:
    from sqlglot import exp

__all__ = ["Spark4", "parts_of", "spell"]


class Spark4(Spark):
    """Spark's SQL, in which a quote that is doubled is a quote: ``'O''Brien'``.

    Before Spark 4 these were two texts, one after the other, and sqlglot reads them so.
    """

    class Tokenizer(Spark.Tokenizer):
        """Reads the tokens."""

        STRING_ESCAPES = ["\\", "'", '"']  # noqa: RUF012  # as sqlglot has it


def spell(node: exp.Expr) -> str:
    r"""Return an expression as Spark's SQL, in one spelling and without comments.

    >>> spell(Spark4().parse("SELECT x <> 'O''Brien' /* Mr */")[0])
    "SELECT x <> 'O\\'Brien'"
    """
    return node.sql(dialect=Spark4, comments=False)


def parts_of(column: exp.Column) -> tuple[str, ...]:
    """Return the names that a column is written with: relation, column, and fields of a struct.

    >>> parts_of(Spark4().parse("SELECT b.address.city")[0].expressions[0])
    ('b', 'address', 'city')
    """
    return tuple(each.name for each in column.parts)

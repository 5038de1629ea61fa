"""Joins of streaming frames with stored tables: Spark's own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812  # as in Spark's documentation

from penstock.spark.frames import COMPLETE

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["join_with_table"]


def join_with_table(rows: DataFrame, table: DataFrame, condition: str, member: str) -> DataFrame:
    """Return all pairs of rows for which a condition holds.

    Parameters
    ----------
    rows
        May be a streaming frame. Rows that say how far a join has come stay as they are.
    table
        A bounded frame.
    condition
        In SQL.
    member
        A column of the table that is never null.
    """
    if COMPLETE not in rows.columns:
        return rows.join(table, F.expr(condition), "inner")
    joined = rows.join(table, F.expr(condition), "left_outer")
    return joined.filter(F.col(f"`{COMPLETE}`").isNotNull() | F.col(f"`{member}`").isNotNull())

"""The columns of a query's result: what the SELECT list says, over rows of all members."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from penstock.errors import SchemaError, must
from penstock.planning.member_rows import TIME, member_column
from penstock.planning.parsed import quoted
from penstock.planning.selection_values import value_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from penstock.planning.parsed import Parsed

__all__ = ["output_columns", "project", "selected_columns"]


def output_columns(
    parsed: Parsed, schemas: Mapping[str, pa.Schema], time: str | None = None
) -> dict[str, str]:
    """Return the name and the expression of each column of the result.

    Parameters
    ----------
    parsed
        The query.
    schemas
        Of streams and tables, for ``*``.
    time
        Name of a further column with the time of the newest member; None for none.

    Raises
    ------
    SchemaError
        If two columns would have one name.
    """
    stars = {f"{source.name}.*": source for source in parsed.sources}
    found: list[tuple[str, str]] = []
    for name, text in parsed.output or [(each, each) for each in stars]:
        if name not in stars:
            found.append((name, text))
            continue
        source = stars[name]
        found += [
            (column, f"{quoted(source.name)}.{quoted(column)}")
            for column in schemas[source.origin].names
        ]
    if time is not None:
        found.append((time, f"`{TIME}`"))
    names = [name.casefold() for name, _ in found]
    for name, _ in found:
        if names.count(name.casefold()) > 1:
            hint = "name the columns in SELECT, and give one of them another name with AS"
            raise SchemaError(must("columns of the result", "of different names", name, hint))
    return dict(found)


def selected_columns(parsed: Parsed, schemas: Mapping[str, pa.Schema]) -> set[tuple[str, str]]:
    """Return the relation and name of each column that the result needs."""
    from sqlglot import exp, parse_one  # noqa: PLC0415  # only queries need it

    from penstock.planning.sql_dialect import Spark4, parts_of  # noqa: PLC0415  # as above

    parts = [
        parts_of(column)
        for text in output_columns(parsed, schemas).values()
        for column in parse_one(text, dialect=Spark4).find_all(exp.Column)
    ]
    return {(relation, column) for relation, column, *_ in parts}


def project(rows: pa.Table, columns: Mapping[str, str]) -> pa.Table:
    """Return the result: the columns of the SELECT list.

    Raises
    ------
    SchemaError
        If an expression has functions that only Spark has.
    """
    made = {}
    for name, text in columns.items():
        if text == f"`{TIME}`":
            made[name] = rows.column(TIME)
            continue
        value = value_of(text, lambda relation, column: member_column(rows, relation, column))
        if not isinstance(value, pa.ChunkedArray | pa.Array):
            value = pa.repeat(value, rows.num_rows)
        made[name] = value
    return pa.table(made)

"""Statements that are one conjunctive query, and how others are refused."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp
from sqlglot.errors import ParseError, TokenError

from penstock.errors import SpecificationError, must
from penstock.planning.sql_dialect import Spark4, spell
from penstock.planning.sql_places import Places
from penstock.planning.sql_windows import WindowText, place, split_windows

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["POSSIBLE", "Statement", "read_statement", "refusal", "relations_in"]

POSSIBLE = (
    "possible are SELECT columns FROM streams with windows WHERE conditions joined by AND, "
    "each over one stream, or between two: = < <= > >= !=, ABS(x - y) <= c, BETWEEN"
)

# Parts of a statement that are not of a conjunctive query, and what a person calls them.
_REFUSED: Mapping[str, str] = {
    "distinct": "DISTINCT",
    "group": "GROUP BY",
    "having": "HAVING",
    "order": "ORDER BY",
    "limit": "LIMIT",
    "offset": "OFFSET",
    "qualify": "QUALIFY",
    "windows": "WINDOW",
    "with_": "WITH",
    "laterals": "LATERAL",
    "sort": "SORT BY",
    "cluster": "CLUSTER BY",
    "distribute": "DISTRIBUTE BY",
    "into": "INTO",
    "sample": "TABLESAMPLE",
    "pivots": "PIVOT",
    "match": "MATCH_RECOGNIZE",
    "locks": "FOR UPDATE",
    "hint": "hints",
}
# Expressions that are not of one, either.
_REFUSED_INSIDE: tuple[tuple[type[exp.Expr], str], ...] = (
    (exp.Pivot, "PIVOT"),
    (exp.Subquery, "subqueries"),
    (exp.Exists, "EXISTS"),
    (exp.AggFunc, "aggregates"),
    (exp.Window, "window functions"),
    (exp.UDTF, "functions that make several rows of one"),
)
# The same that sqlglot does not know by a class of their own.
_MANY_ROWS = frozenset({"inline_outer", "json_tuple", "variant_explode", "variant_explode_outer"})


@dataclass(frozen=True, eq=False)
class Statement:
    """A query as it was written.

    Attributes
    ----------
    text
        The query.
    select
        Without its windows.
    windows
        These.
    places
        Of its parts in the text.
    """

    text: str
    select: exp.Select
    windows: list[WindowText]
    places: Places

    def refusal(
        self, name: str, requirement: str, part: exp.Expr, got: str | None = None
    ) -> SpecificationError:
        """Return the error that refuses a part."""
        start = self.places.of(part)
        return refusal(self.text, name, requirement, spell(part) if got is None else got, start)

    @property
    def tables(self) -> list[exp.Expr]:
        """What is in FROM, in order."""
        from_ = self.select.args.get("from_")
        joined = [join.this for join in self.select.args.get("joins") or []]
        return [] if from_ is None else [from_.this, *joined]


def relations_in(text: str) -> dict[str, bool]:
    """Return the relations in FROM, by their own names, and which of them have a window.

    Raises
    ------
    SpecificationError
        As `read_statement`.

    Examples
    --------
    >>> relations_in("SELECT p.price FROM bids b [NOW], people AS p [UNBOUNDED], sites")
    {'bids': True, 'people': False, 'sites': False}
    """
    statement = read_statement(text)
    tables = [each for each in statement.tables if isinstance(each, exp.Table)]
    starts = [statement.places.of(each) for each in tables]
    found = {each.name: False for each in tables}
    for window in statement.windows:
        before = [each for each, start in zip(tables, starts, strict=True) if start < window.start]
        if before and (window.rows is not None or window.duration is not None):
            found[before[-1].name] = True
    return found


def refusal(text: str, name: str, requirement: str, got: str, start: int) -> SpecificationError:
    """Return the error that refuses what begins at a position of a text."""
    where = f"{name} at {place(text, max(start, 0))}"
    return SpecificationError(must(where, requirement, got, POSSIBLE))


def read_statement(text: str) -> Statement:
    """Return a statement that is one SELECT, and has no clauses that a conjunctive query has not.

    Raises
    ------
    SpecificationError
        If it is not, with line and column.
    """
    given: object = text
    if not isinstance(given, str) or not text.strip():
        raise SpecificationError(must("query", "a text in SQL", text, POSSIBLE))
    try:
        tokens, windows = split_windows(text)
        places = Places(tokens)
        statements = Spark4().parser().parse(tokens, text)
    except (ParseError, TokenError) as error:
        raise _not_sql(text, error) from error
    select = statements[0] if len(statements) == 1 else None
    if not isinstance(select, exp.Select):
        got = type(statements[0]).__name__.upper() if statements else ""
        start = places.of_words(got) if isinstance(select, exp.SetOperation) else 0
        raise refusal(text, "query", "one SELECT", got, start)
    for name, words in _REFUSED.items():
        value = select.args.get(name)
        if value:
            said = "FETCH" if isinstance(value, exp.Fetch) else words
            start = places.of_hint() if name == "hint" else places.of_words(said)
            raise refusal(text, "query", "without " + said, said, start)
    statement = Statement(text, select, windows, places)
    _check_inside(statement)
    return statement


def _check_inside(statement: Statement) -> None:
    select = statement.select
    for kind, what in _REFUSED_INSIDE:
        found = next(iter(select.find_all(kind)), None)
        if found is not None:
            raise statement.refusal("query", f"without {what}", found)
    for call in select.find_all(exp.Anonymous):
        if call.name.lower() in _MANY_ROWS:
            what = "without functions that make several rows of one"
            raise statement.refusal("query", what, call)
    inner = [each for each in select.find_all(exp.Select) if each is not select]
    if inner:
        raise statement.refusal("query", "without subqueries", inner[0])


def _not_sql(text: str, error: ParseError | TokenError) -> SpecificationError:
    found = error.errors[0] if isinstance(error, ParseError) and error.errors else {}
    line, column = found.get("line", 1), found.get("col", 1)
    got = str(found.get("highlight") or text)
    where = f"query at line {line}, column {column}"
    why = str(found.get("description") or "cannot be read").rstrip(".")
    return SpecificationError(must(where, f"SQL ({why})", got, POSSIBLE))

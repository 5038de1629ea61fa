"""Conjunctive queries with windows, read from SQL."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp
from sqlglot.dialects.spark import Spark
from sqlglot.errors import ParseError, TokenError

from penstock.errors import SpecificationError, did_you_mean, must
from penstock.planning.equal_columns import implied
from penstock.planning.parsed import JoinCondition, Parsed, Source, StreamSelection
from penstock.planning.sql_conditions import read_condition, spell
from penstock.planning.sql_windows import WindowText, place, split_windows
from penstock.windows import Rows

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from penstock.durations import DurationLike

__all__ = ["parse_query"]

_POSSIBLE = (
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
}


def parse_query(
    text: str,
    streams: Mapping[str, DurationLike | Rows | None],
    tables: Sequence[str],
    columns: Mapping[str, Sequence[str]],
) -> Parsed:
    """Read a conjunctive query.

    Parameters
    ----------
    text
        The query: Spark's SQL, with a window in brackets after each stream.
    streams
        Names of the streams, and the window of each that the query need not give.
    tables
        Names of the stored tables.
    columns
        Columns of streams and tables, as far as they are known.

    Raises
    ------
    SpecificationError
        If it is not SQL, not a conjunctive query, or names what there is not.

    Examples
    --------
    >>> query = parse_query(
    ...     "SELECT * FROM a [ROWS 10], b [RANGE 1 HOUR] WHERE a.x = b.y AND b.z > 1",
    ...     {"a": None, "b": None},
    ...     [],
    ...     {},
    ... )
    >>> query.conditions[0].predicate, query.selections[0].text
    (Equal(a='x', b='y'), 'b.z > 1')
    """
    return _Reader(text, streams, tables, columns).read()


class _Reader:
    def __init__(
        self,
        text: str,
        streams: Mapping[str, DurationLike | Rows | None],
        tables: Sequence[str],
        columns: Mapping[str, Sequence[str]],
    ) -> None:
        given: object = text
        if not isinstance(given, str) or not text.strip():
            raise SpecificationError(must("query", "a text in SQL", text, _POSSIBLE))
        self._text = text
        self._streams, self._tables, self._columns = streams, tables, columns
        self._sources: dict[str, Source] = {}

    def read(self) -> Parsed:
        select, windows = self._statement()
        joins = select.args.get("joins") or []
        from_ = select.args.get("from_")
        if from_ is None:
            raise self._refusal("query", "SELECT ... FROM ...", select.sql(), 0)
        tables = [from_.this, *(join.this for join in joins)]
        self._read_sources(tables, windows)
        parts = [*self._parts_of(select.args.get("where")), *self._joined_on(joins)]
        selections: list[StreamSelection] = []
        conditions: list[JoinCondition] = []
        for part in parts:
            found = self._relations_in(part)
            if len(found) == 1:
                used = tuple(dict.fromkeys(each.name for each in part.find_all(exp.Column)))
                selections.append(StreamSelection(found[0], spell(part), used))
                continue
            condition = read_condition(part) if len(found) == 2 else None
            if condition is None:
                what = "a condition over one stream, or a comparison of two columns of two"
                raise self._refusal("condition", what, spell(part), _start(part))
            conditions.append(condition)
        output = self._output(select)
        used_columns = {
            (each.table, each.name) for each in select.find_all(exp.Column) if each.name != "*"
        }
        return Parsed(
            tuple(self._sources.values()),
            tuple(selections),
            (*conditions, *implied(conditions)),
            output,
            tuple(sorted(used_columns)),
        )

    def _statement(self) -> tuple[exp.Select, list[WindowText]]:
        try:
            tokens, windows = split_windows(self._text)
            statements = Spark().parser().parse(tokens, self._text)
        except (ParseError, TokenError) as error:
            raise self._not_sql(error) from error
        if len(statements) != 1 or not isinstance(statements[0], exp.Select):
            got = type(statements[0]).__name__.upper() if statements else ""
            raise self._refusal("query", "one SELECT", got, 0)
        select = statements[0]
        for name, words in _REFUSED.items():
            if select.args.get(name):
                raise self._refusal("query", "without " + words, words, self._find(words))
        refused: tuple[tuple[type[exp.Expr], str], ...] = (
            (exp.Subquery, "subqueries"),
            (exp.Exists, "EXISTS"),
            (exp.AggFunc, "aggregates"),
            (exp.Window, "window functions"),
        )
        for kind, what in refused:
            found = next(iter(select.find_all(kind)), None)
            if found is not None:
                start = _start(found) or self._find(found.sql().split("(", maxsplit=1)[0])
                raise self._refusal("query", f"without {what}", spell(found), start)
        inner = [each for each in select.find_all(exp.Select) if each is not select]
        if inner:
            raise self._refusal("query", "without subqueries", spell(inner[0]), _start(inner[0]))
        return select, windows

    def _read_sources(self, tables: Sequence[exp.Expr], windows: Sequence[WindowText]) -> None:
        starts = [_start(each) for each in tables]
        given: dict[int, WindowText] = {}
        for window in windows:
            before = [at for at, start in enumerate(starts) if start < window.start]
            if not before or before[-1] in given:
                where = f"window at {place(self._text, window.start)}"
                hint = "write it after the name of its stream"
                raise SpecificationError(must(where, "one for each stream", "a window", hint))
            given[before[-1]] = window
        for at, table in enumerate(tables):
            if not isinstance(table, exp.Table) or table.args.get("db"):
                raise self._refusal("FROM", "of streams and tables", table.sql(), starts[at])
            name = table.alias or table.name
            if name in self._sources:
                where = f'"{name}" at {place(self._text, starts[at])}'
                hint = f"write {table.name} AS another_name"
                raise SpecificationError(must(where, "a name of its own", name, hint))
            self._sources[name] = self._source(name, table.name, given.get(at), starts[at])

    def _source(self, name: str, origin: str, window: WindowText | None, start: int) -> Source:
        where = f'"{origin}" at {place(self._text, start)}'
        if origin in self._tables:
            if window is not None and (window.rows is not None or window.duration is not None):
                hint = "write [UNBOUNDED], or nothing: all of its rows are there"
                raise SpecificationError(must(f"window of table {where}", "unbounded", name, hint))
            return Source(name, origin)
        if origin not in self._streams:
            known = [*self._streams, *self._tables]
            hint = did_you_mean(origin, known, "name it in streams= or tables=")
            requirement = f"one of the streams and tables {', '.join(known)}"
            raise SpecificationError(must(where, requirement, origin, hint))
        own = self._streams[origin]
        if window is None and isinstance(own, Rows):
            return Source(name, origin, rows=own.number)
        if window is None and own is not None and not isinstance(own, Rows):
            return Source(name, origin, duration=own)
        if window is None or (window.rows is None and window.duration is None):
            got = "nothing" if window is None else "[UNBOUNDED]"
            hint = "write [RANGE 1 HOUR] or [ROWS 1000]: without one nothing could ever be dropped"
            raise SpecificationError(must(f"window of stream {where}", "given", got, hint))
        return Source(name, origin, window.rows, window.duration)

    def _parts_of(self, where: exp.Expr | None) -> Iterator[exp.Expr]:
        """Yield the conditions that AND connects; columns get the names of their relations."""
        if where is None:
            return
        for column in where.find_all(exp.Column):
            self._resolve(column)
        yield from _conjuncts(where.this)

    def _joined_on(self, joins: Sequence[exp.Expr]) -> Iterator[exp.Expr]:
        for join in joins:
            side = " ".join(str(join.args.get(each) or "") for each in ("method", "side", "kind"))
            words = side.strip().upper()
            if words not in {"", "INNER", "CROSS"} or join.args.get("using"):
                words = words or "USING"
                raise self._refusal("JOIN", "an inner one with ON", words, _start(join.this))
            condition = join.args.get("on")
            if condition is not None:
                for column in condition.find_all(exp.Column):
                    self._resolve(column)
                yield from _conjuncts(condition)

    def _resolve(self, column: exp.Column) -> None:
        """Check a column, and give it the name of its relation."""
        where = f'column "{column.sql()}" at {place(self._text, _start(column))}'
        if column.table:
            if column.table not in self._sources:
                hint = did_you_mean(column.table, self._sources, "name it in FROM")
                known = f"of one of {', '.join(self._sources)}"
                raise SpecificationError(must(where, known, column.table, hint))
            known_columns = self._columns.get(self._sources[column.table].origin)
            if known_columns is not None and column.name not in known_columns:
                hint = did_you_mean(column.name, known_columns, "correct the name")
                requirement = f"one of {', '.join(known_columns)}"
                raise SpecificationError(must(where, requirement, column.name, hint))
            return
        found = [
            source.name
            for source in self._sources.values()
            if column.name in self._columns.get(source.origin, [column.name])
        ]
        if len(found) != 1:
            requirement = f"of one of {', '.join(found)}" if found else "of one of the relations"
            hint = f"write {found[0]}.{column.name}, say" if found else "correct the name"
            raise SpecificationError(must(where, requirement, column.name, hint))
        column.set("table", exp.to_identifier(found[0]))

    def _relations_in(self, part: exp.Expr) -> list[str]:
        return list(dict.fromkeys(each.table for each in part.find_all(exp.Column)))

    def _output(self, select: exp.Select) -> tuple[tuple[str, str], ...]:
        output: dict[str, str] = {}
        for each in select.expressions:
            if isinstance(each, exp.Star):
                if len(select.expressions) > 1:
                    raise self._refusal("SELECT *", "alone", spell(select), 0)
                return ()
            for column in each.find_all(exp.Column):
                if not isinstance(column.this, exp.Star):
                    self._resolve(column)
            inner = each.this if isinstance(each, exp.Alias) else each
            name = each.alias_or_name or spell(inner)
            if isinstance(inner, exp.Column) and isinstance(inner.this, exp.Star):
                name = f"{inner.table}.*"
            if name in output:
                hint = f"write {spell(inner)} AS another_name"
                where = f"column at {place(self._text, _start(each))}"
                raise SpecificationError(must(where, "of another name than others", name, hint))
            output[name] = spell(inner)
        return tuple(output.items())

    def _refusal(self, name: str, requirement: str, got: str, start: int) -> SpecificationError:
        where = f"{name} at {place(self._text, max(start, 0))}"
        return SpecificationError(must(where, requirement, got, _POSSIBLE))

    def _find(self, words: str) -> int:
        """Return where words are, ignoring case."""
        return self._text.upper().find(words.split(" ", maxsplit=1)[0].upper())

    def _not_sql(self, error: ParseError | TokenError) -> SpecificationError:
        found = error.errors[0] if isinstance(error, ParseError) and error.errors else {}
        line, column = found.get("line", 1), found.get("col", 1)
        got = str(found.get("highlight") or self._text)
        where = f"query at line {line}, column {column}"
        why = str(found.get("description") or "cannot be read").rstrip(".")
        return SpecificationError(must(where, f"SQL ({why})", got, _POSSIBLE))


def _conjuncts(part: exp.Expr) -> Iterator[exp.Expr]:
    if isinstance(part, exp.And):
        yield from _conjuncts(part.this)
        yield from _conjuncts(part.expression)
    elif isinstance(part, exp.Paren):
        inner = list(_conjuncts(part.this))
        yield from inner if len(inner) > 1 else [part.this]
    else:
        yield part


def _start(node: exp.Expr) -> int:
    """Return where a node begins, as far as its names tell; 0 if it has none."""
    starts = [each.meta["start"] for each in node.find_all(exp.Identifier) if "start" in each.meta]
    return min(starts, default=0)

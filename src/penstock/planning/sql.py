"""Conjunctive queries with windows, read from SQL."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from penstock.errors import SpecificationError, did_you_mean, must
from penstock.planning.equal_columns import implied
from penstock.planning.parsed import JoinCondition, Parsed, Source, StreamSelection
from penstock.planning.sql_conditions import meaning, read_condition
from penstock.planning.sql_dialect import parts_of, spell
from penstock.planning.sql_statement import read_statement, refusal
from penstock.planning.sql_windows import WindowText, place
from penstock.spec import OUTPUT_COLUMNS
from penstock.windows import Rows

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from penstock.durations import DurationLike

__all__ = ["parse_query"]

# What would change the rows of a relation in FROM, and what a person calls it.
_REFUSED_OF_RELATION: Mapping[str, str] = {
    "db": "a database",
    "catalog": "a catalog",
    "sample": "TABLESAMPLE",
    "version": "VERSION AS OF or TIMESTAMP AS OF",
    "laterals": "LATERAL",
    "joins": "joins in parentheses",
    "partition": "PARTITION",
    "hints": "hints",
}
# The same for ``*`` in the SELECT list.
_REFUSED_OF_STAR: Mapping[str, str] = {
    "except_": "EXCEPT",
    "replace": "REPLACE",
    "rename": "RENAME",
    "ilike": "ILIKE",
}
# The names that a column can have, the last first: as sqlglot has them.
_PARTS = ("this", "table", "db", "catalog")


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
        self._statement = read_statement(text)
        self._places = self._statement.places
        self._text = text
        self._streams, self._tables, self._columns = streams, tables, columns
        self._sources: dict[str, Source] = {}

    def read(self) -> Parsed:
        statement = self._statement
        select, windows = statement.select, statement.windows
        joins = select.args.get("joins") or []
        if not statement.tables:
            raise statement.refusal("query", "SELECT ... FROM ...", select)
        self._read_sources(statement.tables, windows)
        parts = [*self._parts_of(select.args.get("where")), *self._joined_on(joins)]
        selections: list[StreamSelection] = []
        conditions: list[JoinCondition] = []
        for part in parts:
            found = self._relations_in(part)
            if len(found) == 1:
                used = tuple(dict.fromkeys(parts_of(each)[1] for each in part.find_all(exp.Column)))
                selection = StreamSelection(found[0], spell(part), used)
                selections += [] if selection in selections else [selection]
                continue
            condition = read_condition(part) if len(found) == 2 else None
            if condition is None:
                what = "a condition over one stream, or a comparison of two columns of two"
                raise statement.refusal("condition", what, part)
            where = place(self._text, self._places.of(part))
            if meaning(condition) not in map(meaning, conditions):
                conditions.append(replace(condition, place=where))
        output = self._output(select)
        used_columns = {
            parts_of(each)[:2] for each in select.find_all(exp.Column) if each.name != "*"
        }
        return Parsed(
            tuple(self._sources.values()),
            tuple(selections),
            (*conditions, *implied(conditions)),
            output,
            tuple(sorted((relation, column) for relation, column in used_columns)),
        )

    def _read_sources(self, tables: Sequence[exp.Expr], windows: Sequence[WindowText]) -> None:
        starts = [self._places.of(each) for each in tables]
        given: dict[int, WindowText] = {}
        for window in windows:
            before = [at for at, start in enumerate(starts) if start < window.start]
            if not before or before[-1] in given:
                where = f"window at {place(self._text, window.start)}"
                hint = "write it after the name of its stream"
                raise SpecificationError(must(where, "one for each stream", "a window", hint))
            given[before[-1]] = window
        for at, table in enumerate(tables):
            if not isinstance(table, exp.Table) or not isinstance(table.this, exp.Identifier):
                raise self._statement.refusal("FROM", "of streams and tables", table)
            self._check_relation(table)
            name = table.alias or table.name
            self._check_name(name, table.name, starts[at])
            self._sources[name] = self._source(name, table.name, given.get(at), starts[at])

    def _check_name(self, name: str, origin: str, start: int) -> None:
        """Refuse names that relations cannot have; Spark ignores case."""
        where = f'"{name}" at {place(self._text, start)}'
        hint = f"write {origin} AS another_name"
        if name.casefold() in {each.casefold() for each in self._sources}:
            requirement = "a name of its own, case ignored"
            raise SpecificationError(must(where, requirement, name, hint))
        if name.casefold() in OUTPUT_COLUMNS and origin not in self._tables:
            requirement = f"none of {', '.join(OUTPUT_COLUMNS)}, which joins use themselves"
            raise SpecificationError(must(where, requirement, name, hint))

    def _check_relation(self, table: exp.Table) -> None:
        """Refuse what would change the rows of a relation."""
        for name, value in table.args.items():
            if value and name not in {"this", "alias"}:
                words = _REFUSED_OF_RELATION.get(name, name.upper())
                raise self._statement.refusal(f'"{table.name}"', f"without {words}", table)
        alias = table.args.get("alias")
        if alias is not None and alias.args.get("columns"):
            requirement = "without other names for its columns"
            raise self._statement.refusal(f'"{table.name}"', requirement, table)

    def _source(self, name: str, origin: str, window: WindowText | None, start: int) -> Source:
        at = place(self._text, start)
        where = f'"{origin}" at {at}'
        if origin in self._tables:
            if window is not None and (window.rows is not None or window.duration is not None):
                hint = "write [UNBOUNDED], or nothing: all of its rows are there"
                raise SpecificationError(must(f"window of table {where}", "unbounded", name, hint))
            return Source(name, origin, place=at)
        if origin not in self._streams:
            known = [*self._streams, *self._tables]
            hint = did_you_mean(origin, known, "name it in streams= or tables=")
            requirement = f"one of the streams and tables {', '.join(known)}"
            raise SpecificationError(must(where, requirement, origin, hint))
        own = self._streams[origin]
        if window is None and isinstance(own, Rows):
            return Source(name, origin, rows=own.number, place=at)
        if window is None and own is not None and not isinstance(own, Rows):
            return Source(name, origin, duration=own, place=at)
        if window is None or (window.rows is None and window.duration is None):
            got = "nothing" if window is None else "[UNBOUNDED]"
            hint = "write [RANGE 1 HOUR] or [ROWS 1000]: without one nothing could ever be dropped"
            raise SpecificationError(must(f"window of stream {where}", "given", got, hint))
        return Source(name, origin, window.rows, window.duration, at)

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
                raise self._statement.refusal("JOIN", "an inner one with ON", join.this, words)
            condition = join.args.get("on")
            if condition is not None:
                for column in condition.find_all(exp.Column):
                    self._resolve(column)
                yield from _conjuncts(condition)

    def _resolve(self, column: exp.Column) -> None:
        """Check a column, and give it the name of its relation."""
        where = f'column "{column.sql()}" at {place(self._text, self._places.of(column))}'
        parts = parts_of(column)
        known = {name: self._columns.get(each.origin) for name, each in self._sources.items()}
        if len(parts) > 1 and parts[0] in known:
            columns = known[parts[0]]
            if columns is not None and parts[1] not in columns:
                hint = did_you_mean(parts[1], columns, "correct the name")
                requirement = f"one of {', '.join(columns)}"
                raise SpecificationError(must(where, requirement, parts[1], hint))
            return
        # Without a schema a relation may have any column; but "x.y" then means a relation x.
        found = [
            name
            for name, columns in known.items()
            if (len(parts) == 1 if columns is None else parts[0] in columns)
        ]
        if len(parts) > 1 and not found:
            hint = did_you_mean(parts[0], known, "name it in FROM")
            raise SpecificationError(must(where, f"of one of {', '.join(known)}", parts[0], hint))
        if len(found) != 1 or len(parts) == len(_PARTS):
            requirement = f"of one of {', '.join(found)}" if found else "of one of the relations"
            text = column.sql(dialect="spark")
            hint = f"write {found[0]}.{text}, say" if found else "correct the name"
            raise SpecificationError(must(where, requirement, text, hint))
        column.set(_PARTS[len(parts)], exp.to_identifier(found[0]))

    def _relations_in(self, part: exp.Expr) -> list[str]:
        return list(dict.fromkeys(parts_of(each)[0] for each in part.find_all(exp.Column)))

    def _output(self, select: exp.Select) -> tuple[tuple[str, str], ...]:
        output: dict[str, str] = {}
        for each in select.expressions:
            for star in each.find_all(exp.Star):
                self._check_star(star)
            if isinstance(each, exp.Star):
                if len(select.expressions) > 1:
                    start = self._places.of_words("*")
                    raise refusal(self._text, "SELECT *", "alone", spell(select), start)
                return ()
            for column in each.find_all(exp.Column):
                if not isinstance(column.this, exp.Star):
                    self._resolve(column)
            inner = each.this if isinstance(each, exp.Alias) else each
            name = each.alias_or_name or spell(inner)
            if isinstance(inner, exp.Column) and isinstance(inner.this, exp.Star):
                name = f"{self._star_of(inner)}.*"
            if name in output:
                hint = f"write {spell(inner)} AS another_name"
                where = f"column at {place(self._text, self._places.of(each))}"
                raise SpecificationError(must(where, "of another name than others", name, hint))
            output[name] = spell(inner)
        return tuple(output.items())

    def _check_star(self, star: exp.Star) -> None:
        """Refuse what leaves columns out, or changes them."""
        for name, words in _REFUSED_OF_STAR.items():
            if star.args.get(name):
                start = self._places.of_words(words)
                text = spell(star)
                raise refusal(self._text, "SELECT *", f"without {words}", text, start)

    def _star_of(self, column: exp.Column) -> str:
        """Return the relation of which ``b.*`` is."""
        parts = parts_of(column)
        if len(parts) != 2 or parts[0] not in self._sources:
            where = f'"{spell(column)}" at {place(self._text, self._places.of(column))}'
            got = ".".join(parts[:-1])
            hint = did_you_mean(got, self._sources, "name it in FROM")
            known = f"all of one of {', '.join(self._sources)}"
            raise SpecificationError(must(where, known, got, hint))
        return parts[0]


def _conjuncts(part: exp.Expr) -> Iterator[exp.Expr]:
    if isinstance(part, exp.And):
        yield from _conjuncts(part.this)
        yield from _conjuncts(part.expression)
    elif isinstance(part, exp.Paren):
        inner = list(_conjuncts(part.this))
        yield from inner if len(inner) > 1 else [part.this]
    else:
        yield part

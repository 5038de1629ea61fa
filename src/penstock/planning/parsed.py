"""What a query says, after it has been read."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from penstock.durations import DurationLike
    from penstock.predicates import Predicate

__all__ = ["JoinCondition", "Parsed", "Source", "StreamSelection", "quoted", "spelled"]


def quoted(name: str) -> str:
    """Return a name as Spark's SQL has it in any case, with backticks.

    >>> quoted("x`y")
    '`x``y`'
    """
    return "`" + name.replace("`", "``") + "`"


def spelled(column: tuple[str, str]) -> str:
    """Return relation and column in SQL, with backticks where they are needed.

    >>> spelled(("a", "x")), spelled(("a", "x y"))
    ('a.x', 'a.`x y`')
    """
    return ".".join(
        each if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", each) else quoted(each) for each in column
    )


@dataclass(frozen=True)
class Source:
    """A relation of a query.

    Attributes
    ----------
    name
        As the query calls it.
    origin
        The stream or table that it is.
    rows
        Size of a window by rows, ``[ROWS n]``.
    duration
        Length of a window by time, ``[RANGE ...]``.
    place
        Line and column of it.
    """

    name: str
    origin: str
    rows: int | None = None
    duration: DurationLike | None = None
    place: str = field(default="", compare=False)

    @property
    def is_table(self) -> bool:
        """Whether all its rows are there at once: ``[UNBOUNDED]``."""
        return self.rows is None and self.duration is None

    @property
    def window(self) -> str:
        """The window, as a query writes it."""
        if self.rows is not None:
            return f"[ROWS {self.rows}]"
        if self.duration is not None:
            return f"[RANGE {self.duration}]" if self.duration else "[NOW]"
        return "[UNBOUNDED]"


@dataclass(frozen=True)
class StreamSelection:
    """A condition on one relation: any expression of Spark SQL.

    Attributes
    ----------
    relation
        Whose rows it tests.
    text
        The expression.
    columns
        That it needs.
    """

    relation: str
    text: str
    columns: tuple[str, ...]


@dataclass(frozen=True)
class JoinCondition:
    """A condition between two relations.

    Attributes
    ----------
    left, right
        Relation and column.
    predicate
        As a join of the two would say it.
    text
        As the query says it.
    follows
        Whether it is not in the query, but follows from equalities that are.
    place
        Line and column of it, or of an equality from which it follows.
    """

    left: tuple[str, str]
    right: tuple[str, str]
    predicate: Predicate
    text: str
    follows: bool = False
    place: str = field(default="", compare=False)


@dataclass(frozen=True)
class Parsed:
    """A conjunctive query.

    Attributes
    ----------
    sources
        Its relations, in order.
    selections, conditions
        The parts of its WHERE clause.
    output
        Name and expression of each column of the result; empty for ``*``.
    columns
        Relation and column of all columns that it names.
    """

    sources: tuple[Source, ...]
    selections: tuple[StreamSelection, ...]
    conditions: tuple[JoinCondition, ...]
    output: tuple[tuple[str, str], ...]
    columns: tuple[tuple[str, str], ...]

    def joined_last(self, *, single: bool) -> frozenset[str]:
        """Return the streams with windows by rows, if there are plans that have them joined last.

        If there are none, plans are compared that cannot be run.

        Parameters
        ----------
        single
            Whether one operator can join all streams.
        """
        streams = [source for source in self.sources if not source.is_table]
        by_rows = [source.name for source in streams if source.rows is not None]
        has_plans = single or len(by_rows) == 1 or len(streams) <= 2
        return frozenset(by_rows if has_plans else ())

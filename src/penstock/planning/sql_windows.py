"""Windows in the FROM clause, as CQL writes them, before the rest is read as SQL."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot.tokenizer_core import Token, TokenType

from penstock.durations import DurationLike, check_duration
from penstock.errors import SpecificationError, must
from penstock.planning.sql_dialect import Spark4

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["WindowText", "place", "split_windows"]

_HINT = "write [RANGE 1 HOUR], [ROWS 1000] or, for a table, [UNBOUNDED]"


@dataclass(frozen=True)
class WindowText:
    """A window and where it is.

    Attributes
    ----------
    start
        Position of its bracket in the text.
    rows, duration
        Its size; both None if it is unbounded.
    """

    start: int
    rows: int | None = None
    duration: DurationLike | None = None


def place(text: str, start: int) -> str:
    r"""Return a position as a person counts it.

    >>> place("SELECT *\nFROM a", 14)
    'line 2, column 6'
    """
    before = text[:start]
    return f"line {before.count(chr(10)) + 1}, column {start - before.rfind(chr(10))}"


def split_windows(text: str) -> tuple[list[Token], list[WindowText]]:
    """Return the tokens of a query without its windows, and the windows.

    A window is a bracket that begins with RANGE, ROWS, UNBOUNDED or NOW. Other brackets, such as
    that of an array's element, stay.

    Raises
    ------
    SpecificationError
        If a window is not one.

    Examples
    --------
    >>> tokens, windows = split_windows("FROM bids [RANGE 90 MINUTES] b, people [ROWS 10]")
    >>> [token.text for token in tokens]
    ['FROM', 'bids', 'b', ',', 'people']
    >>> [(window.duration, window.rows) for window in windows]
    [('90 minutes', None), (None, 10)]
    """
    tokens = Spark4().tokenize(text)
    kept: list[Token] = []
    windows: list[WindowText] = []
    at = 0
    while at < len(tokens):
        inside = tokens[at + 1] if at + 1 < len(tokens) else None
        is_window = (
            tokens[at].token_type == TokenType.L_BRACKET
            and inside is not None
            and inside.text.upper() in {"RANGE", "ROWS", "UNBOUNDED", "NOW"}
        )
        if not is_window:
            kept.append(tokens[at])
            at += 1
            continue
        end = at
        while end < len(tokens) and tokens[end].token_type != TokenType.R_BRACKET:
            end += 1
        windows.append(_window(text, tokens[at], tokens[at + 1 : end], closed=end < len(tokens)))
        at = end + 1
    return kept, windows


def _window(text: str, bracket: Token, words: Sequence[Token], *, closed: bool) -> WindowText:
    where = f"window at {place(text, bracket.start)}"
    kind, rest = words[0].text.upper(), [word.text for word in words[1:]]
    got = "[" + " ".join(word.text for word in words) + ("]" if closed else "")
    if closed and kind == "ROWS" and len(rest) == 1 and rest[0].isdigit() and int(rest[0]):
        return WindowText(bracket.start, rows=int(rest[0]))
    if closed and kind == "UNBOUNDED" and not rest:
        return WindowText(bracket.start)
    if closed and kind == "NOW" and not rest:
        return WindowText(bracket.start, duration=0)
    if closed and kind == "RANGE" and rest:
        said = " ".join(rest).lower()
        number = said.replace(".", "", 1)
        duration: DurationLike = said
        if number.isdigit():
            duration = float(said) if "." in said else int(said)
        check_duration(duration, where)
        return WindowText(bracket.start, duration=duration)
    raise SpecificationError(must(where, "a time, a number of rows or unbounded", got, _HINT))

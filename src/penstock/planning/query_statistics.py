"""`QueryStatistics`: what is known of the streams of a query."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from numbers import Real
from typing import TYPE_CHECKING, TypeAlias

from penstock.errors import SpecificationError, did_you_mean, must

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["QueryStatistics", "Selectivity", "same_text"]

Selectivity: TypeAlias = float | tuple[float, float]


@dataclass(frozen=True, kw_only=True)
class QueryStatistics:
    """Rates, selectivities and cardinalities of a query's streams and tables.

    `Query.measure` takes them from a sample.

    Parameters
    ----------
    rates
        Rows per second of each stream; if times are numbers, per unit of time.
    selectivities
        For each condition of the query, by its text, the share of rows or of pairs for which it
        holds. Two numbers for a condition between streams whose rows find different shares: rows
        of the first stream that arrive, and rows of the second. Spaces, comments and case do not
        matter, but for those in texts.
    cardinalities
        Rows of each stored table.

    Examples
    --------
    >>> statistics = QueryStatistics(
    ...     rates={"auctions": 0.5, "bids": 20},
    ...     selectivities={"a.id = b.auction": (0.0, 0.001), "b.price > 100": 0.2},
    ... )
    >>> statistics.selectivity("A.id=b.auction")
    (0.0, 0.001)
    """

    rates: Mapping[str, float]
    selectivities: Mapping[str, Selectivity] = field(default_factory=dict)
    cardinalities: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, rate in self.rates.items():
            if not _is_number(rate) or not 0 < rate < math.inf:
                hint = "measure it on a sample in which the stream has rows"
                raise SpecificationError(must(f'rate of "{name}"', "above 0", rate, hint))
        for name, rows in self.cardinalities.items():
            if not _is_number(rows) or not 0 <= rows < math.inf:
                hint = "count its rows"
                raise SpecificationError(must(f'rows of "{name}"', "0 or more", rows, hint))
        for text, given in self.selectivities.items():
            pair: tuple[object, ...] = given if isinstance(given, tuple) else (given,)
            if len(pair) > 2 or not pair or not all(map(_is_share, pair)):
                requirement = "a number from 0 to 1, or a tuple of two"
                hint = "it is a share: of the rows, or of the pairs that meet, each way"
                raise SpecificationError(must(f'selectivity of "{text}"', requirement, given, hint))

    def rate(self, stream: str) -> float:
        """Return the rate of a stream."""
        return _found(self.rates, stream, "rates")

    def rows(self, table: str) -> float:
        """Return the rows of a table."""
        return _found(self.cardinalities, table, "cardinalities")

    def selectivity(self, text: str) -> Selectivity:
        """Return the selectivity of a condition."""
        by_text = {same_text(each): value for each, value in self.selectivities.items()}
        if same_text(text) not in by_text:
            hint = did_you_mean(text, self.selectivities, "add it, or measure on a sample")
            requirement = f'given for the condition "{text}"'
            got = list(self.selectivities)
            raise SpecificationError(must("selectivities", requirement, got, hint))
        return by_text[same_text(text)]

    def knows(self, text: str) -> bool:
        """Return whether there is a selectivity of a condition."""
        return same_text(text) in {same_text(each) for each in self.selectivities}


def same_text(text: str) -> str:
    """Return a condition without what does not matter: spaces, comments, and case but in texts.

    >>> same_text("A.x  != 'Red' -- or blue"), same_text('a.x<>"Red"')
    ("a.x<>'Red'", "a.x<>'Red'")
    """
    return "".join(_without_spelling(each) for each in _TOKENS.findall(text))


# Comments, texts in quotes, names in backticks, operators with two spellings; then any character.
_TOKENS = re.compile(
    r"""--[^\n]*|/\*.*?\*/|(?:'(?:[^'\\]|\\.|'')*')|(?:"(?:[^"\\]|\\.|"")*")|`(?:[^`]|``)*`"""
    r"""|!=|==|.""",
    re.DOTALL,
)


def _without_spelling(token: str) -> str:
    if token.startswith(("--", "/*")) or token.isspace():
        return ""
    quote = token[0]
    if quote in "'\"" and len(token) > 1:
        inner = token[1:-1].replace(quote * 2, quote)
        return "'" + re.sub(r"\\(['\"])", r"\1", inner) + "'"
    if quote == "`" and len(token) > 1:
        name = token[1:-1]
        return name.casefold() if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) else token
    return {"!=": "<>", "==": "="}.get(token, token.casefold())


def _is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _is_share(value: object) -> bool:
    return isinstance(value, Real) and _is_number(value) and 0 <= float(value) <= 1


def _found(given: Mapping[str, float], name: str, what: str) -> float:
    if name not in given:
        hint = did_you_mean(name, given, "add it, or measure on a sample")
        raise SpecificationError(must(what, f'given for "{name}"', list(given), hint))
    return given[name]

"""Where the parts of a query are in its text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot.tokenizer_core import Token, TokenType

from penstock.planning.sql_dialect import Spark4, spell

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlglot import exp

__all__ = ["Places"]

# Tokens that only look like a word of SQL.
_NAMES = frozenset({TokenType.STRING, TokenType.IDENTIFIER, TokenType.VAR})
# Tokens with which an expression can begin and of which sqlglot keeps no position.
_BEFORE = frozenset(
    {TokenType.NOT, TokenType.DASH, TokenType.L_PAREN, TokenType.CASE, TokenType.INTERVAL}
)


class Places:
    """Finds expressions and words of SQL in the tokens of a query.

    Parameters
    ----------
    tokens
        Of the query, windows left out.

    Examples
    --------
    >>> import sqlglot
    >>> places = Places(Spark4().tokenize("SELECT order_id FROM a WHERE 1 = 1 ORDER BY order_id"))
    >>> places.of_words("ORDER BY")
    35
    """

    def __init__(self, tokens: Sequence[Token]) -> None:
        self._tokens = tokens

    def of(self, node: exp.Expr) -> int:
        """Return where an expression begins; 0 if that is not known."""
        starts = [each.meta["start"] for each in node.walk() if "start" in each.meta]
        spelled = Spark4().tokenize(spell(node))
        first = spelled[0].text.upper() if spelled else ""
        if not starts:  # TRUE, FALSE and NULL have no position
            same = (each.start for each in self._tokens if each.text.upper() == first)
            return next(same, 0)
        start: int = min(starts)
        at = next((at for at, each in enumerate(self._tokens) if each.start == start), 0)
        found = start
        while at > 0 and self._tokens[at - 1].token_type in _BEFORE:
            at -= 1
            if self._tokens[at].text.upper() == first:
                found = self._tokens[at].start
        return found

    def of_hint(self) -> int:
        """Return where the first hint begins, as in ``SELECT /*+ BROADCAST(a) */``."""
        hints = (each.start for each in self._tokens if each.token_type == TokenType.HINT)
        return next(hints, 0)

    def of_words(self, words: str) -> int:
        """Return where a clause begins that starts with some words; 0 if it is not there.

        Of several the one with the fewest parentheses around it, which is the query's own.
        """
        wanted = words.split(" ", maxsplit=1)[0].upper()
        depth, found = 0, []
        for at, token in enumerate(self._tokens):
            depth += (token.token_type == TokenType.L_PAREN) - (
                token.token_type == TokenType.R_PAREN
            )
            is_name = token.token_type in _NAMES or (
                at > 0 and self._tokens[at - 1].token_type == TokenType.DOT
            )
            if not is_name and token.text.upper().split(" ", maxsplit=1)[0] == wanted:
                found.append((depth, token.start))
        return min(found)[1] if found else 0

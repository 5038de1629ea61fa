"""The errors of Penstock: one root class, and one subclass for each phase.

=======================  ====================================================
class                    what is wrong
=======================  ====================================================
`SpecificationError`     the definition of the join
`SchemaError`            tables or frames that do not fit the join
`StateError`             saved state that cannot be used
`SessionError`           a Spark session or machine that cannot run the join
`SpoolError`             more rows wait for a slow stream than may
=======================  ====================================================

Every message names the thing in the user's own words, then what it must be, what was given, and
what to do. `must` builds such a message.
"""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = [
    "PenstockError",
    "SchemaError",
    "SessionError",
    "SpecificationError",
    "SpoolError",
    "StateError",
    "did_you_mean",
    "must",
]

# Long enough to recognise a value, short enough that a table does not hide the message.
_LONGEST_VALUE = 200


class PenstockError(Exception):
    """Root of all errors that Penstock raises on purpose.

    Examples
    --------
    >>> from penstock.budget import Budget
    >>> try:
    ...     Budget(rows=0)
    ... except PenstockError as error:
    ...     print(error)
    rows of Budget must be a whole number from 1 to 2**63 - 1; got 0; \
give the number of rows that the join may hold
    """


class SpecificationError(PenstockError, ValueError):
    """The definition of the join is wrong, whatever the data.

    Also a `ValueError`, so that code that does not know Penstock can catch it.
    """


class SchemaError(PenstockError, ValueError):
    """Tables or frames do not fit the join: a column is missing or has the wrong type.

    Or a column holds a value that the join needs but cannot use, such as a negative importance.
    """


class StateError(PenstockError, RuntimeError):
    """Saved state cannot be used: another version wrote it, or it is damaged."""


class SessionError(PenstockError, RuntimeError):
    """The Spark session, or the machine, lacks something that the join needs."""


class SpoolError(PenstockError, RuntimeError):
    """More rows wait for the slowest stream than `spool` of the join allows."""


def must(name: str, requirement: str, got: object, hint: str) -> str:
    """Return an error message in the form that all of Penstock's errors have.

    Parameters
    ----------
    name
        The thing that is wrong, in the user's words: ``'window of stream "bids"'``.
    requirement
        What it must be; follows the words "must be".
    got
        The value that was given; shown by its ``repr``, shortened beyond 200 characters.
    hint
        What to do.

    Returns
    -------
    str
        ``"<name> must be <requirement>; got <value>; <hint>"``.

    Examples
    --------
    >>> must("seed", "a whole number", "7", "write seed=7")
    "seed must be a whole number; got '7'; write seed=7"
    """
    return f"{name} must be {requirement}; got {_shown(got)}; {hint}"


def did_you_mean(name: object, known: Iterable[str], otherwise: str) -> str:
    """Return a hint with the known name that is most like the given one, ignoring case.

    Parameters
    ----------
    name
        The name that is not known.
    known
        The names that are.
    otherwise
        The hint if none of them is like it.

    Examples
    --------
    >>> did_you_mean("BID", ["asks", "bids"], "name a stream")
    'did you mean "bids"?'
    >>> did_you_mean("x", ["asks", "bids"], "name a stream")
    'name a stream'
    """
    folded = {each.casefold(): each for each in known}
    close = difflib.get_close_matches(str(name).casefold(), list(folded), n=1)
    return f'did you mean "{folded[close[0]]}"?' if close else otherwise


def _shown(value: object) -> str:
    try:
        text = repr(value)
    except ValueError:  # Python refuses to print an int of more than 4,300 digits
        text = f"a value of type {type(value).__name__}"
    if len(text) > _LONGEST_VALUE:
        return text[: _LONGEST_VALUE - 3] + "..."
    return text

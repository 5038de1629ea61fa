"""Windows of rows: the last so many rows of a stream."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.budget import is_whole, plain
from penstock.errors import SpecificationError, must

__all__ = ["Rows"]


@dataclass(frozen=True)
class Rows:
    """A window of the last rows of a stream, for `Stream(window=...)`.

    A row is in its window while fewer than `number` rows of its stream have come after it, in time
    order. So the window has the last `number` rows. Rows without a key count as well; late rows and
    rows without a time do not.

    Parameters
    ----------
    number
        How many rows the window has, 1 or more.

    Examples
    --------
    >>> from penstock import Stream
    >>> Stream(time="at", window=Rows(10_000))
    Stream(time='at', window=Rows(10000), lateness=0, max_ahead=None, idle=None)

    References
    ----------
    ``[ROWS n]`` of CQL (Arasu, Babu and Widom, 2003).
    """

    number: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "number", plain(self.number))
        if not is_whole(self.number, least=1):
            requirement = "a whole number from 1 to 2**63 - 1"
            hint = "write Rows(1000) for the last 1,000 rows"
            raise SpecificationError(must("number of Rows", requirement, self.number, hint))

    def __repr__(self) -> str:
        return f"Rows({self.number})"

"""What predicates have in common: the streams that they name, and the columns of each."""

from __future__ import annotations

import keyword
import unicodedata
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from penstock.errors import SpecificationError, did_you_mean, must
from penstock.predicates.arguments import quoted

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["Predicate"]


@dataclass(frozen=True, init=False, repr=False)
class Predicate(ABC):
    """Base class of the predicates: the streams that they name, and the columns of each.

    Attributes
    ----------
    by_stream : tuple of (str, tuple of str)
        Each stream with its columns, in the order given; empty if the columns have the
        same names in every stream.
    has_index : bool
        Whether an index finds most partners, so that few rows of a window are compared.
    finds_partners_only : bool
        Whether that index finds nothing else, so that no comparison is in vain.
    """

    has_index: ClassVar[bool] = True
    finds_partners_only: ClassVar[bool] = False
    by_stream: tuple[tuple[str, tuple[str, ...]], ...]

    @property
    def streams(self) -> tuple[str, ...] | None:
        """Names of the streams in the order given; None if the predicate names none."""
        return tuple(name for name, _ in self.by_stream) or None

    def columns_of(self, stream: str) -> tuple[str, ...]:
        """Return the columns of a stream that the predicate compares.

        Raises
        ------
        SpecificationError
            If the predicate does not name that stream.
        """
        for name, columns in self.by_stream:
            if name == stream:
                return columns
        raise self._unknown(stream, tuple(name for name, _ in self.by_stream))

    def check(self, names: Sequence[str]) -> None:
        """Raise if the streams of the join are not those that the predicate names.

        Parameters
        ----------
        names
            The streams of the join.

        Raises
        ------
        SpecificationError
            If the predicate names a stream that the join does not have, or leaves one out.

        Examples
        --------
        >>> from penstock.predicates import Equal
        >>> Equal(auction="id", bids="auction_id").check(["auctions", "bids"])
        Traceback (most recent call last):
        ...
        penstock.errors.SpecificationError: stream named in Equal must be one of \
"auctions", "bids"; got 'auction'; did you mean "auctions"?
        """
        if self.streams is None:
            return
        for stream in self.streams:
            if stream not in names:
                raise self._unknown(stream, names)
        missing = [name for name in names if name not in self.streams]
        if missing:
            hint = f"add a column for {quoted(missing)}"
            requirement = "all the streams of the join"
            raise SpecificationError(
                must(f"streams named in {self._word}", requirement, self.streams, hint)
            )

    def _unknown(self, stream: str, known: Sequence[str]) -> SpecificationError:
        hint = did_you_mean(stream, known, "use the names that the join gives its streams")
        requirement = f"one of {quoted(known)}"
        return SpecificationError(must(f"stream named in {self._word}", requirement, stream, hint))

    @property
    def _word(self) -> str:
        return type(self).__name__

    @abstractmethod
    def _settings(self) -> Iterable[str]:
        """Return the arguments that come before the streams, as Python code."""

    def __repr__(self) -> str:
        arguments = [*self._settings(), *_as_keywords(self.by_stream)]
        return f"{self._word}({', '.join(arguments)})"


def _as_keywords(by_stream: Iterable[tuple[str, tuple[str, ...]]]) -> list[str]:
    given = {name: cs[0] if len(cs) == 1 else cs for name, cs in by_stream}
    if all(_is_argument(name) for name in given):
        return [f"{name}={columns!r}" for name, columns in given.items()]
    return [f"**{given!r}"]


def _is_argument(name: str) -> bool:
    # Python reads identifiers in their NFKC form, so a name in another form would change.
    return (
        name.isidentifier()
        and not keyword.iskeyword(name)
        and unicodedata.normalize("NFKC", name) == name
    )

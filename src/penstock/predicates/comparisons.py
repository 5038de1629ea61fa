"""Predicates of values: `Equal`, `Within`, `Band`, `Compare`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from penstock.errors import SpecificationError, must
from penstock.predicates.arguments import (
    Number,
    as_tuple,
    at_least_zero,
    check_columns,
    check_streams,
    finite,
    one_column_each,
    quoted,
)
from penstock.predicates.base import Predicate

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["Band", "Compare", "Equal", "Within"]

_OPERATORS = ("<", "<=", "=", "!=", ">", ">=")
_MEANT = {"==": "=", "<>": "!=", "=<": "<=", "=>": ">="}


@dataclass(frozen=True, init=False, repr=False)
class Equal(Predicate):
    """Equality of one or several columns, over any number of streams.

    Parameters
    ----------
    *columns
        Columns that have the same names in every stream.
    **by_stream
        Or, for each stream, its column or columns: the same number for each, compared in the
        order given.

    Examples
    --------
    >>> Equal("site", "day").columns_of("bids")
    ('site', 'day')
    >>> Equal(auctions=("id", "site"), bids=("auction_id", "site")).columns_of("bids")
    ('auction_id', 'site')
    """

    finds_partners_only: ClassVar[bool] = True

    columns: tuple[str, ...]

    def __init__(self, /, *columns: str, **by_stream: str | Sequence[str]) -> None:
        if bool(columns) == bool(by_stream):
            given = (*columns, by_stream) if columns else ()
            hint = 'write Equal("id") or Equal(auctions="id", bids="auction_id")'
            requirement = "given once, for all streams or for each by its name"
            raise SpecificationError(must("columns of Equal", requirement, given, hint))
        if columns:
            check_columns(columns, "columns of Equal")
        pairs = tuple((name, as_tuple(given)) for name, given in by_stream.items())
        for name, of_stream in pairs:
            check_columns(of_stream, f'columns of stream "{name}" in Equal')
        if by_stream:
            check_streams(by_stream, "Equal")
        if len({len(of_stream) for _, of_stream in pairs}) > 1:
            hint = "each column is compared with the one in the same place"
            requirement = "the same number for every stream"
            raise SpecificationError(must("columns of Equal", requirement, by_stream, hint))
        object.__setattr__(self, "columns", columns)
        object.__setattr__(self, "by_stream", pairs)

    def columns_of(self, stream: str) -> tuple[str, ...]:
        """Return the columns of a stream that must be equal to those of the others."""
        return self.columns or super().columns_of(stream)

    def _settings(self) -> Iterable[str]:
        return map(repr, self.columns)


@dataclass(frozen=True, init=False, repr=False)
class Within(Predicate):
    """A largest distance between any two of the values: the epsilon-join.

    Parameters
    ----------
    distance
        Largest difference between any two of the values; finite, zero or more.
    **columns
        For each of two or more streams, its column.

    Examples
    --------
    >>> Within(0.5, north="level", south="level")
    Within(0.5, north='level', south='level')
    """

    distance: Number

    def __init__(self, distance: Number, /, **columns: str) -> None:
        object.__setattr__(self, "distance", at_least_zero(distance, "Within"))
        object.__setattr__(self, "by_stream", one_column_each(columns, "Within"))

    def _settings(self) -> Iterable[str]:
        return (repr(self.distance),)


@dataclass(frozen=True, init=False, repr=False)
class Band(Predicate):
    """A difference within bounds: ``low <= y - x <= high``.

    With more than two streams it holds between each stream and the next, in the order in
    which they are named.

    Parameters
    ----------
    low, high
        Smallest and largest difference; finite, `low` at most `high`.
    **columns
        For each of two or more streams, its column. No stream in a band can be called
        "low" or "high", which are the names of the bounds.

    Examples
    --------
    >>> Band(low=0, high=5, orders="price", offers="price").streams
    ('orders', 'offers')
    """

    low: Number
    high: Number

    def __init__(self, /, *, low: Number, high: Number, **columns: str) -> None:
        low = finite(low, "low of Band")
        high = finite(high, "high of Band")
        if low > high:
            hint = "exchange the two bounds"
            raise SpecificationError(must("low of Band", f"at most {high!r}", low, hint))
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)
        object.__setattr__(self, "by_stream", one_column_each(columns, "Band"))

    def _settings(self) -> Iterable[str]:
        return (f"low={self.low!r}", f"high={self.high!r}")


@dataclass(frozen=True, init=False, repr=False)
class Compare(Predicate):
    """A comparison: ``x < y``, or with one of ``<= = != > >=``.

    With more than two streams it holds between each stream and the next, in the order in
    which they are named, as in Python's own ``x < y < z``.

    Parameters
    ----------
    operator
        One of ``"<" "<=" "=" "!=" ">" ">="``.
    **columns
        For each of two or more streams, its column.

    Examples
    --------
    >>> Compare("<", asks="price", bids="price")
    Compare('<', asks='price', bids='price')
    """

    operator: str

    def __init__(self, operator: str, /, **columns: str) -> None:
        if operator not in _OPERATORS:
            meant = _MEANT.get(str(operator))
            hint = f'use "{meant}"' if meant else "use one of these, as a string"
            raise SpecificationError(
                must("operator of Compare", f"one of {quoted(_OPERATORS)}", operator, hint)
            )
        object.__setattr__(self, "operator", operator)
        object.__setattr__(self, "by_stream", one_column_each(columns, "Compare"))

    def _settings(self) -> Iterable[str]:
        return (repr(self.operator),)

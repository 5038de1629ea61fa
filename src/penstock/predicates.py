"""Predicates, the condition on which rows join: `Equal`, `Within`, `Band`, `Compare`, `Similar`.

A predicate names, for each stream, the column or columns that it compares. It is frozen and
hashable. Two predicates are equal if they have the same class and the same arguments in the same
order. The ``repr`` of a predicate is the Python code that creates it.
"""

from __future__ import annotations

import keyword
import math
import unicodedata
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import ClassVar, TypeAlias

from penstock.errors import SpecificationError, did_you_mean, must

__all__ = ["Band", "Compare", "Equal", "Number", "Predicate", "Similar", "Within"]

Number: TypeAlias = int | float | Decimal

_OPERATORS = ("<", "<=", "=", "!=", ">", ">=")
_MEANT = {"==": "=", "<>": "!=", "=<": "<=", "=>": ">="}
_METRICS = ("euclidean", "cosine")


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
            hint = f"add a column for {_quoted(missing)}"
            requirement = "all the streams of the join"
            raise SpecificationError(
                must(f"streams named in {self._word}", requirement, self.streams, hint)
            )

    def _unknown(self, stream: str, known: Sequence[str]) -> SpecificationError:
        hint = did_you_mean(stream, known, "use the names that the join gives its streams")
        requirement = f"one of {_quoted(known)}"
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
            _check_columns(columns, "columns of Equal")
        pairs = tuple((name, _as_tuple(given)) for name, given in by_stream.items())
        for name, of_stream in pairs:
            _check_columns(of_stream, f'columns of stream "{name}" in Equal')
        if by_stream:
            _check_streams(by_stream, "Equal")
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
        object.__setattr__(self, "distance", _at_least_zero(distance, "Within"))
        object.__setattr__(self, "by_stream", _one_column_each(columns, "Within"))

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
        low = _finite(low, "low of Band")
        high = _finite(high, "high of Band")
        if low > high:
            hint = "exchange the two bounds"
            raise SpecificationError(must("low of Band", f"at most {high!r}", low, hint))
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)
        object.__setattr__(self, "by_stream", _one_column_each(columns, "Band"))

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
                must("operator of Compare", f"one of {_quoted(_OPERATORS)}", operator, hint)
            )
        object.__setattr__(self, "operator", operator)
        object.__setattr__(self, "by_stream", _one_column_each(columns, "Compare"))

    def _settings(self) -> Iterable[str]:
        return (repr(self.operator),)


@dataclass(frozen=True, init=False, repr=False)
class Similar(Predicate):
    """A largest distance between any two of the vectors: the similarity join.

    Parameters
    ----------
    distance
        Largest distance between any two of the vectors; finite, zero or more.
    metric
        ``"euclidean"``: the length of the difference. ``"cosine"``: 1 less the cosine of the angle.
    dimensions
        Numbers in a vector. Left out: of lists of a fixed size that size, else most first rows'.
    **columns
        For each stream its column, of lists of floats. None can be called as a parameter is.

    Examples
    --------
    >>> Similar(0.2, metric="cosine", news="embedding", posts="embedding")
    Similar(0.2, metric='cosine', news='embedding', posts='embedding')
    """

    has_index: ClassVar[bool] = False
    distance: Number
    metric: str
    dimensions: int | None

    def __init__(
        self,
        distance: Number,
        /,
        *,
        metric: str = "euclidean",
        dimensions: int | None = None,
        **columns: str,
    ) -> None:
        if metric not in _METRICS:
            hint = did_you_mean(str(metric), _METRICS, "use one of these, as a string")
            requirement = f"one of {_quoted(_METRICS)}"
            raise SpecificationError(must("metric of Similar", requirement, metric, hint))
        if dimensions is not None and (type(dimensions) is not int or dimensions < 1):
            wanted, hint = "a whole number of 1 or more", "give how many numbers a vector has"
            raise SpecificationError(must("dimensions of Similar", wanted, dimensions, hint))
        object.__setattr__(self, "distance", _at_least_zero(distance, "Similar"))
        object.__setattr__(self, "metric", metric)
        object.__setattr__(self, "dimensions", dimensions)
        object.__setattr__(self, "by_stream", _one_column_each(columns, "Similar"))

    def _settings(self) -> Iterable[str]:
        yield repr(self.distance)
        yield f"metric={self.metric!r}"
        if self.dimensions is not None:
            yield f"dimensions={self.dimensions!r}"


def _at_least_zero(distance: object, word: str) -> Number:
    number = _finite(distance, f"distance of {word}")
    if number < 0:
        hint = "give the largest difference that still joins"
        raise SpecificationError(must(f"distance of {word}", "zero or more", number, hint))
    return number


def _one_column_each(
    columns: Mapping[str, str], word: str
) -> tuple[tuple[str, tuple[str, ...]], ...]:
    for name, column in columns.items():
        if not _is_name(column):
            hint = f"{word} compares one column of each stream"
            raise SpecificationError(
                must(
                    f'column of stream "{name}" in {word}',
                    "the name of one column",
                    column,
                    hint,
                )
            )
    _check_streams(columns, word)
    return tuple((name, (column,)) for name, column in columns.items())


def _check_streams(columns: Mapping[str, object], word: str) -> None:
    if len(columns) < 2:
        hint = f'name each stream of the join, as in {word}(..., auctions="id", bids="id")'
        raise SpecificationError(
            must(f"columns of {word}", "given for at least two streams", columns, hint)
        )


def _check_columns(columns: Sequence[object], name: str) -> None:
    if not columns or not all(map(_is_name, columns)):
        hint = 'give names of columns, as in "id" or ("id", "site")'
        raise SpecificationError(must(name, "one or more names of columns", columns, hint))
    if len(set(columns)) < len(columns):
        raise SpecificationError(must(name, "different columns", columns, "name each column once"))


def _is_name(value: object) -> bool:
    return isinstance(value, str) and value != ""


def _as_tuple(given: str | Sequence[str]) -> tuple[str, ...]:
    if isinstance(given, str) or not isinstance(given, Sequence):
        return (given,)
    return tuple(given)


def _finite(value: object, name: str) -> Number:
    hint = "give a number"
    if isinstance(value, int | float | Decimal) and not isinstance(value, bool):
        try:
            finite = math.isfinite(value)
        except (OverflowError, ValueError):  # an int beyond any float; a signalling NaN
            finite = False
        if finite:
            # numpy.float64 is a float too, but its repr is not Python code.
            return float(value) if isinstance(value, float) else value
        hint = "give a number within the range of a float"
    raise SpecificationError(must(name, "a finite number", value, hint))


def _quoted(names: Iterable[str]) -> str:
    return ", ".join(f'"{name}"' for name in names)


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

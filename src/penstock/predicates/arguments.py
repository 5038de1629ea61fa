"""Arguments of predicates, checked when they are given."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import TypeAlias

from penstock.errors import SpecificationError, must

__all__ = [
    "Number",
    "as_tuple",
    "at_least_zero",
    "check_columns",
    "check_streams",
    "finite",
    "one_column_each",
    "quoted",
]

Number: TypeAlias = int | float | Decimal


def at_least_zero(distance: object, word: str) -> Number:
    """Return a distance; raise if it is below 0 or no number."""
    number = finite(distance, f"distance of {word}")
    if number < 0:
        hint = "give the largest difference that still joins"
        raise SpecificationError(must(f"distance of {word}", "zero or more", number, hint))
    return number


def one_column_each(
    columns: Mapping[str, str], word: str
) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return the column of each stream; raise if one has several."""
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
    check_streams(columns, word)
    return tuple((name, (column,)) for name, column in columns.items())


def check_streams(columns: Mapping[str, object], word: str) -> None:
    """Raise if fewer than two streams are named."""
    if len(columns) < 2:
        hint = f'name each stream of the join, as in {word}(..., auctions="id", bids="id")'
        raise SpecificationError(
            must(f"columns of {word}", "given for at least two streams", columns, hint)
        )


def check_columns(columns: Sequence[object], name: str) -> None:
    """Raise if these are not different names of columns."""
    if not columns or not all(map(_is_name, columns)):
        hint = 'give names of columns, as in "id" or ("id", "site")'
        raise SpecificationError(must(name, "one or more names of columns", columns, hint))
    if len(set(columns)) < len(columns):
        raise SpecificationError(must(name, "different columns", columns, "name each column once"))


def _is_name(value: object) -> bool:
    return isinstance(value, str) and value != ""


def as_tuple(given: str | Sequence[str]) -> tuple[str, ...]:
    """Return names as a tuple, also if one is given alone."""
    if isinstance(given, str) or not isinstance(given, Sequence):
        return (given,)
    return tuple(given)


def finite(value: object, name: str) -> Number:
    """Return a number; raise if it is none, or not within the range of a float."""
    hint = "give a number"
    if isinstance(value, int | float | Decimal) and not isinstance(value, bool):
        try:
            is_finite = math.isfinite(value)
        except (OverflowError, ValueError):  # an int beyond any float; a signalling NaN
            is_finite = False
        if is_finite:
            # numpy.float64 is a float too, but its repr is not Python code.
            return float(value) if isinstance(value, float) else value
        hint = "give a number within the range of a float"
    raise SpecificationError(must(name, "a finite number", value, hint))


def quoted(names: Iterable[str]) -> str:
    """Return names in quotes, with commas between them."""
    return ", ".join(f'"{name}"' for name in names)

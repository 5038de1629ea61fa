"""Definitions of the importance of a row: a column, a table, a histogram, a function.

A plain string is a column, a plain number is the importance of every row. All definitions are
frozen and hashable, and two with the same content are equal.
"""

from __future__ import annotations

import inspect
import itertools
import math
import numbers
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, TypeAlias

import numpy as np

from penstock.errors import SpecificationError, must

__all__ = [
    "AMOUNT",
    "LARGEST",
    "Definition",
    "DefinitionLike",
    "Function",
    "Histogram",
    "Lookup",
    "amount",
    "definition_of",
    "finite",
]

AMOUNT = "a finite number of 0 or more"
# Sums of squares of it, over any number of results, are still finite.
LARGEST = 1e100


@dataclass(frozen=True, init=False, repr=False)
class Lookup:
    """Importance by the value of a column: a table of values, and a default for all others.

    Parameters
    ----------
    column
        Column whose value is looked up: text, numbers or booleans.
    table
        The importance of each value, 0 or more. None means null.
    default
        Importance of values that are not in the table, nulls included. Without a default such a
        row has an importance of 0, and is counted in `StreamMetrics.bad_importance`.

    Examples
    --------
    >>> Lookup("category", {"politics": 90, "sports": 40}, default=10)
    Lookup('category', {'politics': 90, 'sports': 40}, default=10)
    """

    column: str
    pairs: tuple[tuple[Any, int | float], ...]
    default: int | float | None

    def __init__(
        self, column: str, table: Mapping[Any, float], default: float | None = None
    ) -> None:
        owner = f"Lookup({column!r})"
        _check_column(column, "Lookup")
        given: object = table
        if not isinstance(given, Mapping) or not given:
            hint = f"write Lookup({column!r}, {{value: importance, ...}})"
            requirement = "the importance of one value or more"
            raise SpecificationError(must(f"table of {owner}", requirement, table, hint))
        pairs = [
            (_key(key, owner), amount(number, f"importance of {key!r} in {owner}"))
            for key, number in table.items()
        ]
        if default is not None:
            default = amount(default, f"default of {owner}")
        object.__setattr__(self, "column", str(column))
        object.__setattr__(self, "pairs", tuple(pairs))
        object.__setattr__(self, "default", default)

    @property
    def table(self) -> dict[Any, int | float]:
        """The importance of each value."""
        return dict(self.pairs)

    def __repr__(self) -> str:
        default = "" if self.default is None else f", default={self.default!r}"
        return f"Lookup({self.column!r}, {self.table!r}{default})"


@dataclass(frozen=True, repr=False)
class Histogram:
    """Importance by ranges of a column's numbers.

    Parameters
    ----------
    column
        Column of numbers. A row with a null or NaN in it has an importance of 0, and is counted in
        `StreamMetrics.bad_importance`.
    breaks
        Where one range ends and the next begins, ascending. A break belongs to the upper range.
    values
        The importance in each range, 0 or more: below the first break, from each break to the
        next, and from the last break on. So there is one more than breaks.

    Examples
    --------
    >>> Histogram("price", breaks=[10, 100], values=[1, 5, 20])
    Histogram('price', (10, 100), (1, 5, 20))
    """

    column: str
    breaks: Sequence[float]
    values: Sequence[float]

    def __post_init__(self) -> None:
        owner = f"Histogram({self.column!r})"
        _check_column(self.column, "Histogram")
        breaks = tuple(finite(each) for each in _listed(self.breaks))
        known = [each for each in breaks if each is not None]
        ascending = all(low < high for low, high in itertools.pairwise(known))
        if not breaks or len(known) < len(breaks) or not ascending:
            hint = "write each break once and in order, for example breaks=[10, 100]"
            requirement = "one or more finite numbers, ascending"
            raise SpecificationError(must(f"breaks of {owner}", requirement, self.breaks, hint))
        values = tuple(amount(each, f"a value of {owner}") for each in _listed(self.values))
        if len(values) != len(breaks) + 1:
            requirement = f"{len(breaks) + 1}, one more than breaks"
            hint = "give one for each range, also for that below the first break"
            raise SpecificationError(must(f"values of {owner}", requirement, self.values, hint))
        object.__setattr__(self, "column", str(self.column))
        object.__setattr__(self, "breaks", breaks)
        object.__setattr__(self, "values", values)

    def __repr__(self) -> str:
        return f"Histogram({self.column!r}, {self.breaks!r}, {self.values!r})"


@dataclass(frozen=True, repr=False)
class Function:
    """A user's function, which takes a table and returns one number for each of its rows.

    Its ``repr`` is its module and its name. The ``repr`` of a join is compared when it continues
    from a checkpoint, and an address in memory would be different each time.
    """

    call: Callable[[Any], Any] = field(hash=False)  # an object that is called may have no hash
    name: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", _name_of(self.call))

    def __repr__(self) -> str:
        return self.name


Definition: TypeAlias = str | int | float | Lookup | Histogram | Function
DefinitionLike: TypeAlias = Definition | Callable[[Any], Any]


def definition_of(given: object, owner: str) -> Definition:
    """Check one definition, and return it as an immutable value.

    Parameters
    ----------
    given
        A column, a number, a `Lookup`, a `Histogram` or a function.
    owner
        Its name in messages: ``'importance of stream "cnn"'``.

    Raises
    ------
    SpecificationError
        If it is none of these.

    Examples
    --------
    >>> definition_of(len, "importance")
    builtins.len
    """
    if isinstance(given, Lookup | Histogram | Function):
        return given
    if isinstance(given, str) and given:
        return str(given)  # numpy.str_ is a str too, but its repr is not that of a str
    if callable(given) and not isinstance(given, type):
        return Function(given)
    if isinstance(given, numbers.Real) and not isinstance(given, bool):
        return amount(given, owner)
    hint = 'write "column", 5, Lookup(...), Histogram(...) or [(time, definition), ...]'
    if isinstance(given, Mapping):
        hint = 'name the column that has these values: Lookup("column", {...})'
    elif given in (Lookup, Histogram):
        hint = f"call it with its column: {getattr(given, '__name__', given)}(...)"
    requirement = "a column, a number, a Lookup, a Histogram, a function, or a schedule of these"
    raise SpecificationError(must(owner, requirement, given, hint))


def finite(value: object) -> int | float | None:
    """Return a finite number as a Python number; None for anything else.

    >>> finite(np.float32(0.5)), finite(True), finite(float("nan"))
    (0.5, None, None)
    """
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        return None
    try:
        number = int(value) if isinstance(value, numbers.Integral) else float(value)
        return number if math.isfinite(number) else None
    except OverflowError:  # a whole number beyond any float
        return None


def amount(value: object, owner: str) -> int | float:
    """Return an importance as a Python number; raise if it is not one.

    >>> amount(-3, "importance")
    Traceback (most recent call last):
    ...
    penstock.errors.SpecificationError: importance must be a finite number of 0 or more; got -3; \
give 0 to what does not matter
    """
    number = finite(value)
    if number is None or number < 0:
        hint = "give 0 to what does not matter"
        raise SpecificationError(must(owner, AMOUNT, value, hint))
    if number > LARGEST:
        hint = "use a larger unit: only the ratio of two importances matters"
        raise SpecificationError(must(owner, f"at most {LARGEST:g}", value, hint))
    return number


def _name_of(call: object) -> str:
    if not inspect.ismethod(call):  # a method's name does not show its object
        module, name = getattr(call, "__module__", None), getattr(call, "__qualname__", None)
        if isinstance(module, str) and isinstance(name, str):
            return f"{module}.{name}"
    shown = repr(call)
    if " at 0x" in shown:
        hint = "write it with def, at the top level of a module"
        requirement = "one whose repr is the same in every run"
        raise SpecificationError(must("function of importance", requirement, call, hint))
    return shown


def _check_column(column: object, word: str) -> None:
    if not isinstance(column, str) or not column:
        hint = f'write {word}("column", ...)'
        raise SpecificationError(must(f"column of {word}", "the name of a column", column, hint))


def _key(key: object, owner: str) -> object:
    if isinstance(key, np.generic):
        key = key.item()
    known = isinstance(key, str | int | float | Decimal) or key is None
    if not known or (isinstance(key, float | Decimal) and Decimal(key).is_nan()):
        hint = "use a Histogram for ranges of numbers, and a function for anything else"
        requirement = "text, numbers, booleans or None"
        raise SpecificationError(must(f"values in the table of {owner}", requirement, key, hint))
    return key


def _listed(given: object) -> tuple[object, ...]:
    """Return the items of any kind of list, also of NumPy and Arrow; none if it is no list."""
    listed = given.tolist() if hasattr(given, "tolist") else given
    if isinstance(listed, Sequence) and not isinstance(listed, str):
        return tuple(listed)
    return ()

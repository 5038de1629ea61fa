"""What `penstock.estimate` was asked for, and the checks of it that need no data."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from penstock.durations import DurationLike, check_duration, to_units
from penstock.errors import SchemaError, SpecificationError, did_you_mean, must

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

__all__ = ["MICROSECONDS", "NOT_SAMPLED", "EstimateRequest", "Wanted", "Windows", "find_path"]

NOT_SAMPLED: Final = "is this the result of a join with goal=Sample()?"

# In a second: the unit of windows of timestamps, as on Spark.
MICROSECONDS: Final = 10**6


@dataclass(frozen=True)
class Wanted:
    """One number that is to be estimated.

    Attributes
    ----------
    name
        Its column in the result.
    column
        The name of the column that it is computed from, as it was asked for; None for a count.
    is_average
        Whether it is an average, not a total.
    """

    name: str
    column: str | None
    is_average: bool = False

    @property
    def what(self) -> str:
        """The argument that asked for it."""
        return "count" if self.column is None else "average" if self.is_average else "sum"


@dataclass(frozen=True)
class Windows:
    """Windows of time, which begin at multiples of `slide`.

    Attributes
    ----------
    length, slide
        In the units of the time column, above zero; the slide is at most the length.
    """

    length: int | float
    slide: int | float

    @property
    def overlap(self) -> int:
        """How many windows a time is in, at most."""
        return math.ceil(self.length / self.slide)


@dataclass(frozen=True)
class EstimateRequest:
    """The arguments of `penstock.estimate`, checked as far as they can be without the data.

    Attributes
    ----------
    by, sums, averages
        Names of columns.
    every, window
        How often a window begins, and how long it is; see `windows`.
    count
        Whether the number of results is wanted.

    Raises
    ------
    SpecificationError
        If nothing is asked for, or an argument is not what it must be.
    """

    by: tuple[str, ...]
    every: DurationLike | None
    window: DurationLike | None
    sums: tuple[str, ...]
    averages: tuple[str, ...]
    count: bool

    def __post_init__(self) -> None:
        """Check what can be checked without the data."""
        if not isinstance(self.count, bool):
            raise SpecificationError(
                must("count", "True or False", self.count, "leave it out for True")
            )
        if not (self.count or self.sums or self.averages):
            raise SpecificationError(
                must(
                    "count, sum or average",
                    "asked for",
                    "none of them",
                    'write count=True, or name columns, as in sum="bids.price"',
                )
            )
        if self.every is not None:
            check_duration(self.every, "every")
        if self.window is not None:
            check_duration(self.window, "window")
            if self.every is None:
                raise SpecificationError(
                    must(
                        "window",
                        "given together with every, how often a window begins",
                        self.window,
                        'write every="10 minutes" as well, or every alone if none overlap',
                    )
                )

    def windows(self, units_per_second: int | None, why: str) -> Windows | None:
        """Return the windows in the units of the time column; None without `every`.

        Parameters
        ----------
        units_per_second
            Of a timestamp; None if time is a number.
        why
            The reason for the kind of time: ``'column "time" is a timestamp'``.

        Raises
        ------
        SchemaError
            If a duration does not fit the kind of time.
        SpecificationError
            If one is not above zero, or windows do not reach the next one.
        """
        if self.every is None:
            return None
        least = "more than zero" if units_per_second is None else "a microsecond or more"
        slide = to_units(self.every, units_per_second, "every", why)
        if slide <= 0:
            raise SpecificationError(must("every", least, self.every, 'write it as "10 minutes"'))
        if self.window is None:
            return Windows(slide, slide)
        length = to_units(self.window, units_per_second, "window", why)
        if length < slide:
            raise SpecificationError(
                must(
                    "window",
                    "as long as every, or longer, so that no result is left out",
                    self.window,
                    f"make it {self.every!r} or more, or leave it out",
                )
            )
        return Windows(length, slide)

    def wanted(self, last_part: Callable[[str, str], str]) -> list[Wanted]:
        """Return the numbers to estimate, in the order of the result's columns.

        Parameters
        ----------
        last_part
            Returns the last part of a column's name, for the name as it was asked for and the
            argument that asked.
        """
        found = [Wanted("count", None)] if self.count else []
        found += [Wanted(f"sum_{last_part(each, 'sum')}", each) for each in self.sums]
        return found + [
            Wanted(f"average_{last_part(each, 'average')}", each, is_average=True)
            for each in self.averages
        ]

    def check_result_names(self, group_names: Sequence[str], wanted: Sequence[Wanted]) -> None:
        """Check that the columns of the result have different names, also to Spark.

        Parameters
        ----------
        group_names
            The names of the columns of `by` in the result.
        wanted
            The numbers, with their names in the result.

        Raises
        ------
        SpecificationError
            If two names differ at most in case.
        """
        named = [("window", "every")] if self.every is not None else []
        named += [
            (name, f'"{asked}" of by') for name, asked in zip(group_names, self.by, strict=True)
        ]
        for each in wanted:
            source = "count" if each.column is None else f'"{each.column}" of {each.what}'
            named += [(f"{each.name}{end}", source) for end in ("", "_low", "_high")]
        named += [("clusters", "the number of clusters"), ("note", "the note")]
        seen: dict[str, tuple[int, str]] = {}
        for i, (name, source) in enumerate(named):
            at, other = seen.setdefault(name.casefold(), (i, source))
            if at != i:
                raise SpecificationError(
                    must(
                        "names of the result's columns",
                        "different",
                        f"{name} from {other} and from {source}",
                        "name each once, or add a copy of one under another name, and use that",
                    )
                )


def find_path(paths: Iterable[tuple[str, ...]], requested: str, what: str) -> tuple[str, ...]:
    """Find a column, or a field within one, by a name such as ``"bids.price"``.

    Parameters
    ----------
    paths
        Those of all columns and of all fields within them, outer ones first.
    requested, what
        The name, and the argument that it was given in.

    Raises
    ------
    SchemaError
        If there is none.

    Examples
    --------
    >>> find_path([("bids",), ("time",), ("bids", "price")], "bids.price", "sum")
    ('bids', 'price')
    >>> find_path([("bids",), ("time",), ("bids", "price")], "price", "sum")
    Traceback (most recent call last):
    ...
    penstock.errors.SchemaError: "price" of sum must be one of bids, time, bids.price; \
got 'price'; did you mean "bids.price"?
    """
    known = {".".join(path): path for path in reversed(list(paths))}
    if requested in known:
        return known[requested]
    names = list(reversed(known))
    last = [name for name in names if name.rpartition(".")[2] == requested]
    hint = 'write "stream.column", or a column\'s name'
    hint = f'did you mean "{last[0]}"?' if last else did_you_mean(requested, reversed(names), hint)
    raise SchemaError(must(f'"{requested}" of {what}', f"one of {_listed(names)}", requested, hint))


def _listed(names: Sequence[str], most: int = 12) -> str:
    return ", ".join(names[:most]) + (", ..." if len(names) > most else "")

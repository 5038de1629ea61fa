"""The importance of one stream's rows, whose definition may change with time."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from penstock.durations import to_units
from penstock.errors import SchemaError, SpecificationError, must
from penstock.importance.definitions import (
    Definition,
    DefinitionLike,
    Function,
    definition_of,
    finite,
)
from penstock.importance.repeating import Repeating
from penstock.importance.scoring import check_schema, column_of, score
from penstock.importance.turns import Turns

if TYPE_CHECKING:
    from penstock.importance.results import Floats

__all__ = ["Importance", "ImportanceLike", "Moment", "importance_of"]

Moment: TypeAlias = str | datetime | int | float
ImportanceLike: TypeAlias = (
    DefinitionLike | Sequence[tuple[Moment | None, DefinitionLike]] | Repeating
)

# The limit of a join's times: a change beyond it never happens.
_FURTHEST = 2**61
_EXAMPLE = 'for example [(None, "a column"), ("2026-01-01 18:00", "another")]'


@dataclass(frozen=True)
class Importance:
    """The definitions of importance of one stream's rows, and the times from which they hold.

    Attributes
    ----------
    schedule
        Each definition with the time from which it holds, ascending; the first also holds before.
    repeating
        The schedule that repeats; None if it does not. Then times are those in a period.
    """

    schedule: tuple[tuple[Any, Definition], ...]
    repeating: Repeating | None = None

    @property
    def columns(self) -> tuple[str, ...] | None:
        """Columns that the definitions use; None if a function may use all."""
        definitions = [definition for _, definition in self.schedule]
        if any(isinstance(each, Function) for each in definitions):
            return None
        named = (column_of(each) for each in definitions)
        return tuple(dict.fromkeys(name for name in named if name is not None))

    @property
    def said(self) -> Definition | tuple[tuple[Moment | None, Definition], ...] | Repeating:
        """What the user wrote, as immutable values."""
        if self.repeating is not None:
            return self.repeating
        (first, definition), *later = self.schedule
        return definition if first is None and not later else self.schedule

    def check(self, schema: pa.Schema, stream: str) -> None:
        """Raise if the columns of a stream do not fit one of the definitions.

        Raises
        ------
        SchemaError
            If a column is missing, or of a type that does not fit.
        """
        for _, definition in self.schedule:
            check_schema(definition, schema, stream)

    def changes(self, time: pa.DataType, stream: str) -> npt.NDArray[Any]:
        """Return the times from which the second and each later definition hold.

        Parameters
        ----------
        time
            Type of the join's time: a timestamp in microseconds or nanoseconds, or a number.
        stream
            Name of the stream, for messages.

        Returns
        -------
        array
            In units of that type: int64, or float64 if time is a float. A moment without a time
            zone is in UTC if time has one.

        Raises
        ------
        SchemaError
            If the schedule has another kind of time.
        """
        numbers = [
            _to_units(moment, time, f'time in the schedule of stream "{stream}"')
            for moment, _ in self.schedule
            if moment is not None
        ]
        del numbers[: len(numbers) - len(self.schedule) + 1]  # the first one's own time, if any
        return np.array(numbers, np.float64 if pa.types.is_floating(time) else np.int64)

    def turns(self, time: pa.DataType, stream: str) -> Turns:
        """Return when which definition holds, in units of the join's time; see `changes`."""
        if self.repeating is None:
            return Turns(self.changes(time, stream))
        kind = np.float64 if pa.types.is_floating(time) else np.int64
        units = None
        if pa.types.is_timestamp(time):
            units = 1_000_000_000 if time.unit == "ns" else 1_000_000
        why = f'time columns are {"timestamps" if units else "numbers"}, also of stream "{stream}"'
        name = "time in the schedule of MaxImportance"
        places = [to_units(each, units, name, why) for each in self.repeating.offsets]
        every = to_units(self.repeating.every, units, "every of MaxImportance", why)
        return Turns(np.array(places, kind), kind(every).item())

    def at(self, time: float, changes: npt.NDArray[Any]) -> int:
        """Return the index of the definition that holds at a time, by `changes`.

        Examples
        --------
        >>> day = importance_of([(None, 1), (10, 2), (20, 3)], "importance")
        >>> changes = day.changes(pa.int64(), "news")
        >>> [day.at(time, changes) for time in (-5, 9, 10, 25)]
        [0, 0, 1, 2]
        """
        return int(np.searchsorted(changes, time, side="right"))

    def evaluate(self, index: int, table: pa.Table, stream: str) -> Floats:
        """Compute the importance of each row by the definition with that index; NaN if it has none.

        Raises
        ------
        SchemaError
            If a function does not return one number for each row.
        """
        return score(self.schedule[index][1], table, stream)


def importance_of(given: object, owner: str) -> Importance:
    """Return the `Importance` that the user defined.

    Parameters
    ----------
    given
        One definition, or a schedule: a list of times and definitions.
    owner
        Its name in messages: ``'importance of stream "cnn"'``.

    Raises
    ------
    SpecificationError
        If a definition is wrong, or the schedule is not in order or not of one kind of time.

    Examples
    --------
    >>> importance_of("price", "importance").columns
    ('price',)
    >>> importance_of([(None, "votes"), ("2026-01-01 18:00", "views")], "importance").columns
    ('votes', 'views')
    """
    if isinstance(given, Repeating):
        return Importance(given.schedule, given)
    if not isinstance(given, Sequence) or isinstance(given, str):
        return Importance(((None, definition_of(given, owner)),))
    name = f"schedule of the {owner}"
    if not given or not all(isinstance(each, tuple | list) and len(each) == 2 for each in given):
        requirement = "a list of one or more (time, definition)"
        raise SpecificationError(must(name, requirement, given, _EXAMPLE))
    schedule = tuple(
        (_checked(moment, name, first=not place), definition_of(definition, owner))
        for place, (moment, definition) in enumerate(given)
    )
    timed = [(moment, _comparable(moment)) for moment, _ in schedule if moment is not None]
    if len({_kind(time) for _, time in timed}) > 1:
        requirement = "all numbers, all times with a time zone, or all times without"
        hint = "use one kind throughout"
        raise SpecificationError(must(f"times in the {name}", requirement, given, hint))
    for (_, earlier), (moment, later) in itertools.pairwise(timed):
        if not earlier < later:  # type: ignore[operator]  # of one kind, as checked above
            requirement = "later than the one before it"
            hint = "put the definitions in order of time, each time once"
            raise SpecificationError(must(f"each time in the {name}", requirement, moment, hint))
    return Importance(schedule)


def _checked(moment: object, name: str, *, first: bool) -> Moment | None:
    """Return a time as a plain Python value; raise if it is not one."""
    if moment is None and first:
        return None
    if isinstance(moment, datetime):
        # pandas.Timestamp is a datetime too, but its repr is not that of a datetime.
        return moment if type(moment) is datetime else _plain_datetime(moment)
    hint = f"{_EXAMPLE}; only the first time may be None"
    if isinstance(moment, str):
        try:
            datetime.fromisoformat(moment)
        except ValueError:
            hint = 'give the date and the time, as in "2026-01-01 18:00", or a datetime'
        else:
            return str(moment)
    number = finite(moment)
    if number is None or abs(number) >= _FURTHEST:
        requirement = "a date and time, or a number below 2**61 if time is numeric"
        raise SpecificationError(must(f"time in the {name}", requirement, moment, hint))
    return number


def _plain_datetime(moment: datetime) -> datetime:
    return datetime.combine(moment.date(), moment.time(), moment.tzinfo)


def _comparable(moment: Moment) -> datetime | int | float:
    return datetime.fromisoformat(moment) if isinstance(moment, str) else moment


def _kind(time: datetime | float) -> str:
    if not isinstance(time, datetime):
        return "number"
    return "local" if time.utcoffset() is None else "instant"


def _to_units(moment: Moment, time: pa.DataType, name: str) -> int | float:
    comparable = _comparable(moment)
    if not pa.types.is_timestamp(time):
        if isinstance(comparable, datetime):
            hint = "give a number in the units of the time columns"
            requirement = "a plain number, as the time columns are numbers"
            raise SchemaError(must(name, requirement, moment, hint))
        return comparable if pa.types.is_floating(time) else math.ceil(comparable)
    if not isinstance(comparable, datetime):
        hint = 'write "2026-01-01 18:00" or a datetime'
        requirement = "a date and time, as the time columns are timestamps"
        raise SchemaError(must(name, requirement, moment, hint))
    if comparable.utcoffset() is None:
        comparable = comparable.replace(tzinfo=UTC)
    elif time.tz is None:
        requirement = "without a time zone, as the time columns have none"
        raise SchemaError(must(name, requirement, moment, "leave the time zone out"))
    since = comparable - datetime(1970, 1, 1, tzinfo=UTC)
    units = since // timedelta(microseconds=1) * (1_000 if time.unit == "ns" else 1)
    return max(-_FURTHEST, min(units, _FURTHEST))

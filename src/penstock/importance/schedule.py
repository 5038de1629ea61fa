"""The importance of one stream's tuples, which may be redefined as time goes by."""

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

from penstock.errors import SchemaError, SpecificationError, must
from penstock.importance.definitions import (
    Definition,
    DefinitionLike,
    Function,
    definition_of,
    finite,
)
from penstock.importance.scoring import check_schema, column_of, score

if TYPE_CHECKING:
    from penstock.importance.results import Floats

__all__ = ["Importance", "ImportanceLike", "Moment", "importance_of"]

Moment: TypeAlias = str | datetime | int | float
ImportanceLike: TypeAlias = DefinitionLike | Sequence[tuple[Moment | None, DefinitionLike]]

# Times of a join end there; so a change beyond it never comes.
_FURTHEST = 2**61
_EXAMPLE = 'write [(None, "a column"), ("2026-01-01 18:00", "another")], say'


@dataclass(frozen=True)
class Importance:
    """What makes a tuple of one stream important, and from when.

    Attributes
    ----------
    schedule
        Each definition with the time from which it holds, ascending; the first also holds before.
    """

    schedule: tuple[tuple[Moment | None, Definition], ...]

    @property
    def columns(self) -> tuple[str, ...] | None:
        """Columns that any of the definitions looks at; None if a function may look at all."""
        definitions = [definition for _, definition in self.schedule]
        if any(isinstance(each, Function) for each in definitions):
            return None
        named = (column_of(each) for each in definitions)
        return tuple(dict.fromkeys(name for name in named if name is not None))

    @property
    def said(self) -> Definition | tuple[tuple[Moment | None, Definition], ...]:
        """What the user said, in a form that does not change."""
        (first, definition), *later = self.schedule
        return definition if first is None and not later else self.schedule

    def check(self, schema: pa.Schema, stream: str) -> None:
        """Refuse a stream whose columns do not fit, for any of the definitions.

        Raises
        ------
        SchemaError
            If a column is missing, or of a type that does not fit.
        """
        for _, definition in self.schedule:
            check_schema(definition, schema, stream)

    def changes(self, time: pa.DataType, stream: str) -> npt.NDArray[Any]:
        """Give the times at which the second and each later definition takes over.

        Parameters
        ----------
        time
            Type of the join's time: a timestamp in microseconds or nanoseconds, or a number.
        stream
            Name of the stream, for messages.

        Returns
        -------
        array
            In units of that type: int64, or float64 if that is what time is. A moment without a
            time zone is in UTC where time has one.

        Raises
        ------
        SchemaError
            If the schedule is of another kind of time.
        """
        numbers = [
            _to_units(moment, time, f'time in the schedule of stream "{stream}"')
            for moment, _ in self.schedule
            if moment is not None
        ]
        del numbers[: len(numbers) - len(self.schedule) + 1]  # the first one's own, if it has any
        return np.array(numbers, np.float64 if pa.types.is_floating(time) else np.int64)

    def at(self, time: float, changes: npt.NDArray[Any]) -> int:
        """Give the index of the definition that holds at a time, by `changes`.

        Examples
        --------
        >>> day = importance_of([(None, 1), (10, 2), (20, 3)], "importance")
        >>> changes = day.changes(pa.int64(), "news")
        >>> [day.at(time, changes) for time in (-5, 9, 10, 25)]
        [0, 0, 1, 2]
        """
        return int(np.searchsorted(changes, time, side="right"))

    def evaluate(self, index: int, table: pa.Table, stream: str) -> Floats:
        """Give the importance of each row, by the definition with that index.

        Raises
        ------
        SchemaError
            If a row has no importance of 0 or more.
        """
        return score(self.schedule[index][1], table, stream)


def importance_of(said: object, owner: str) -> Importance:
    """Make an importance of what the user said.

    Parameters
    ----------
    said
        One definition, or a schedule: a list of times and definitions.
    owner
        What the user calls it, for messages: ``'importance of stream "cnn"'``.

    Raises
    ------
    SpecificationError
        If a definition is none, or the schedule is not in order or not of one kind of time.

    Examples
    --------
    >>> importance_of("price", "importance").columns
    ('price',)
    >>> importance_of([(None, "votes"), ("2026-01-01 18:00", "views")], "importance").columns
    ('votes', 'views')
    """
    if not isinstance(said, Sequence) or isinstance(said, str):
        return Importance(((None, definition_of(said, owner)),))
    name = f"schedule of the {owner}"
    if not said or not all(isinstance(each, tuple | list) and len(each) == 2 for each in said):
        requirement = "a list of one or more (time, definition)"
        raise SpecificationError(must(name, requirement, said, _EXAMPLE))
    schedule = tuple(
        (_checked(moment, name, first=not place), definition_of(definition, owner))
        for place, (moment, definition) in enumerate(said)
    )
    timed = [(moment, _comparable(moment)) for moment, _ in schedule if moment is not None]
    if len({_kind(time) for _, time in timed}) > 1:
        requirement = "all numbers, all times with a time zone, or all times without"
        hint = "use one kind throughout"
        raise SpecificationError(must(f"times in the {name}", requirement, said, hint))
    for (_, earlier), (moment, later) in itertools.pairwise(timed):
        if not earlier < later:  # type: ignore[operator]  # of one kind, as was seen above
            requirement = "later than the one before it"
            hint = "put the definitions in order of time, each time once"
            raise SpecificationError(must(f"each time in the {name}", requirement, moment, hint))
    return Importance(schedule)


def _checked(moment: object, name: str, *, first: bool) -> Moment | None:
    """Give a time as Python's own; refuse what is none."""
    if moment is None and first:
        return None
    if isinstance(moment, datetime):
        # pandas.Timestamp is a datetime too, but its repr does not read back.
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

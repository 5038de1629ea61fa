"""A schedule of definitions that repeats: every day at 18:00, every hour for ten minutes."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from penstock.durations import DurationLike, check_duration, is_clock, to_units
from penstock.errors import SpecificationError, must
from penstock.importance.definitions import Definition, DefinitionLike, definition_of

__all__ = ["Repeating"]

Offset: TypeAlias = DurationLike

_TIME_OF_DAY = re.compile(r"([01]?[0-9]|2[0-3]):([0-5][0-9])(?::([0-5][0-9]))?")
_EXAMPLE = 'for example [("08:00", "views"), ("18:00", "votes")]'
_TIME, _EVERY = "time in the schedule of MaxImportance", "every of MaxImportance"
# Of a second, to compare durations exactly.
_FINE = 1_000_000_000


@dataclass(frozen=True, init=False, repr=False)
class Repeating:
    """Definitions of importance that take turns, in every period of stream time.

    Each holds from its time in the period until the next one's; the last also holds from the
    beginning of the next period until the first. Like all of a join it goes by stream time, never
    by the clock on the wall.

    Parameters
    ----------
    schedule
        Pairs of a time in the period and a definition. A time is ``"18:00"``, a duration from the
        beginning of the period, or a number if the time columns are numbers.
    every
        Length of the period: ``"1 day"``, or a number.
        Periods begin at midnight of 1970-01-01 (a Thursday), in UTC, or at 0, and on and on.

    Raises
    ------
    SpecificationError
        If times are not in order, or not within the period.

    Examples
    --------
    >>> Repeating([("08:00", "views"), ("18:00", "votes")], every="1 day")
    Repeating([('08:00', 'views'), ('18:00', 'votes')], every='1 day')
    """

    schedule: tuple[tuple[Offset, Definition], ...]
    every: DurationLike
    offsets: tuple[DurationLike, ...] = field(repr=False, compare=False)

    def __init__(
        self,
        schedule: Iterable[tuple[Offset, DefinitionLike]],
        *,
        every: DurationLike,
    ) -> None:
        check_duration(every, _EVERY)
        given = list(schedule)
        if not given or not all(_is_pair(each) for each in given):
            requirement = "a list of one or more (time, definition)"
            raise SpecificationError(
                must("schedule of MaxImportance", requirement, given, _EXAMPLE)
            )
        pairs = tuple((time, definition_of(each, "importance")) for time, each in given)
        offsets = tuple(_duration(time) for time, _ in pairs)
        object.__setattr__(self, "schedule", pairs)
        object.__setattr__(self, "every", every)
        object.__setattr__(self, "offsets", offsets)
        self._check()

    def __repr__(self) -> str:
        """Return the Python expression that makes it."""
        return f"Repeating({list(self.schedule)!r}, every={self.every!r})"

    def _check(self) -> None:
        kinds = {is_clock(each) for each in (self.every, *self.offsets) if each not in (0, 0.0)}
        if len(kinds) > 1:
            hint = 'write both as durations, ("18:00", "1 day"), or both as numbers'
            requirement = "of the kind of every"
            raise SpecificationError(
                must(
                    _TIME,
                    requirement,
                    self.schedule[-1][0],
                    hint,
                )
            )
        units = _FINE if is_clock(self.every) else None
        length = to_units(self.every, units, _EVERY, "")
        if length <= 0:
            hint = 'write every="1 day", for instance'
            raise SpecificationError(must(_EVERY, "longer than 0", self.every, hint))
        places = [to_units(each, units, _TIME, "") for each in self.offsets]
        for (time, _), place in zip(self.schedule, places, strict=True):
            if not 0 <= place < length:
                hint = "times are from the beginning of a period"
                requirement = f"at least 0 and below every={self.every!r}"
                raise SpecificationError(must(_TIME, requirement, time, hint))
        for (earlier, later), (time, _) in zip(
            itertools.pairwise(places), self.schedule[1:], strict=True
        ):
            if earlier >= later:
                hint = "put the definitions in order of time, each time once"
                requirement = "later than the one before it"
                raise SpecificationError(must(f"each {_TIME}", requirement, time, hint))


def _is_pair(each: object) -> bool:
    return isinstance(each, tuple | list) and len(each) == 2


def _duration(time: object) -> DurationLike:
    """Return a time of day as a duration from midnight, and a duration as it is."""
    if isinstance(time, str) and (parts := _TIME_OF_DAY.fullmatch(time.strip())):
        hours, minutes, seconds = (int(each or 0) for each in parts.groups())
        return f"{3600 * hours + 60 * minutes + seconds} seconds"
    if time is None or (isinstance(time, Sequence) and not isinstance(time, str)):
        requirement = "a time of day, a duration, or a number"
        raise SpecificationError(must(_TIME, requirement, time, _EXAMPLE))
    check_duration(time, _TIME)
    return time  # type: ignore[return-value]  # as checked

"""Durations: as users write them, and in whole units of a time column.

A duration is a clock duration (``"10 minutes"``, ``timedelta(minutes=10)``) for a timestamp
column, or a plain number for a numeric time column. A plain 0 is allowed for both.
"""

from __future__ import annotations

import math
import re
from datetime import timedelta
from fractions import Fraction
from typing import TypeAlias, overload

from penstock.errors import SchemaError, SpecificationError, must

__all__ = ["DurationLike", "check_duration", "is_clock", "to_units"]

DurationLike: TypeAlias = str | int | float | timedelta

# A time and a few durations added to it must not overflow an int64.
_LIMIT = 2**61

_NAMES_OF_UNITS: tuple[tuple[Fraction, str], ...] = (
    (Fraction(604_800), "weeks week w"),
    (Fraction(86_400), "days day d"),
    (Fraction(3_600), "hours hour hrs hr h"),
    (Fraction(60), "minutes minute mins min m"),
    (Fraction(1), "seconds second secs sec s"),
    (Fraction(1, 10**3), "milliseconds millisecond millis msec ms"),
    # The micro sign and the Greek letter mu look alike and are both in use.
    (Fraction(1, 10**6), "microseconds microsecond micros usec us \u00b5s \u03bcs"),
    (Fraction(1, 10**9), "nanoseconds nanosecond nanos nsec ns"),
)
_SECONDS = {name: size for size, names in _NAMES_OF_UNITS for name in names.split()}
_UNITS = ", ".join(names.split()[0] for _, names in _NAMES_OF_UNITS)

# Thirty digits are more than any clock has; int() refuses more than 4,300.
_PART = r"\s*([0-9]{1,30}(?:\.[0-9]{1,30})?)\s*([A-Za-z\u00b5\u03bc]+)"
_PARTS = re.compile(rf"(?:{_PART})+\s*")
_EACH_PART = re.compile(_PART)

_REQUIREMENT = "a duration of zero or more"
_EXAMPLES = 'write it as "10 minutes" or "1 hour 30 minutes", or as a timedelta'


def check_duration(value: object, name: str) -> None:
    """Raise if a value is not a duration of zero or more.

    Parameters
    ----------
    value
        The value to check.
    name
        The name of the setting, for the message.

    Raises
    ------
    SpecificationError
        If it is no duration, negative, not finite, or a number of 2**61 or more.

    Examples
    --------
    >>> check_duration("1 hour 30 minutes", "window")
    >>> check_duration("10", "window")
    Traceback (most recent call last):
    ...
    penstock.errors.SpecificationError: window must be a duration of zero or more; \
got '10'; add a unit, as in "10 seconds", or give a plain number if time is numeric
    """
    _read(value, name)


def is_clock(value: DurationLike) -> bool:
    """Return whether a duration is a clock duration, not a plain number.

    Examples
    --------
    >>> is_clock("0 seconds"), is_clock(0)
    (True, False)
    """
    return isinstance(value, str | timedelta)


@overload
def to_units(value: DurationLike, units_per_second: int, name: str, why: str) -> int: ...
@overload
def to_units(
    value: DurationLike, units_per_second: int | None, name: str, why: str
) -> int | float: ...
def to_units(value: DurationLike, units_per_second: int | None, name: str, why: str) -> int | float:
    """Convert a duration to the units of a time column, exactly.

    Parameters
    ----------
    value
        The duration.
    units_per_second
        Units of the timestamp in a second, such as 10**6; None if time is numeric.
    name
        The name of the setting, for the message: ``'window of stream "bids"'``.
    why
        The reason for the kind of time: ``'its time column "at" is a timestamp'``.

    Returns
    -------
    int | float
        For timestamps a whole number below 2**61. A fraction of a unit is rounded down. That
        changes no comparison: a whole number is at most 1.5 if and only if it is at most 1.
        For numeric time the number as it was given.

    Raises
    ------
    SchemaError
        If it is a number and time is a timestamp, or a clock duration and time is numeric.
    SpecificationError
        If it is no duration, or too long.

    Examples
    --------
    >>> to_units("1.5 hours", 10**6, "window", 'time column "at" is a timestamp')
    5400000000
    >>> to_units("999 ns", 10**6, "window", 'time column "at" is a timestamp')
    0
    >>> to_units(2.5, None, "window", 'time column "position" is a number')
    2.5
    """
    duration = _read(value, name)
    if units_per_second is None:
        if isinstance(duration, Fraction):
            hint = "give a number in the units of that column"
            raise SchemaError(must(name, f"a plain number, as {why}", value, hint))
        return duration
    if not isinstance(duration, Fraction):
        if duration != 0:
            raise SchemaError(must(name, f"a clock duration, as {why}", value, _EXAMPLES))
        return 0
    units = math.floor(duration * units_per_second)
    if units >= _LIMIT:
        requirement = f"below 2**61 units of 1/{units_per_second} second"
        raise SpecificationError(must(name, requirement, value, "give a shorter duration"))
    return units


def _read(value: object, name: str) -> Fraction | int | float:
    """Return the seconds of a clock duration as a Fraction; a plain number as it is."""
    if isinstance(value, str):
        return _read_words(value, name)
    if isinstance(value, timedelta):
        if value < timedelta(0):
            raise _refusal(value, name, "give a duration that is not negative")
        # pandas.Timedelta is a timedelta with nanoseconds.
        nanoseconds = 1_000 * value.microseconds + getattr(value, "nanoseconds", 0)
        return 86_400 * value.days + value.seconds + Fraction(nanoseconds, 10**9)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _refusal(value, name, f"{_EXAMPLES}, or as a number if time is numeric")
    if isinstance(value, int):
        if value >= _LIMIT:
            raise SpecificationError(must(name, "below 2**61", value, "give a shorter duration"))
    elif not math.isfinite(value):
        raise _refusal(value, name, "give a number that is finite")
    if value < 0:
        raise _refusal(value, name, "give a duration that is not negative")
    return value


def _read_words(text: str, name: str) -> Fraction:
    if not _PARTS.fullmatch(text):
        if text.strip().startswith("-"):
            hint = "give a duration that is not negative"
        elif re.fullmatch(r"[0-9.]+", text.strip()):
            hint = (
                f'add a unit, as in "{text.strip()} seconds", '
                "or give a plain number if time is numeric"
            )
        else:
            hint = _EXAMPLES
        raise _refusal(text, name, hint)
    seconds = Fraction(0)
    for number, unit in _EACH_PART.findall(text):
        # "M" could be a month or a minute, so short forms must be in the right case.
        size = _SECONDS.get(unit if len(unit) <= 2 else unit.lower())
        if size is None:
            raise _refusal(text, name, f'"{unit}" is not a unit of time; use {_UNITS}')
        seconds += Fraction(number) * size
    return seconds


def _refusal(value: object, name: str, hint: str) -> SpecificationError:
    return SpecificationError(must(name, _REQUIREMENT, value, hint))

from __future__ import annotations

import math
from datetime import timedelta
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.durations import DurationLike, check_duration, is_clock, to_units
from penstock.errors import SchemaError, SpecificationError

NAME = 'window of stream "bids"'
TIMESTAMP = 'its time column "at" is a timestamp'
NUMBER = 'its time column "position" is a number'

SECONDS = {
    "weeks": Fraction(604_800),
    "days": Fraction(86_400),
    "hours": Fraction(3_600),
    "minutes": Fraction(60),
    "seconds": Fraction(1),
    "milliseconds": Fraction(1, 10**3),
    "microseconds": Fraction(1, 10**6),
    "nanoseconds": Fraction(1, 10**9),
}


@pytest.mark.parametrize(
    ("value", "nanoseconds"),
    [
        ("7 days", 7 * 86_400 * 10**9),
        ("0 seconds", 0),
        ("10 minutes", 600 * 10**9),
        ("1 hour 30 minutes", 5_400 * 10**9),
        ("1h30m", 5_400 * 10**9),
        ("90 s", 90 * 10**9),
        ("250 ms", 250 * 10**6),
        ("1.5 hours", 5_400 * 10**9),
        ("0.1 s", 10**8),
        ("  2 Weeks ", 2 * 604_800 * 10**9),
        ("1 w 1 d 1 hr 1 min 1 sec", (604_800 + 86_400 + 3_600 + 60 + 1) * 10**9),
        ("3 us", 3_000),
        ("3 \u00b5s", 3_000),
        ("3 \u03bcs", 3_000),
        ("5 ns", 5),
        (timedelta(days=1, microseconds=1), 86_400 * 10**9 + 1_000),
        (timedelta(0), 0),
        (0, 0),
        (0.0, 0),
    ],
)
def test_clock_durations_are_read_exactly(value: DurationLike, nanoseconds: int) -> None:
    units = to_units(value, 10**9, NAME, TIMESTAMP)
    assert units == nanoseconds
    assert type(units) is int


@pytest.mark.parametrize("unit", SECONDS)
def test_every_unit_has_a_singular(unit: str) -> None:
    singular = to_units(f"1 {unit.removesuffix('s')}", 10**9, NAME, TIMESTAMP)
    assert singular == to_units(f"1 {unit}", 10**9, NAME, TIMESTAMP) == SECONDS[unit] * 10**9


def test_what_is_finer_than_the_unit_is_rounded_down() -> None:
    assert to_units("1999 ns", 10**6, NAME, TIMESTAMP) == 1
    assert to_units("999 ms", 1, NAME, TIMESTAMP) == 0


def test_nanoseconds_of_a_finer_timedelta_count() -> None:
    class Finer(timedelta):  # as pandas.Timedelta
        nanoseconds = 7

    assert to_units(Finer(microseconds=1), 10**9, NAME, TIMESTAMP) == 1_007


@pytest.mark.parametrize("value", [0, 3, 2.5, 2**61 - 1, 1e300])
def test_plain_numbers_are_left_alone(value: float) -> None:
    units = to_units(value, None, NAME, NUMBER)
    assert units == value
    assert type(units) is type(value)


PARTS = st.lists(
    st.tuples(
        st.integers(0, 10**6),
        st.text("0123456789", max_size=12),
        st.sampled_from(sorted(SECONDS)),
        st.sampled_from(["", " "]),
    ),
    min_size=1,
    max_size=4,
)


@given(parts=PARTS, units_per_second=st.sampled_from([1, 10**3, 10**6]))
def test_words_are_worth_their_fraction(
    parts: list[tuple[int, str, str, str]], units_per_second: int
) -> None:
    numbers = [f"{whole}.{digits}" if digits else str(whole) for whole, digits, _, _ in parts]
    text = " ".join(f"{n}{gap}{unit}" for n, (_, _, unit, gap) in zip(numbers, parts, strict=True))
    exact = sum(
        Fraction(n) * SECONDS[unit] for n, (_, _, unit, _) in zip(numbers, parts, strict=True)
    )
    assert to_units(text, units_per_second, NAME, TIMESTAMP) == exact * units_per_second // 1


@given(
    value=st.timedeltas(timedelta(0), timedelta(days=20_000)),
    units_per_second=st.sampled_from([1, 10**3, 10**6, 10**9]),
)
def test_timedeltas_are_worth_their_fraction(value: timedelta, units_per_second: int) -> None:
    exact = Fraction(value // timedelta(microseconds=1), 10**6) * units_per_second
    assert to_units(value, units_per_second, NAME, TIMESTAMP) == exact // 1


WRITE = 'write it as "10 minutes" or "1 hour 30 minutes", or as a timedelta'
OR_NUMBER = f"{WRITE}, or as a number if time is numeric"
POSITIVE = "give a duration that is not negative"
FINITE = "give a number that is finite"
UNITS = "use weeks, days, hours, minutes, seconds, milliseconds, microseconds, nanoseconds"


@pytest.mark.parametrize(
    ("value", "hint"),
    [
        ("", WRITE),
        ("   ", WRITE),
        ("soon", WRITE),
        ("1 hour, 30 minutes", WRITE),
        ("9" * 31 + " s", WRITE),
        ("10 s 5", WRITE),
        ("10", 'add a unit, as in "10 seconds", or give a plain number if time is numeric'),
        ("-5 minutes", POSITIVE),
        ("3 months", f'"months" is not a unit of time; {UNITS}'),
        ("3 M", f'"M" is not a unit of time; {UNITS}'),
        ("1e3 s", f'"e" is not a unit of time; {UNITS}'),
        (timedelta(microseconds=-1), POSITIVE),
        (-1, POSITIVE),
        (-0.5, POSITIVE),
        (math.nan, FINITE),
        (math.inf, FINITE),
        (-math.inf, FINITE),
        (True, OR_NUMBER),
        (None, OR_NUMBER),
        (["10 minutes"], OR_NUMBER),
        (b"10 minutes", OR_NUMBER),
    ],
)
def test_what_is_no_duration_is_refused(value: object, hint: str) -> None:
    with pytest.raises(SpecificationError) as caught:
        check_duration(value, NAME)
    assert str(caught.value) == (
        f"{NAME} must be a duration of zero or more; got {value!r}; {hint}"
    )


def test_numbers_that_would_overflow_are_refused() -> None:
    with pytest.raises(SpecificationError) as caught:
        check_duration(2**61, NAME)
    assert str(caught.value) == (
        f"{NAME} must be below 2**61; got {2**61}; give a shorter duration"
    )


def test_clock_durations_that_would_overflow_are_refused() -> None:
    most = f"{2**61 - 1} ns"
    assert to_units(most, 10**9, NAME, TIMESTAMP) == 2**61 - 1
    with pytest.raises(SpecificationError) as caught:
        to_units(f"{2**61} ns", 10**9, NAME, TIMESTAMP)
    assert str(caught.value) == (
        f"{NAME} must be below 2**61 units of 1/1000000000 second; got '{2**61} ns'; "
        "give a shorter duration"
    )


@pytest.mark.parametrize("value", ["10 minutes", "0 seconds", timedelta(minutes=10)])
def test_a_clock_duration_does_not_go_with_numeric_time(value: DurationLike) -> None:
    with pytest.raises(SchemaError) as caught:
        to_units(value, None, NAME, NUMBER)
    assert str(caught.value) == (
        f"{NAME} must be a plain number, as {NUMBER}; got {value!r}; "
        "give a number in the units of that column"
    )


@pytest.mark.parametrize("value", [10, 2.5])
def test_a_number_does_not_go_with_timestamps(value: float) -> None:
    with pytest.raises(SchemaError) as caught:
        to_units(value, 10**6, NAME, TIMESTAMP)
    assert str(caught.value) == (
        f"{NAME} must be a clock duration, as {TIMESTAMP}; got {value}; {WRITE}"
    )


def test_to_units_checks_too() -> None:
    with pytest.raises(SpecificationError, match="must be a duration of zero or more"):
        to_units("soon", None, NAME, NUMBER)


def test_kinds_are_told_apart() -> None:
    assert is_clock("1 s")
    assert is_clock(timedelta(1))
    assert not is_clock(1)
    assert not is_clock(0.5)

"""Importance that is redefined as time goes by."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pyarrow as pa
import pytest

import penstock as ps
from tests.importance.support import (
    NAN,
    NEWS,
    made,
    refusal,
)

CLOCK = [(None, 1), ("2026-01-01 18:00", 2), (dt.datetime(2026, 1, 2), 3)]  # noqa: DTZ001


def at(said: object, kind: pa.DataType, times: list[Any]) -> list[int]:
    importance = made(said)
    changes = importance.changes(kind, "cnn")
    return [importance.at(time, changes) for time in times]


def test_a_definition_holds_from_its_time_until_the_next() -> None:
    said = [(None, "a"), (10, "b"), (12.5, "c")]
    assert at(said, pa.int64(), [-(2**60), 9, 10, 12, 13, 2**60]) == [0, 0, 1, 1, 2, 2]
    assert at(said, pa.float64(), [9.9, 10.0, 12.4, 12.5]) == [0, 1, 1, 2]
    assert made(said).columns == ("a", "b", "c")


def test_the_first_definition_also_holds_before_its_time() -> None:
    assert at([(5, "a"), (10, "b")], pa.int64(), [0, 5, 10]) == [0, 0, 1]
    assert at([(5, "a")], pa.int64(), [0, 5]) == [0, 0]
    assert at("a", pa.timestamp("us"), [0, 5]) == [0, 0]


@pytest.mark.parametrize(("unit", "second"), [("us", 10**6), ("ns", 10**9)])
@pytest.mark.parametrize("zone", [None, "UTC", "Europe/Berlin"])
def test_a_time_of_the_clock_is_in_utc_unless_it_says_otherwise(
    unit: str, second: int, zone: str | None
) -> None:
    evening, night = 1_767_290_400 * second, 1_767_312_000 * second
    kind = pa.timestamp(unit, zone)
    assert made(CLOCK).changes(kind, "cnn").tolist() == [evening, night]
    assert at(CLOCK, kind, [evening - 1, evening, night - 1, night]) == [0, 1, 1, 2]
    if zone:
        ahead = [(None, 1), ("2026-01-01T19:00+01:00", 2)]
        assert made(ahead).changes(kind, "cnn").tolist() == [evening]


def test_a_change_that_no_clock_can_show_never_comes() -> None:
    said = [(None, 1), ("9999-12-31", 2)]
    assert made(said).changes(pa.timestamp("ns"), "cnn").tolist() == [2**61]


def test_rows_are_scored_by_the_definition_that_holds() -> None:
    morning = ps.Lookup("category", {"politics": 90}, default=1)
    evening = ps.Lookup("category", {"sports": 90}, default=1)
    day = made([(None, morning), ("2026-01-01 18:00", evening), ("2026-01-02", "votes")])
    assert day.evaluate(0, NEWS, "cnn").tolist() == [90, 1, 1]
    assert day.evaluate(1, NEWS, "cnn").tolist() == [1, 90, 1]
    assert day.columns == ("category", "votes")
    day.check(NEWS.schema, "cnn")
    with pytest.raises(ps.SchemaError, match='must have a column "votes"'):
        day.check(NEWS.drop(["votes"]).schema, "cnn")


SCHEDULE = 'schedule of the importance of stream "cnn"'
EXAMPLE = 'for example [(None, "a column"), ("2026-01-01 18:00", "another")]'


@pytest.mark.parametrize("said", [[], ["a", "b"], [(1, "a", 2)], [5], ()], ids=repr)
def test_a_schedule_is_a_list_of_pairs(said: object) -> None:
    requirement = "a list of one or more (time, definition)"
    assert refusal(made, said) == f"{SCHEDULE} must be {requirement}; got {said!r}; {EXAMPLE}"


@pytest.mark.parametrize(
    ("times", "wrong"),
    [
        ([10, 5], 5),
        ([None, 5, 5], 5),
        (["2026-01-02", "2026-01-01 18:00"], "2026-01-01 18:00"),
        (["2026-01-01T12:00Z", "2026-01-01T12:30+01:00"], "2026-01-01T12:30+01:00"),
    ],
)
def test_a_schedule_out_of_order_is_refused(times: list[Any], wrong: object) -> None:
    assert refusal(made, [(time, 1) for time in times]) == (
        f"each time in the {SCHEDULE} must be later than the one before it; got {wrong!r}; "
        "put the definitions in order of time, each time once"
    )


@pytest.mark.parametrize("times", [[1, "2026-01-01"], ["2026-01-01", "2026-01-02T00:00Z"]])
def test_a_schedule_is_of_one_kind_of_time(times: list[Any]) -> None:
    words = refusal(made, [(time, 1) for time in times])
    requirement = "all numbers, all times with a time zone, or all times without"
    assert words.startswith(f"times in the {SCHEDULE} must be {requirement}; got ")
    assert words.endswith("use one kind throughout")


@pytest.mark.parametrize("time", ["18:00", "tomorrow", "", True, NAN, 2**61, None, dt.date.max])
def test_a_time_is_a_time(time: object) -> None:
    words = refusal(made, [(None, 1), (time, 2)])
    requirement = "a date and time, or a number below 2**61 if time is numeric"
    assert words.startswith(f"time in the {SCHEDULE} must be {requirement}; got {time!r}; ")
    if isinstance(time, str):
        assert words.endswith('give the date and the time, as in "2026-01-01 18:00", or a datetime')


@pytest.mark.parametrize(
    ("said", "kind", "expected"),
    [
        (5, pa.timestamp("us"), "a date and time, as the time columns are timestamps; got 5"),
        ("2026-01-01", pa.int64(), "a plain number, as the time columns are numbers; got"),
        (
            "2026-01-01T12:00Z",
            pa.timestamp("us"),
            "without a time zone, as the time columns have none; got '2026-01-01T12:00Z'; leave",
        ),
    ],
)
def test_a_schedule_goes_with_the_time_columns(
    said: object, kind: pa.DataType, expected: str
) -> None:
    for schedule in ([(said, 1)], [(None, 1), (said, 2)]):
        with pytest.raises(ps.SchemaError) as caught:
            made(schedule).changes(kind, "cnn")
        assert f'time in the schedule of stream "cnn" must be {expected}' in str(caught.value)

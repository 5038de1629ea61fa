"""Rows that cannot take part: late, without a usable time, too far ahead, without a key."""

from __future__ import annotations

import pyarrow as pa
import pytest

import penstock as ps
from penstock.engine.operator import Operator
from penstock.engine.plan import bind


def make_operator(*, max_ahead: float | None = 10, lateness: int = 0) -> Operator:
    stream = ps.Stream(time="t", window=100, lateness=lateness, max_ahead=max_ahead)
    join = ps.Join(streams={"a": stream, "b": ps.Stream(time="t", window=100)}, on=ps.Equal("k"))
    schema = pa.schema([("t", pa.int64()), ("k", pa.int64())])
    return Operator(bind(join, {"a": schema, "b": schema}))


def feed(operator: Operator, *batches: list[int | None]) -> list[int]:
    """Pass batches of times to stream a; return how many rows were set aside after each."""
    counts = []
    for times in batches:
        keys = pa.array([1] * len(times), pa.int64())
        operator.process({"a": pa.table({"t": pa.array(times, pa.int64()), "k": keys})})
        counts.append(operator.metrics().streams["a"].far_ahead)
    return counts


def clock(operator: Operator) -> int:
    return int(operator.store.memory.streams["clock"][0])


def test_a_wrong_clock_is_set_aside() -> None:
    operator = make_operator()
    assert feed(operator, [1, 2, 1000, 3]) == [1]
    assert clock(operator) == 3
    assert operator.metrics().streams["a"].held == 3


def test_a_row_exactly_as_far_ahead_as_allowed_is_accepted() -> None:
    operator = make_operator()
    assert feed(operator, [0, 10], [20]) == [0, 0]
    assert feed(operator, [31]) == [1]
    assert clock(operator) == 20


def test_without_a_limit_every_time_is_accepted() -> None:
    operator = make_operator(max_ahead=None)
    assert feed(operator, [1, 2, 3, 1000]) == [0]
    assert clock(operator) == 1000


def test_rows_may_follow_each_other_to_any_distance() -> None:
    operator = make_operator()
    assert feed(operator, list(range(0, 1000, 10))) == [0]
    assert clock(operator) == 990


def test_a_wrong_clock_in_every_batch_is_set_aside_every_time() -> None:
    operator = make_operator()
    batches: list[list[int | None]] = [[t, t + 1, t + 2, 5000 + t] for t in range(0, 60, 3)]
    assert feed(operator, *batches) == list(range(1, 21))
    assert clock(operator) == 59


def test_a_wrong_clock_alone_in_its_batch_is_set_aside() -> None:
    operator = make_operator()
    assert feed(operator, [1, 2, 3], [1000], [4, 5, 6], [1000], [7]) == [0, 1, 1, 2, 2]
    assert clock(operator) == 7


def test_a_stream_that_has_moved_on_is_followed_at_once_if_it_shows_more_rows_than_before() -> None:
    operator = make_operator()
    assert feed(operator, [1, 2, 3], [1000, 1001, 1002, 1003]) == [0, 0]
    assert clock(operator) == 1003


def test_a_stream_that_has_moved_on_is_followed_once_its_rows_outnumber_the_last_batch() -> None:
    operator = make_operator()
    assert feed(operator, [1, 2, 3], [1000, 1001], [1002], [1003, 1004]) == [0, 2, 3, 3]
    assert clock(operator) == 1004
    assert feed(operator, [1005]) == [3]
    assert clock(operator) == 1005


def test_a_first_batch_with_a_row_from_the_far_past_is_accepted() -> None:
    operator = make_operator()
    assert feed(operator, [1, 1000, 1001, 1002]) == [0]
    assert clock(operator) == 1002


def test_a_first_batch_with_a_row_from_the_far_future_is_accepted_without_it() -> None:
    operator = make_operator()
    assert feed(operator, [1000, 1001, 1002, 5000]) == [1]
    assert clock(operator) == 1002


def test_after_several_gaps_the_stream_is_where_most_of_its_rows_are() -> None:
    operator = make_operator()
    assert feed(operator, [1, 500, 501, 502, 503, 9000]) == [1]
    assert clock(operator) == 503


def test_a_stream_is_never_further_ahead_than_its_own_rows() -> None:
    operator = make_operator()
    feed(operator, [1, 2, 3], [2000], [])
    assert feed(operator, [4], [5]) == [1, 1]
    assert clock(operator) == 5
    counters = operator.counters[0]
    assert (counters.accepted, counters.ahead) == (1, 0)


@pytest.mark.parametrize("lateness", [0, 60])
def test_an_old_row_does_not_make_the_others_seem_far_ahead(lateness: int) -> None:
    operator = make_operator(lateness=lateness)
    feed(operator, list(range(90, 101)))
    assert feed(operator, [50, 101, 102]) == [0]
    assert clock(operator) == 102


@pytest.mark.parametrize(("lateness", "late"), [(0, 2), (1, 1), (2, 0)])
def test_rows_are_late_beyond_the_lateness_of_their_stream(lateness: int, late: int) -> None:
    operator = make_operator(max_ahead=None, lateness=lateness)
    feed(operator, [10, 9, 8])  # in one batch nothing is late
    feed(operator, [8, 9, 10])
    assert operator.metrics().streams["a"].late == late


def test_times_that_cannot_be_used_are_counted() -> None:
    operator = make_operator()
    feed(operator, [None, 1, 2**61, -(2**61), 2**61 - 1, 2])
    stream = operator.metrics().streams["a"]
    assert (stream.bad_times, stream.far_ahead, stream.held) == (3, 1, 2)


def test_rows_without_a_key_move_the_clock() -> None:
    operator = make_operator()
    nulls = pa.nulls(2, pa.int64())
    operator.process({"a": pa.table({"t": [1, 7], "k": nulls})})
    stream = operator.metrics().streams["a"]
    assert (stream.null_keys, stream.held, clock(operator)) == (2, 0, 7)

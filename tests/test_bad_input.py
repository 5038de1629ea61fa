"""Bad input is counted, or refused with an error in the user's terms."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import penstock as ps

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.predicates import Predicate

NAN, INFINITY = float("nan"), float("inf")
BOTH: dict[str, Any] = {"asks": "id", "bids": "id"}
EVERY_PREDICATE: tuple[Predicate, ...] = (
    ps.Equal("id"),
    ps.Within(1, **BOTH),
    ps.Band(low=-1, high=1, **BOTH),
    ps.Compare("<=", **BOTH),
    ps.Compare("=", **BOTH),
    ps.Compare("!=", **BOTH),
)

# The same classes, without types, so that wrong arguments pass the type checker.
budget: Callable[..., ps.Budget] = ps.Budget
stream: Callable[..., ps.Stream] = ps.Stream
make_join: Callable[..., ps.Join] = ps.Join


def join_of(on: Predicate | None = None, /, window: object = 10, **settings: object) -> ps.Join:
    """Join asks and bids; `settings` are those of `Join` and of both streams."""
    of_stream = {name: settings.pop(name) for name in ("lateness", "max_ahead") if name in settings}
    each = stream(time="t", window=window, **of_stream)
    return make_join(streams={"asks": each, "bids": each}, on=on or ps.Equal("id"), **settings)


def table(times: list[Any], ids: list[Any] | pa.Array | None = None) -> pa.Table:
    return pa.table({"t": times, "id": [1] * len(times) if ids is None else ids})


def clock(*seconds: int | None) -> pa.Table:
    return pa.table({"t": pa.array(seconds, pa.timestamp("s")), "id": [1] * len(seconds)})


ONE = table([1])


def schema_error(join: ps.Join, tables: dict[str, pa.Table]) -> str:
    with pytest.raises(ps.SchemaError) as caught:
        join.replay(tables)
    return str(caught.value)


def specification_error(call: Callable[..., object], *args: object, **settings: object) -> str:
    with pytest.raises(ps.SpecificationError) as caught:
        call(*args, **settings)
    return str(caught.value)


# --- Keys and values


@pytest.mark.parametrize("on", EVERY_PREDICATE, ids=str)
@pytest.mark.parametrize("bad", [None, NAN], ids=["null", "nan"])
def test_a_row_without_a_value_matches_nothing_not_even_an_equal_row(
    on: Predicate, bad: float | None
) -> None:
    asks, bids = table([1, 2, 3], [1.0, bad, bad]), table([1, 2], [bad, 1.0])
    replay = join_of(on).replay({"asks": asks, "bids": bids})
    assert replay.metrics.emitted == (0 if "!=" in str(on) else 1)
    assert [each.null_keys for each in replay.metrics.streams.values()] == [2, 1]
    assert [each.held for each in replay.metrics.streams.values()] == [1, 1]


def test_one_null_of_several_key_columns_is_enough_to_match_nothing() -> None:
    rows = pa.table({"t": [1, 1, 1], "id": [1, None, 1], "site": ["x", "x", None]})
    replay = join_of(ps.Equal("id", "site")).replay({"asks": rows, "bids": rows})
    assert replay.metrics.emitted == 1
    assert [each.null_keys for each in replay.metrics.streams.values()] == [2, 2]


def test_a_row_without_a_key_still_moves_the_clock() -> None:
    asks, bids = table([1, 100], [1, None]), table([1, 100], [1, None])
    metrics = join_of().replay({"asks": asks, "bids": bids}).metrics
    assert [each.expired for each in metrics.streams.values()] == [1, 1]


@pytest.mark.parametrize("on", EVERY_PREDICATE, ids=str)
def test_infinities_are_equal_and_in_order_but_within_no_distance(on: Predicate) -> None:
    rows = table([1, 1, 1], [-INFINITY, 0.0, INFINITY])
    replay = join_of(on).replay({"asks": rows, "bids": rows})
    near = isinstance(on, ps.Within | ps.Band)
    expected = {"<=": 6, "!=": 6}.get(getattr(on, "operator", ""), 1 if near else 3)
    assert replay.metrics.emitted == expected
    assert replay.metrics.streams["asks"].null_keys == (2 if near else 0)


# --- Times


@pytest.mark.parametrize(
    "bad",
    [None, NAN, INFINITY, -INFINITY, 2.0**61, -(2.0**61), 1e300],
    ids=str,
)
def test_a_time_that_no_clock_can_show_is_set_aside(bad: float | None) -> None:
    asks = pa.table({"t": pa.array([1.0, bad, 2.0]), "id": [1, 1, 1]})
    metrics = join_of().replay({"asks": asks, "bids": table([1.5])}).metrics
    assert metrics.streams["asks"].bad_times == 1
    assert metrics.emitted == 2


@pytest.mark.parametrize("bad", [None, 2**61, 2**63 - 1, -(2**61), -(2**63)])
def test_a_whole_time_that_no_clock_can_show_is_set_aside(bad: int | None) -> None:
    metrics = join_of().replay({"asks": table([1, bad, 2]), "bids": table([3])}).metrics
    assert metrics.streams["asks"].bad_times == 1
    assert metrics.emitted == 2


@pytest.mark.parametrize("bad", [2**61, 2**63, 2**64 - 1])
def test_an_unsigned_time_that_no_clock_can_show_is_set_aside(bad: int) -> None:
    asks = table(pa.array([1, bad], pa.uint64()), [1, 1])
    metrics = join_of().replay({"asks": asks, "bids": table([3])}).metrics
    assert metrics.streams["asks"].bad_times == 1
    assert metrics.emitted == 1


@pytest.mark.parametrize("bad", [2**62, -(2**62), 2**63 - 1])
@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_a_timestamp_that_no_clock_can_show_is_set_aside(bad: int, unit: str) -> None:
    asks = table(pa.array([0, bad], pa.timestamp(unit)), [1, 1])
    metrics = join_of(window="1 day").replay({"asks": asks, "bids": clock(3)}).metrics
    assert metrics.streams["asks"].bad_times == 1
    assert metrics.emitted == 1


@pytest.mark.parametrize("times", [[2**61 - 1, 2**61 - 11], [-(2**61) + 1, -(2**61) + 11]])
@pytest.mark.parametrize("on", EVERY_PREDICATE[:4], ids=str)
def test_the_first_and_the_last_time_there_are_can_be_joined(
    on: Predicate, times: list[int]
) -> None:
    asks, bids = table(times[:1]), table(times[1:])
    assert join_of(on).replay({"asks": asks, "bids": bids}).metrics.emitted == 1
    longest = join_of(on, window=2**61 - 1, lateness=2**61 - 1)
    assert longest.replay({"asks": asks, "bids": bids}).metrics.emitted == 1
    assert join_of(on, window=9).replay({"asks": asks, "bids": bids}).metrics.emitted == 0


def test_one_wrong_clock_does_not_expire_a_window() -> None:
    asks = [table([0, 1, 2, 3]), table([4, 10**9]), table([5])]
    bids = [table([0, 1, 2, 3]), table([4]), table([5])]
    metrics = join_of(max_ahead=100).replay({"asks": asks, "bids": bids}).metrics
    assert metrics.streams["asks"].far_ahead == 1
    assert metrics.streams["asks"].late == metrics.streams["bids"].expired == 0
    assert metrics.emitted == 36


def test_without_max_ahead_a_wrong_clock_is_accepted() -> None:
    asks = [table([0, 1, 2, 3]), table([4, 10**9]), table([5])]
    bids = [table([0, 1, 2, 3]), table([4]), table([5])]
    metrics = join_of().replay({"asks": asks, "bids": bids}).metrics
    assert metrics.streams["asks"].late == 1
    assert metrics.streams["bids"].expired == 6
    assert metrics.emitted == 30


def test_a_stream_that_has_moved_on_is_followed_beyond_max_ahead() -> None:
    rows = [table([0, 1]), table([10**9, 10**9 + 1, 10**9 + 2])]
    metrics = join_of(max_ahead=100).replay({"asks": rows, "bids": rows}).metrics
    assert metrics.streams["asks"].far_ahead == 0
    assert metrics.emitted == 4 + 9


def test_rows_are_late_beyond_their_lateness_only() -> None:
    asks = [table([10]), table([6, 7]), table([10])]
    metrics = join_of(lateness=3).replay({"asks": asks, "bids": [table([7])]}).metrics
    assert metrics.streams["asks"].late == 1
    assert metrics.emitted == 3


def test_disorder_inside_a_micro_batch_is_not_lateness() -> None:
    metrics = join_of().replay({"asks": table([10, 6, 8]), "bids": table([7])}).metrics
    assert metrics.streams["asks"].late == 0
    assert metrics.emitted == 3


@pytest.mark.parametrize("shards", [1, 2])
def test_while_a_stream_is_silent_nothing_is_emitted_and_nothing_lost(shards: int) -> None:
    asks = [table([time]) for time in range(0, 1000, 100)]
    silent = join_of().replay({"asks": asks, "bids": ONE.slice(0, 0)}, shards=shards).metrics
    assert silent.emitted == silent.streams["asks"].expired == 0
    assert silent.streams["asks"].held == 10
    then = join_of().replay({"asks": asks, "bids": [ONE.slice(0, 0)] * 10 + [table([300])]})
    assert then.result["time"].to_pylist() == [300]


# --- Columns


def test_a_missing_column_is_named_with_its_stream() -> None:
    words = schema_error(join_of(), {"asks": ONE, "bids": pa.table({"t": [1], "price": [1]})})
    assert words.startswith('stream "bids" must have a column "id"; it has "t", "price"')


def test_a_misspelt_column_is_recognised() -> None:
    on = ps.Equal(asks="id", bids="auction_id")
    words = schema_error(
        join_of(on), {"asks": ONE, "bids": pa.table({"t": [1], "acution_id": [1]})}
    )
    assert 'stream "bids" must have a column "auction_id"' in words
    assert 'did you mean "acution_id"?' in words


def test_a_missing_time_column_is_named_with_its_stream() -> None:
    words = schema_error(join_of(), {"asks": ONE, "bids": pa.table({"at": [1], "id": [1]})})
    assert 'stream "bids" must have a column "t"' in words


def test_keys_of_different_types_are_named_with_their_streams() -> None:
    words = schema_error(join_of(), {"asks": ONE, "bids": table([1], ["1"])})
    assert 'column "id" of stream "asks" (int64)' in words
    assert 'column "id" of stream "bids" (string)' in words
    assert "must be of one kind" in words
    assert "cast" in words


def test_a_nested_key_is_refused() -> None:
    words = schema_error(join_of(), {"asks": ONE, "bids": table([1], [{"x": 1}])})
    assert 'column "id" of stream "bids" (struct<x: int64>) must be a plain value' in words


@pytest.mark.parametrize("on", EVERY_PREDICATE[1:4], ids=str)
@pytest.mark.parametrize("wrong", ["1", True, dt.date(2026, 1, 1), b"1"], ids=repr)
def test_a_value_that_is_no_number_has_no_distance(on: Predicate, wrong: object) -> None:
    words = schema_error(join_of(on), {"asks": ONE, "bids": table([1], [wrong])})
    assert 'column "id" of stream "bids" must be numeric' in words
    assert "cast it" in words


@pytest.mark.parametrize("wrong", ["1", True, dt.timedelta(1), dt.time(1)], ids=repr)
def test_a_time_column_that_holds_no_time_is_refused(wrong: object) -> None:
    words = schema_error(join_of(), {"asks": ONE, "bids": table([wrong])})
    assert 'time column "t" of stream "bids" must be a timestamp, a date or a number' in words


@pytest.mark.parametrize("other", [clock(1), table(pa.array([1], pa.timestamp("s", "UTC")), [1])])
def test_times_of_different_kinds_are_not_compared(other: pa.Table) -> None:
    local = table(pa.array([1], pa.timestamp("us")), [1])
    asks = local if other.schema.field("t").type.tz else ONE
    words = schema_error(join_of(window=0), {"asks": asks, "bids": other})
    assert 'time columns of streams "asks"' in words
    assert '"bids"' in words
    assert "must be comparable" in words


def test_a_column_that_occurs_twice_is_refused_even_if_it_is_not_needed() -> None:
    twice = pa.Table.from_arrays([pa.array([1])] * 4, names=["t", "id", "note", "note"])
    words = schema_error(join_of(), {"asks": ONE, "bids": twice})
    assert 'columns of stream "bids" must have different names; got "note" twice' in words


def test_one_name_for_two_streams_is_refused() -> None:
    streams = {"Bids": ps.Stream(time="t", window=1), "bids": ps.Stream(time="t", window=1)}
    words = specification_error(ps.Join, streams=streams, on=ps.Equal("id"))
    assert "names of streams must be different from each other in more than case" in words
    assert "('Bids', 'bids')" in words


def test_one_column_twice_in_a_key_is_refused() -> None:
    assert "columns of Equal must be different" in specification_error(ps.Equal, "a", "a")


def test_empty_tables_give_an_empty_result_of_the_full_schema() -> None:
    empty = ONE.slice(0, 0)
    replay = join_of().replay({"asks": empty, "bids": empty})
    row = pa.struct([("t", pa.int64()), ("id", pa.int64())])
    assert replay.result.schema == pa.schema(
        [("asks", row), ("bids", row), ("time", pa.int64()), ("weight", pa.float64())]
    )
    assert replay.result.num_rows == replay.metrics.arrived == 0


@pytest.mark.parametrize("on", EVERY_PREDICATE, ids=str)
@pytest.mark.parametrize("window", [10, "10 seconds"])
def test_columns_that_arrow_knows_no_type_for_hold_nulls(on: Predicate, window: int | str) -> None:
    untyped = pa.table({"t": pa.nulls(2), "id": pa.nulls(2)})
    typed = ONE if window == 10 else clock(1)
    for asks in (untyped, untyped.slice(0, 0)):
        for bids in (typed, untyped, untyped.slice(0, 0)):
            replay = join_of(on, window=window).replay({"asks": asks, "bids": bids})
            assert replay.metrics.emitted == 0
            assert replay.metrics.streams["asks"].bad_times == asks.num_rows


# --- Durations


@pytest.mark.parametrize(
    ("wrong", "hint"),
    [
        (-1, "not negative"),
        (-0.5, "not negative"),
        ("-1 second", "not negative"),
        (dt.timedelta(-1), "not negative"),
        ("", "10 minutes"),
        ("soon", "10 minutes"),
        ("10", "add a unit"),
        ("10 parsecs", '"parsecs" is not a unit of time'),
        (NAN, "finite"),
        (INFINITY, "finite"),
        (True, "10 minutes"),
    ],
    ids=repr,
)
def test_a_window_that_is_no_duration_is_refused(wrong: object, hint: str) -> None:
    words = specification_error(stream, time="t", window=wrong)
    assert words.startswith('window of Stream(time="t") must be a duration of zero or more; got ')
    assert repr(wrong) in words
    assert hint in words


@pytest.mark.parametrize("window", ["0 seconds", 0, dt.timedelta(0)])
def test_a_window_of_zero_joins_rows_of_the_same_time(window: object) -> None:
    asks, bids = clock(1, 2, 3), clock(2, 4)
    result = join_of(window=window).replay({"asks": asks, "bids": bids}).result
    assert result["time"].cast(pa.timestamp("s")).cast(pa.int64()).to_pylist() == [2]


def test_a_row_with_a_window_of_zero_joins_older_ones_in_their_windows() -> None:
    streams = {
        "asks": ps.Stream(time="t", window="7 days"),
        "bids": ps.Stream(time="t", window="0 seconds"),
    }
    join = ps.Join(streams=streams, on=ps.Equal("id"))
    week = 7 * 86_400
    replay = join.replay({"asks": clock(5), "bids": clock(4, 5, week + 5, week + 6)})
    bids = replay.result["bids"].combine_chunks().field("t")
    assert sorted(bids.cast(pa.int64()).to_pylist()) == [5, week + 5]


def test_a_number_is_no_window_over_timestamps() -> None:
    words = schema_error(join_of(), {"asks": clock(1), "bids": clock(1)})
    assert 'window of stream "asks" must be a clock duration' in words
    assert 'its time column "t" is a timestamp; got 10' in words


@pytest.mark.parametrize("setting", ["lateness", "max_ahead"])
def test_a_number_is_no_other_duration_over_timestamps_either(setting: str) -> None:
    words = schema_error(join_of(window=0, **{setting: 3}), {"asks": clock(1), "bids": clock(1)})
    assert f'{setting} of stream "asks" must be a clock duration' in words


def test_a_clock_duration_is_no_window_over_numbers() -> None:
    words = schema_error(join_of(window="10 minutes"), {"asks": ONE, "bids": ONE})
    assert 'window of stream "asks" must be a plain number' in words
    assert "its time column \"t\" is a number; got '10 minutes'" in words


def test_windows_of_different_kinds_are_refused() -> None:
    streams = {"asks": ps.Stream(time="t", window=1), "bids": ps.Stream(time="t", window="1 day")}
    words = specification_error(ps.Join, streams=streams, on=ps.Equal("id"))
    assert 'all clock durations, such as "10 minutes", or all plain numbers' in words
    assert 'window of stream "bids"' in words


def test_a_window_longer_than_time_itself_is_refused_with_its_stream() -> None:
    assert "below 2**61" in specification_error(stream, time="t", window=2**61)
    nanoseconds = table(pa.array([1], pa.timestamp("ns")), [1])
    join = join_of(window="10000 weeks")
    words = specification_error(join.replay, {"asks": nanoseconds, "bids": nanoseconds})
    assert 'window of stream "asks" must be below 2**61 units of 1/1000000000 second' in words


@pytest.mark.parametrize("setting", ["window", "lateness", "max_ahead"])
@pytest.mark.parametrize("times", [pa.int64(), pa.float64()], ids=str)
def test_a_huge_float_is_refused_with_an_error_or_used_exactly(
    setting: str, times: pa.DataType
) -> None:
    rows = pa.table({"t": pa.array([1, 1000], times), "id": [1, 1]})
    try:
        replay = join_of(**{"window": 10, setting: 1e300}).replay({"asks": rows, "bids": rows})
    except ps.PenstockError as error:
        assert setting in str(error)  # noqa: PT017 -- either is right
    else:
        assert replay.metrics.emitted == (4 if setting == "window" else 2)


# --- Budgets


def test_a_budget_of_less_than_a_row_for_each_stream_is_refused() -> None:
    words = specification_error(join_of, budget=ps.Budget(rows=1))
    assert "rows of the budget must be at least 2, one for each stream; got 1" in words


def test_a_budget_of_less_than_a_row_for_each_stream_and_shard_is_refused() -> None:
    join = join_of(budget=ps.Budget(rows=5))
    assert join.replay({"asks": ONE, "bids": ONE}, shards=2).metrics.emitted == 1
    words = specification_error(join.replay, {"asks": ONE, "bids": ONE}, shards=3)
    assert "over 3 shards must be at least 6" in words
    assert "got 5" in words
    assert "fewer shards" in words


def test_a_memory_of_less_than_a_row_for_each_stream_and_shard_is_refused() -> None:
    join = join_of(budget=ps.Budget(memory="0.5kB"))
    assert join.replay({"asks": ONE, "bids": ONE}).metrics.emitted == 1
    words = specification_error(join.replay, {"asks": ONE, "bids": ONE}, shards=2)
    assert "memory of the budget over 2 shards must be at least 928 bytes" in words
    assert "got '0.5kB'" in words


# --- A share of the processor


@pytest.mark.parametrize("cpu", [0, -0.5, 1.5, "0%", "150%", "half", True, "50"], ids=repr)
def test_a_share_of_the_processor_is_above_0_and_at_most_1(cpu: object) -> None:
    words = specification_error(budget, cpu=cpu)
    assert words.startswith("cpu of Budget must be a fraction above 0 and at most 1; got")
    assert '"50%"' in words


def test_times_that_are_numbers_need_costs() -> None:
    join = join_of(budget=ps.Budget(cpu=0.5))
    with pytest.raises(ps.SchemaError) as caught:
        join.replay({"asks": ONE, "bids": ONE})
    words = str(caught.value)
    assert "Budget(cpu=...) over times that are numbers must be given with costs" in words
    assert "penstock.Costs(" in words


@pytest.mark.parametrize("cost", [-1.0, float("inf"), float("nan"), "1 ms", True], ids=repr)
def test_a_cost_is_a_number_of_0_or_more(cost: object) -> None:
    words = specification_error(ps.Costs, insert=cost)
    assert words.startswith("insert of Costs must be a number of 0 or more; got")
    assert "2e-6" in words


def test_not_all_costs_are_0() -> None:
    words = specification_error(ps.Costs)
    assert words.startswith("Costs must be above 0 for one step at least")


@pytest.mark.parametrize(
    "settings", [{"costs": ps.Costs(insert=1.0)}, {"burst": "2 seconds"}], ids=list
)
def test_costs_and_burst_are_given_with_cpu(settings: dict[str, Any]) -> None:
    words = specification_error(budget, rows=10, **settings)
    assert f"{next(iter(settings))} of Budget must be given with cpu" in words


def test_costs_are_costs() -> None:
    words = specification_error(budget, cpu=0.5, costs=0.001)
    assert words.startswith("costs of Budget must be Costs or None; got 0.001")


def test_a_strategy_for_memory_is_refused_where_only_cpu_is_limited() -> None:
    words = specification_error(join_of, goal=ps.MaxSubset(strategy="fifo"), budget=budget(cpu=0.5))
    assert "one that saves cpu, where rows and memory are not limited" in words
    assert "give rows= or memory= too" in words


def test_a_strategy_for_cpu_is_refused_where_only_memory_is_limited() -> None:
    words = specification_error(
        join_of, goal=ps.MaxSubset(strategy="by-partner"), budget=budget(rows=10)
    )
    assert "one that saves memory, where cpu is not limited" in words
    assert "give Budget(cpu=...)" in words


def test_importance_is_refused_where_cpu_is_limited() -> None:
    words = specification_error(join_of, goal=ps.MaxImportance(of=1), budget=budget(cpu=0.5))
    assert "goal of a join with Budget(cpu=...) must be MaxSubset() or Sample() so far" in words
    assert "leave cpu out" in words

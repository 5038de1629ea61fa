"""The exact join on cases small enough to be worked out by hand."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from itertools import product
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.budget import Budget
from penstock.errors import SchemaError
from penstock.predicates import Band, Compare, Equal, Predicate, Within
from penstock.spec import Specification, Stream
from penstock.testing import age_model, exact_join, market

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.durations import DurationLike

NAN, INF = float("nan"), float("inf")


def join_of(on: Predicate, *windows: DurationLike) -> Specification:
    streams = {
        name: Stream(time="t", window=window) for name, window in zip("abc", windows, strict=False)
    }
    return Specification(streams=streams, on=on)


def rows(times: list[Any], values: list[Any], kind: pa.DataType | None = None) -> pa.Table:
    return pa.table({"t": times, "x": pa.array(values, kind)})


def joined(on: Predicate, windows: tuple[DurationLike, ...], *tables: pa.Table) -> list[Any]:
    join = join_of(on, *windows)
    return exact_join(join, dict(zip(join.streams, tables, strict=True)))


# Predicates, with windows that never decide.

ALWAYS = (1_000, 1_000, 1_000)


def matches(on: Predicate, *columns: list[Any] | pa.Array) -> list[Any]:
    tables = [pa.table({"t": [0] * len(column), "x": column}) for column in columns]
    return joined(on, ALWAYS[: len(columns)], *tables)


def test_equal() -> None:
    assert matches(Equal("x"), [1, 2, 2], [2, 3, 1]) == [(0, 2), (1, 0), (2, 0)]


def test_equal_with_three_streams() -> None:
    assert matches(Equal("x"), ["u", "v"], ["v", "u", "v"], ["v", "w"]) == [(1, 0, 0), (1, 2, 0)]


def test_equal_with_several_columns_of_other_names() -> None:
    a = pa.table({"t": [0, 0], "k": [1, 1], "s": ["x", None]})
    b = pa.table({"t": [0, 0, 0], "key": [1, 1, 2], "site": ["x", "y", "x"]})
    on = Equal(a=("k", "s"), b=("key", "site"))
    assert joined(on, (0, 0), a, b) == [(0, 0)]


def test_equal_compares_whole_numbers_exactly() -> None:
    big = 2**53
    assert matches(Equal("x"), [big, big + 1], [big + 1]) == [(1, 0)]


def test_equal_compares_decimals_of_different_scales() -> None:
    a = pa.array([Decimal("1.50"), Decimal("1.51")], pa.decimal128(12, 2))
    b = pa.array([Decimal("1.500")], pa.decimal128(12, 3))
    assert matches(Equal("x"), a, b) == [(0, 0)]


def test_equal_compares_timestamps_of_different_units() -> None:
    a = pa.array([1_000_000_001, 1_000_000_000], pa.timestamp("ns"))
    b = pa.array([1], pa.timestamp("s"))
    assert matches(Equal("x"), a, b) == [(1, 0)]


def test_zero_has_no_sign() -> None:
    assert matches(Equal("x"), [-0.0], [0.0]) == [(0, 0)]


def test_within() -> None:
    assert matches(Within(2, a="x", b="x"), [1, 5], [3, 4, 8]) == [(0, 0), (1, 0), (1, 1)]


def test_within_goes_for_every_pair_of_three() -> None:
    on = Within(2, a="x", b="x", c="x")
    # 0, 2 and 4: neighbours are near, the ends are not.
    assert matches(on, [0], [2], [4, 1]) == [(0, 0, 1)]


def test_within_computes_in_floats() -> None:
    # 0.3 - 0.1 is 0.19999999999999998 in float64.
    assert matches(Within(0.2, a="x", b="x"), [0.1], [0.3]) == [(0, 0)]
    # And 0.8 - 0.7 is 0.10000000000000009.
    assert matches(Within(0.1, a="x", b="x"), [0.7], [0.8]) == []
    assert matches(Within(Decimal("0.5"), a="x", b="x"), [1], [1.5, 1.6]) == [(0, 0)]


def test_within_is_exact_for_decimals_whatever_the_type_of_the_distance() -> None:
    a = pa.array([Decimal("0.70")], pa.decimal128(12, 2))
    b = pa.array([Decimal("1.00"), Decimal("1.01")], pa.decimal128(12, 2))
    for distance in (0.3, Decimal("0.3")):
        assert matches(Within(distance, a="x", b="x"), a, b) == [(0, 0)]


def test_differences_of_wide_decimals_are_not_rounded() -> None:
    a = pa.array([Decimal(0)], pa.decimal128(38, 0))
    b = pa.array([Decimal(10**37), Decimal(10**37 + 1)], pa.decimal128(38, 0))
    assert matches(Within(10**37, a="x", b="x"), a, b) == [(0, 0)]


def test_within_takes_no_account_of_infinities() -> None:
    assert matches(Within(1.0, a="x", b="x"), [INF, 0.0], [INF, -INF]) == []


def test_band_is_closed_and_has_a_direction() -> None:
    on = Band(a="x", b="x", low=0, high=2)
    assert matches(on, [10], [9, 10, 12, 13]) == [(0, 1), (0, 2)]
    assert matches(Band(a="x", b="x", low=-2, high=-1), [10], [7, 8, 9, 10]) == [(0, 1), (0, 2)]


def test_band_follows_the_predicate_s_order_of_streams() -> None:
    # The join's order is a, b, c; the chain is c, a, b: a - c and b - a are 1 or 2.
    on = Band(c="x", a="x", b="x", low=1, high=2)
    assert matches(on, [2, 5], [3, 4, 5], [1, 9]) == [(0, 0, 0), (0, 1, 0)]


@pytest.mark.parametrize(
    ("operator", "expected"),
    [
        ("<", [(0, 1)]),
        ("<=", [(0, 0), (0, 1), (1, 1)]),
        ("=", [(0, 0), (1, 1)]),
        ("!=", [(0, 1), (1, 0)]),
        (">", [(1, 0)]),
        (">=", [(0, 0), (1, 0), (1, 1)]),
    ],
)
def test_compare(operator: str, expected: list[Any]) -> None:
    assert matches(Compare(operator, a="x", b="x"), [1, 2], [1, 2]) == expected


def test_compare_with_three_streams_relates_neighbours_only() -> None:
    on = Compare("!=", a="x", b="x", c="x")
    assert matches(on, ["p"], ["p", "q"], ["p", "q"]) == [(0, 1, 0)]


@pytest.mark.parametrize(
    "on",
    [
        Equal("x"),
        Within(100, a="x", b="x"),
        Band(a="x", b="x", low=-100, high=100),
        *(Compare(operator, a="x", b="x") for operator in ("<=", "=", "!=", ">=")),
    ],
)
def test_null_and_nan_match_nothing(on: Predicate) -> None:
    found = matches(on, [None, NAN, 1.0, 2.0], [2.0, None, NAN, 1.0])
    assert all(left in {2, 3} and right in {0, 3} for left, right in found)
    assert found


# Windows, with keys that never decide.


def in_windows(windows: tuple[DurationLike, ...], *times: list[Any] | pa.Array) -> list[Any]:
    tables = [pa.table({"t": column, "x": [1] * len(column)}) for column in times]
    return joined(Equal("x"), windows, *tables)


def test_the_older_row_s_own_window_decides_and_is_closed() -> None:
    # a is older than b by 5, 6 (window of a: 5); b is older than a by 2, 3 (window of b: 2).
    assert in_windows((5, 2), [0], [5, 6]) == [(0, 0)]
    assert in_windows((5, 2), [2, 3], [0]) == [(0, 0)]


def test_windows_of_zero_join_rows_of_the_same_time() -> None:
    assert in_windows((0, 0), [1, 2, 2], [2, 3]) == [(1, 0), (2, 0)]


def test_rows_of_the_same_time_join_whatever_the_windows() -> None:
    assert in_windows((5, 0), [7, 7], [7]) == [(0, 0), (1, 0)]


def test_three_streams_each_in_its_window_when_the_newest_comes() -> None:
    # At 10: a (window 10) may be from 0 on, b (window 5) from 5 on.
    assert in_windows((10, 5, 0), [0, -1], [5, 4], [10]) == [(0, 0, 0)]
    # c (window 0) is joined only if it is itself the newest, or as new.
    assert in_windows((10, 5, 0), [10], [10, 11], [10]) == [(0, 0, 0)]


def test_neighbours_in_their_windows_are_not_enough() -> None:
    # a to b is 3 and b to c is 3, both within 4; a to c is 6.
    assert in_windows((4, 4, 4), [0], [3], [6, 4]) == [(0, 0, 1)]


def test_order_of_rows_does_not_matter() -> None:
    assert in_windows((1, 1), [9, 0], [1, 8]) == [(0, 1), (1, 0)]


def test_float_times_and_windows() -> None:
    assert in_windows((0.5, 0), [0.25], [0.75, 0.7500001]) == [(0, 0)]


def test_rows_without_a_usable_time_join_nothing() -> None:
    assert in_windows((5, 5), [None, NAN, INF, -INF, 0.0], [0.0, INF, None, NAN]) == [(4, 0)]


def test_timestamps_and_clock_windows() -> None:
    noon = datetime(2026, 1, 1, 12, tzinfo=UTC)
    a = pa.array([noon, None], pa.timestamp("us", tz="UTC"))
    b = pa.array([noon.replace(minute=10), noon.replace(minute=10, microsecond=1)], a.type)
    assert in_windows(("10 minutes", 0), a, b) == [(0, 0)]


def test_timestamps_of_different_units() -> None:
    a = pa.array([0], pa.timestamp("s"))
    b = pa.array([1_500_000_000, 1_500_000_001], pa.timestamp("ns"))
    assert in_windows(("1.5 seconds", "0 seconds"), a, b) == [(0, 0)]


# The generators.


def test_a_window_of_its_life_gives_every_bid_its_auction() -> None:
    site = market(auctions=30, bids_per_auction=4, life=("1 hour", "2 days"), seed=1)
    streams = {
        "auctions": Stream(time="opened_at", window="2 days"),
        "bids": Stream(time="at", window=0),
    }
    join = Specification(streams=streams, on=Equal(auctions="id", bids="auction_id"))
    found = exact_join(join, {"auctions": site.auctions, "bids": site.bids})
    pairs = zip(site.bids["auction_id"].to_pylist(), range(120), strict=True)
    assert found == sorted(pairs)


def test_every_reference_of_the_age_model_joins() -> None:
    streams = age_model(window=20.0, buckets=4, duration=100.0, seed=1)
    join = Specification(
        streams={"s1": Stream(time="time", window=20.0), "s2": Stream(time="time", window=0)},
        on=Equal("id"),
    )
    found = exact_join(join, {"s1": streams.s1, "s2": streams.s2})
    referring = [(id_, n) for n, id_ in enumerate(streams.s2["id"].to_pylist()) if id_ >= 0]
    assert len(referring) > 300
    assert found == sorted(referring)


# The rest.


def test_budget_and_lateness_are_not_looked_at() -> None:
    stream = Stream(time="t", window=100, lateness=1, max_ahead=1)
    tight = Specification(streams={"a": stream, "b": stream}, on=Equal("x"), budget=Budget(rows=2))
    table = rows([0, 50, 3], [1, 1, 1])
    assert len(exact_join(tight, {"a": table, "b": table})) == 9


def test_empty_tables_join_to_nothing() -> None:
    empty = rows([], [], pa.int64()).cast(pa.schema([("t", pa.int64()), ("x", pa.int64())]))
    assert joined(Equal("x"), (1, 1), empty, rows([1], [1])) == []


def test_five_streams_of_thirty_rows_are_quick() -> None:
    names = "abcde"
    streams = {name: Stream(time="t", window=3) for name in names}
    join = Specification(streams=streams, on=Equal("x"))
    table = rows(list(range(30)), [time % 3 for time in range(30)])
    found = exact_join(join, dict.fromkeys(names, table))
    # Equal means the same time modulo 3, so all times are t or t - 3, not all of them t - 3.
    assert len(found) == 30 + 27 * (2**5 - 2)


@pytest.mark.parametrize(
    ("tables", "words"),
    [
        ({"a": rows([1], [1])}, r"tables must be those of the streams a, b; got \['a'\]"),
        (
            {"a": rows([1], [1]), "b": pa.table({"t": [1]})},
            "column of stream \"b\" must be one of t, and only one; got 'x'",
        ),
        (
            {"a": rows([1], [1]), "b": rows(["noon"], [1])},
            'time column "t" of stream "b" must be a timestamp, a date or a number; got \'string\'',
        ),
        (
            {"a": rows([1], [1]), "b": rows([datetime(2026, 1, 1, tzinfo=UTC)], [1])},
            "time columns must be timestamps in all streams or numbers in all",
        ),
        (
            {"a": rows([1], [1]), "b": rows([1], ["one"])},
            'column "x" of stream "b" must be a number; got \'string\'',
        ),
    ],
)
def test_tables_that_do_not_fit_are_refused(tables: dict[str, pa.Table], words: str) -> None:
    with pytest.raises(SchemaError, match=words):
        exact_join(join_of(Within(1, a="x", b="x"), 1, 1), tables)


SMALL = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 3)), max_size=6)


@given(streams=st.lists(SMALL, min_size=3, max_size=3), windows=st.tuples(*[st.integers(0, 4)] * 3))
def test_the_definition_word_for_word(
    streams: list[list[tuple[int, int]]], windows: tuple[int, int, int]
) -> None:
    """Each combination looked at whole, nothing dropped early."""
    schema = pa.schema([("t", pa.int64()), ("x", pa.int64())])
    tables = [
        pa.Table.from_pylist([{"t": time, "x": x} for time, x in stream], schema)
        for stream in streams
    ]
    conditions: dict[Predicate, Callable[..., bool]] = {
        Equal("x"): lambda x, y, z: x == y == z,
        Within(1, a="x", b="x", c="x"): lambda *v: max(v) - min(v) <= 1,
        Band(b="x", c="x", a="x", low=0, high=1): lambda x, y, z: (
            0 <= z - y <= 1 and 0 <= x - z <= 1
        ),
        Compare("<", c="x", a="x", b="x"): lambda x, y, z: z < x < y,
    }
    for on, holds in conditions.items():
        expected = []
        for indices in product(*map(range, map(len, streams))):
            times, values = zip(*(s[i] for s, i in zip(streams, indices, strict=True)), strict=True)
            inside = all(max(times) - t <= w for t, w in zip(times, windows, strict=True))
            if inside and holds(*values):
                expected.append(indices)
        assert joined(on, windows, *tables) == expected

from __future__ import annotations

from datetime import UTC, date, datetime, time
from decimal import Decimal

import pyarrow as pa
import pytest

from penstock.predicates import Equal
from penstock.spec import Specification, Stream
from penstock.testing import canonical_rows, exact_join, expected_rows, rows


def one(values: pa.Array) -> list[str]:
    return [row[0] for row in canonical_rows(pa.table({"x": values}))]


def test_rows_are_a_sorted_multiset() -> None:
    table = pa.table({"n": [2, 1, 2], "s": ["b", "a", "b"]})
    assert canonical_rows(table) == [("1", "'a'"), ("2", "'b'"), ("2", "'b'")]
    assert canonical_rows(table) == canonical_rows(table.take([2, 0, 1]))
    assert canonical_rows(table) != canonical_rows(table.slice(0, 2))


def test_columns_may_be_chosen() -> None:
    table = pa.table({"n": [2, 1], "s": ["b", "a"]})
    assert canonical_rows(table, columns=["s"]) == [("'a'",), ("'b'",)]
    assert canonical_rows(table, columns=[]) == [(), ()]


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (pa.array([1, None], pa.int32()), pa.array([1, None], pa.int64())),
        (pa.array(["x"], pa.string()), pa.array(["x"], pa.large_string())),
        (pa.array(["x"]).dictionary_encode(), pa.array(["x"])),
        (pa.array([1_500], pa.timestamp("ms")), pa.array([1_500_000_000], pa.timestamp("ns"))),
        (pa.array([1], pa.timestamp("s", tz="UTC")), pa.array([1_000], pa.timestamp("ms"))),
        (pa.array([2], pa.duration("s")), pa.array([2_000], pa.duration("ms"))),
        (pa.array([2], pa.time32("s")), pa.array([2 * 10**9], pa.time64("ns"))),
        (pa.array([[1]], pa.list_(pa.int8())), pa.array([[1]], pa.large_list(pa.int64()))),
    ],
)
def test_types_that_hold_the_same_compare_alike(left: pa.Array, right: pa.Array) -> None:
    assert one(left) == one(right)


def test_any_type_has_a_text() -> None:
    fields = [pa.field("f", pa.float64()), pa.field("at", pa.timestamp("ns"))]
    struct = pa.StructArray.from_arrays(
        [pa.array([float("nan")]), pa.array([1], pa.timestamp("ns"))], fields=fields
    )
    assert one(struct) == ["{f: nan, at: 1970-01-01T00:00:00.000000001}"]
    assert one(pa.array([[("k", 1)]], pa.map_(pa.string(), pa.int64()))) == [
        "[{key: 'k', value: 1}]"
    ]
    assert one(pa.array([Decimal("1.50")])) == ["Decimal('1.50')"]
    assert one(pa.array([datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)])) == ["2026-01-02T03:04:05"]
    assert one(pa.array([date(2026, 1, 2)])) == ["datetime.date(2026, 1, 2)"]
    assert one(pa.array([time(0, 0, 1)])) == ["1000000000 ns"]
    assert one(pa.array([b"\x00"])) == ["b'\\x00'"]
    assert one(pa.array([None])) == ["None"]


def test_a_column_at_a_time_is_as_one_value_at_a_time() -> None:
    values = pa.table(
        {
            "whole": pa.array([3, None, 1], pa.int16()),
            "fraction": pa.array([0.1, -0.0, float("nan")], pa.float32()),
            "text": ["it's", None, "x"],
            "at": pa.array([5, None, 5], pa.timestamp("us", "UTC")),
            "flag": [True, None, False],
            "nested": [{"a": 1, "b": {"c": None}}, None, {"a": None, "b": None}],
            "empty": pa.array([{}, None, {}], pa.struct([])),
        }
    )
    table = pa.concat_tables([values, values.slice(1), values.slice(0, 0)])
    assert canonical_rows(table) == sorted(
        zip(*([rows._text(each) for each in column] for column in table), strict=True)
    )


def test_values_that_differ_are_told_apart() -> None:
    assert one(pa.array([1])) != one(pa.array([1.0]))
    assert one(pa.array([0.0])) != one(pa.array([-0.0]))
    assert one(pa.array([None], pa.string())) != one(pa.array(["None"]))
    assert one(pa.array([1], pa.timestamp("ns"))) != one(pa.array([0], pa.timestamp("ns")))
    assert one(pa.array([0], pa.timestamp("s"))) != one(pa.array([10], pa.timestamp("s")))


def join(window: str | float) -> Specification:
    streams = {"a": Stream(time="t", window=window), "b": Stream(time="u", window=window)}
    return Specification(streams=streams, on=Equal("k"))


def test_expected_rows_are_those_of_the_result_table() -> None:
    a = pa.table({"t": [0, 4, 5], "k": [1, 1, 2], "list": [[1], None, []]})
    b = pa.table({"k": [1, 1], "u": [6, 5]})
    tables = {"a": a, "b": b}
    assert exact_join(join(5), tables) == [(0, 1), (1, 0), (1, 1)]
    a_rows, b_rows = a.to_struct_array(), b.to_struct_array()
    result = pa.table(
        {
            "a": a_rows.take([1, 0, 1]),
            "b": b_rows.take([0, 1, 1]),
            "time": [6, 5, 5],
            "weight": [1.0, 1.0, 1.0],
        }
    )
    assert canonical_rows(result) == expected_rows(join(5), tables)


def test_expected_time_is_the_newest_as_a_timestamp() -> None:
    a = pa.table({"t": pa.array([3], pa.timestamp("s")), "k": [1]})
    b = pa.table({"u": pa.array([2_500], pa.timestamp("ms")), "k": [1]})
    (row,) = expected_rows(join("1 minute"), {"a": a, "b": b})
    assert row[2:] == ("1970-01-01T00:00:03", "1.0")


def test_expected_time_is_a_float_if_one_of_them_is() -> None:
    a = pa.table({"t": [3], "k": [1]})
    b = pa.table({"u": [2.5], "k": [1]})
    (row,) = expected_rows(join(9), {"a": a, "b": b})
    assert row[2:] == ("3.0", "1.0")


def test_nothing_expected() -> None:
    a = pa.table({"t": [3], "k": [1]})
    b = pa.table({"u": [2], "k": [2]})
    assert expected_rows(join(9), {"a": a, "b": b}) == []

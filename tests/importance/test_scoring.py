"""Every definition over rows: one number for each, or words that say which row has none."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

import penstock as ps
from penstock.importance import RESULTS, result_importance
from tests.importance.support import (
    AMOUNTS,
    CATEGORIES,
    INFINITY,
    NAN,
    NEWS,
    VALUES,
    Times,
    column,
    lookup,
    made,
    schema_error,
    scores,
    twice,
)

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.mark.parametrize(
    ("said", "expected", "columns"),
    [
        ("votes", [3, 0, 7], ("votes",)),
        ("price", [1.5, 0.1, 20], ("price",)),
        (5, [5, 5, 5], ()),
        (0.5, [0.5, 0.5, 0.5], ()),
        (np.float32(0.5), [0.5, 0.5, 0.5], ()),
        (CATEGORIES, [90, 40, 10], ("category",)),
        (ps.Histogram("votes", [1, 7], [10, 20, 30]), [20, 10, 30], ("votes",)),
        (twice, [6, 0, 14], None),
        (Times(3), [9, 0, 21], None),
        (lambda rows: rows["votes"].to_pylist(), [3, 0, 7], None),
        (lambda rows: rows["votes"].to_numpy() > 0, [1, 0, 1], None),
        (lambda rows: rows["price"].to_pylist(), [1.5, 0.1, 20], None),
        (lambda rows: rows["price"], [1.5, 0.1, 20], None),
    ],
)
def test_every_definition_gives_a_number_for_each_row(
    said: object, expected: list[float], columns: tuple[str, ...] | None
) -> None:
    assert scores(said) == expected
    assert made(said).columns == columns


@pytest.mark.parametrize(
    "kind",
    [pa.int8(), pa.uint64(), pa.float16(), pa.float32(), pa.decimal128(9, 2), pa.decimal256(40, 1)],
    ids=str,
)
def test_any_type_of_number_will_do(kind: pa.DataType) -> None:
    table = column([0, 1, 100], kind)
    assert scores("x", table) == [0, 1, 100]
    assert scores(ps.Histogram("x", [1, 50], [3, 2, 1]), table) == [3, 2, 1]
    assert scores(ps.Lookup("x", {0: 3, 100: 1}, default=2), table) == [3, 2, 1]


@pytest.mark.parametrize(
    "values",
    [
        pa.array(["a", "b", "a"], pa.large_string()),
        pa.array(["a", "b", "a"], pa.string_view()),
        pa.array(["a", "b", "a"]).dictionary_encode(),
        pc.run_end_encode(pa.array(["a", "b", "a"])),
    ],
    ids=lambda values: str(values.type),
)
def test_any_way_to_hold_text_will_do(values: pa.Array) -> None:
    assert scores(ps.Lookup("x", {"a": 1, "b": 2}), column(values)) == [1, 2, 1]


def test_columns_may_be_in_chunks() -> None:
    table = pa.concat_tables([NEWS, NEWS.slice(1)])
    assert table["votes"].num_chunks == 2
    assert scores("votes", table) == [3, 0, 7, 0, 7]
    assert scores(CATEGORIES, table) == [90, 40, 10, 40, 10]
    encoded = pa.concat_tables([column(pa.array([each]).dictionary_encode()) for each in "ab"])
    assert scores(ps.Lookup("x", {"a": 1, "b": 2}), encoded) == [1, 2]


def test_a_table_may_be_of_numbers_booleans_and_nulls() -> None:
    assert scores(ps.Lookup("x", {True: 2, False: 1, None: 0}), column([None, True, False])) == [
        *(0, 2, 1)
    ]
    assert scores(ps.Lookup("x", {1: 5, 2.5: 6}, default=0), column([1.0, 2.5, NAN, None])) == [
        *(5, 6, 0, 0)
    ]
    assert scores(ps.Lookup("x", {"a": 1, None: 3}), column([None, None], pa.null())) == [3, 3]


@pytest.mark.parametrize("said", [0.1, Decimal("0.1"), np.float64(0.1)], ids=repr)
@pytest.mark.parametrize("kind", [pa.float32(), pa.float64(), pa.decimal128(5, 2)], ids=str)
def test_a_tenth_is_a_tenth_in_every_type(said: object, kind: pa.DataType) -> None:
    tenth = Decimal("0.1") if pa.types.is_decimal(kind) else 0.1
    assert scores(lookup("x", {said: 5}), column([tenth], kind)) == [5]


def test_a_break_begins_its_range() -> None:
    said = ps.Histogram("x", breaks=[0, 10], values=[1, 2, 3])
    table = column([-INFINITY, -0.5, 0.0, 9.5, 10.0, INFINITY])
    assert scores(said, table) == [1, 1, 2, 2, 3, 3]


def test_no_rows_have_no_importance_and_no_function_is_asked() -> None:
    for said in ("votes", 5, CATEGORIES, ps.Histogram("votes", [1], [1, 2]), lambda rows: 1 / 0):
        assert scores(said, NEWS.slice(0, 0)) == []
    assert scores("x", column([], pa.null())) == []


@given(
    table=st.one_of(
        st.dictionaries(VALUES, AMOUNTS, min_size=1),
        st.dictionaries(st.none() | st.text(max_size=2), AMOUNTS, min_size=1),
    ),
    default=AMOUNTS,
    data=st.data(),
)
def test_a_lookup_is_a_dictionary(
    table: dict[Any, float], default: float, data: st.DataObject
) -> None:
    if any(isinstance(key, str) for key in table):
        values = column(data.draw(st.lists(st.none() | st.text(max_size=2))), pa.string())
    else:
        kind = data.draw(st.sampled_from([pa.float64(), pa.int8()]))
        values = column(data.draw(st.lists(st.none() | st.integers(-5, 5))), kind)
    expected = [table.get(value, default) for value in values["x"].to_pylist()]
    assert scores(ps.Lookup("x", table, default), values) == expected


@given(
    breaks=st.lists(st.floats(-100, 100), min_size=1, max_size=6, unique=True).map(sorted),
    numbers=st.lists(st.floats(allow_nan=False)),
    data=st.data(),
)
def test_a_histogram_is_a_loop(
    breaks: list[float], numbers: list[float], data: st.DataObject
) -> None:
    count = len(breaks) + 1
    values = data.draw(st.lists(AMOUNTS, min_size=count, max_size=count))
    expected = []
    for number in [*numbers, *breaks]:
        place = 0
        while place < len(breaks) and breaks[place] <= number:
            place += 1
        expected.append(values[place])
    table = column([*numbers, *breaks], pa.float64())
    assert scores(ps.Histogram("x", breaks, values), table) == expected


@given(
    members=st.lists(st.tuples(*[st.floats(0, 1e6)] * 3), min_size=1),
    kind=st.sampled_from(RESULTS),
)
def test_the_importance_of_a_result_is_that_of_its_members(
    members: list[tuple[float, float, float]], kind: str
) -> None:
    naive: dict[str, Callable[[tuple[float, float, float]], float]] = {
        "min": min,
        "max": max,
        "sum": lambda each: each[0] + each[1] + each[2],
        "product": lambda each: each[0] * each[1] * each[2],
    }
    columns = list(np.array(members).T)
    assert result_importance(kind, columns).tolist() == [naive[kind](each) for each in members]


def assert_scores(said: object, table: pa.Table, expected: list[float]) -> None:
    np.testing.assert_array_equal(scores(said, table), expected)  # NaN is equal to NaN here


def test_an_unknown_column_is_named_with_those_that_there_are() -> None:
    hint = 'define the importance in this stream: MaxImportance(of={"cnn": ..., ...})'
    has = 'it has "category", "votes", "price"'
    for said in ("vote", ps.Histogram("vote", [1], [1, 2]), ps.Lookup("vote", {1: 1})):
        assert schema_error(said) == (
            f'stream "cnn" must have a column "vote", for its importance; {has}; '
            f'did you mean "votes"? Or {hint}'
        )
    assert schema_error("score") == (
        f'stream "cnn" must have a column "score", for its importance; {has}; {hint}'
    )


@pytest.mark.parametrize("said", ["x", ps.Histogram("x", [1], [1, 2])], ids=str)
@pytest.mark.parametrize("kind", [pa.string(), pa.bool_(), pa.timestamp("us")], ids=str)
def test_a_number_is_a_number(said: object, kind: pa.DataType) -> None:
    assert schema_error(said, column([], kind)) == (
        'column "x" of stream "cnn", with its importance, must be a number; '
        f"got '{kind}'; cast it, or define the importance of each value with a Lookup"
    )


@pytest.mark.parametrize("kind", [pa.list_(pa.int8()), pa.date32(), pa.binary()], ids=str)
def test_a_value_that_can_be_looked_up_is_plain(kind: pa.DataType) -> None:
    assert schema_error(ps.Lookup("x", {"a": 1}), column([], kind)) == (
        'column "x" of stream "cnn", with its importance, must be text, a number or a boolean; '
        f"got '{kind}'; cast it to text, or use a function"
    )


@pytest.mark.parametrize(("key", "kind"), [("1", pa.int64()), (1, pa.string()), ("a", pa.bool_())])
def test_a_table_that_cannot_meet_its_column_is_refused(key: object, kind: pa.DataType) -> None:
    assert schema_error(lookup("x", {None: 1, key: 2}, default=3), column([], kind)) == (
        f'column "x" of stream "cnn", with its importance, must be of a type that is equal to '
        f"{key!r}, as its Lookup says; got '{kind}'; "
        "write the values of the table as they are in the column"
    )


@pytest.mark.parametrize("bad", [-3, -0.5, NAN, INFINITY, None])
def test_a_bad_importance_is_none(bad: float | None) -> None:
    assert_scores("x", column([1, 2, bad, -7, 1e100, 1.1e100]), [1, 2, NAN, NAN, 1e100, NAN])


@pytest.mark.parametrize(
    ("known", "values"),
    [("a", ["a", "weather", None]), (1, [1, 2]), (False, [False, True, None])],
    ids=str,
)
def test_a_value_that_is_not_in_the_table_has_no_importance(
    known: object, values: list[Any]
) -> None:
    assert_scores(lookup("x", {known: 4}), column(values), [4] + [NAN] * (len(values) - 1))


@pytest.mark.parametrize("bad", [NAN, None])
def test_no_number_is_in_no_range(bad: float | None) -> None:
    assert_scores(ps.Histogram("x", [1], [1, 2]), column([5.0, bad, 0.0]), [2, NAN, 1])


@pytest.mark.parametrize(
    "given", [[1, 2], 5, None, ["1", "2", "3"], [[1], [2], [3]], pa.array(["a", "b", "c"])], ids=str
)
def test_a_function_gives_one_number_for_each_row(given: object) -> None:
    def said(rows: pa.Table) -> object:
        return given

    words = schema_error(said)
    assert words.startswith('importance of stream "cnn", by ')
    assert "must be one number for each of 3 rows; got " in words
    assert words.endswith("; return an array with a number for each row")


@pytest.mark.parametrize("bad", [-1.0, NAN, INFINITY, None], ids=str)
@pytest.mark.parametrize("kind", [list, pa.array], ids=["list", "Arrow"])
def test_a_bad_number_of_a_function_is_none(
    bad: float | None, kind: Callable[[list[Any]], object]
) -> None:
    def said(rows: pa.Table) -> object:
        return kind([1, bad, -5])

    assert_scores(said, NEWS, [1, NAN, NAN])


def test_the_importance_of_a_result_is_never_infinite() -> None:
    members = [np.array([1e100, 2.0])] * 5
    for kind in RESULTS:
        assert result_importance(kind, members)[0] == 1e100
    assert result_importance("product", members)[1] == 32


def test_an_error_of_the_users_own_comes_through() -> None:
    with pytest.raises(ZeroDivisionError):
        scores(lambda rows: 1 / 0)

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.engine.identity import content_hashes, draws
from tests.engine.arrow_types import ARRAYS
from tests.engine.support import examples


def hashes_of(*columns: pa.Array | pa.ChunkedArray) -> list[int]:
    table = pa.table(list(columns), names=[f"c{i}" for i in range(len(columns))])
    return [int(each) for each in content_hashes(table)]


@pytest.mark.parametrize("array", ARRAYS.values(), ids=ARRAYS)
def test_equal_rows_have_equal_hashes_and_others_do_not(array: pa.Array) -> None:
    one, null, other, again = hashes_of(array)
    assert one == again
    assert len({one, null, other}) == 3


@pytest.mark.parametrize("array", ARRAYS.values(), ids=ARRAYS)
def test_slices_and_chunks_hash_like_copies(array: pa.Array) -> None:
    whole = hashes_of(array)
    assert hashes_of(array.slice(1, 2)) == whole[1:3]
    assert hashes_of(array.slice(3)) == whole[3:]
    assert hashes_of(array.slice(0, 0)) == []
    assert hashes_of(pa.chunked_array([array.slice(0, 1), array.slice(1)])) == whole
    assert hashes_of(pa.chunked_array([array.slice(2)])) == whole[2:]


def test_a_column_without_any_value_hashes_like_nulls() -> None:
    assert hashes_of(pa.nulls(2)) == hashes_of(pa.nulls(2, pa.string()))


@pytest.mark.parametrize(
    ("values", "type_"),
    [
        ([[], None, [None], [None, None], [0], [0, None], [None, 0]], pa.list_(pa.int64())),
        ([[], None, [None], [[]], [[], []], [[None]], [[0]]], pa.list_(pa.list_(pa.int64()))),
        (
            [None, {"a": None, "b": None}, {"a": [], "b": None}, {"a": None, "b": 0}],
            pa.struct([("a", pa.list_(pa.int64())), ("b", pa.int64())]),
        ),
        ([[], None, [("a", None)], [("a", 0)], [("", 0)]], pa.map_(pa.string(), pa.int64())),
        ([None, "", " ", "\0", "\0\0"], pa.string()),
        ([None, b"", b"\0", b"\0" * 8, b"\0" * 9], pa.binary()),
        ([None, [None, None], [0, None], [None, 0]], pa.list_(pa.int64(), 2)),
        ([None, 0.0, -0.0, float("nan")], pa.float64()),
        ([None, False, True], pa.bool_()),
    ],
)
def test_nulls_and_empty_values_have_different_hashes(
    values: list[Any], type_: pa.DataType
) -> None:
    hashes = hashes_of(pa.array(values, type_))
    assert len(set(hashes)) == len(values)


def test_columns_are_not_mixed_up() -> None:
    one, other = pa.array(["a", "b", "ab", ""]), pa.array(["b", "a", "", "ab"])
    assert len(set(hashes_of(one, other))) == 4


def test_a_dictionary_hashes_like_its_values_at_any_depth() -> None:
    text = pa.array(["x", None, "y", "x"])
    assert hashes_of(text.dictionary_encode()) == hashes_of(text)
    in_structs = [pa.StructArray.from_arrays([a], ["d"]) for a in (text, text.dictionary_encode())]
    assert hashes_of(in_structs[0]) == hashes_of(in_structs[1])


def test_hashes_are_those_of_earlier_versions() -> None:
    # `Compare` sends rows to shards by these, and ties are broken by them.
    table = pa.table(
        {
            "whole": [1, -1],
            "float": [0.5, 1.0],
            "text": ["x", ""],
            "list": pa.array([[1, 2], [None]], pa.list_(pa.int64())),
            "at": pa.array([1, None], pa.timestamp("us")),
            "cents": pa.array([Decimal("1.50"), Decimal("-0.01")], pa.decimal128(9, 2)),
        }
    )
    assert content_hashes(table).tolist() == [-6971714934644629184, -5383317718372915719]


def test_draws_are_those_of_earlier_versions() -> None:
    times, identities = np.array([1, 1, 2]), np.array([7, 7, 7])
    assert draws(0, 0, times, identities).tolist() == [
        0.8860361635941969,
        0.1471535590175458,
        0.9833796945455001,
    ]
    assert draws(1, 2, times / 2, identities).tolist() == [
        0.8915598496082803,
        0.4497755439551817,
        0.6627853463888752,
    ]


@given(
    rows=st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2)), max_size=12).map(sorted),
    cut=st.integers(0, 4),
)
@examples(60)
def test_a_draw_depends_on_the_row_alone(rows: list[tuple[int, int]], cut: int) -> None:
    def drawn(part: list[tuple[int, int]]) -> list[float]:
        times = np.array([time for time, _ in part], np.int64)
        identities = np.array([identity for _, identity in part], np.int64)
        return [float(each) for each in draws(3, 1, times, identities)]

    whole = drawn(rows)
    assert all(0 <= each < 1 for each in whole)
    assert len(set(whole)) == len(rows)  # equal rows have different draws
    earlier = [row for row in rows if row[0] < cut]
    assert drawn(earlier) + drawn(rows[len(earlier) :]) == whole


def test_draws_differ_by_seed_stream_and_time_and_are_even() -> None:
    identities = np.arange(4_000)
    times = np.zeros(4_000, np.int64)
    several = [
        draws(seed, stream, times + at, identities)
        for seed, stream, at in ((0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1))
    ]
    for i, one in enumerate(several):
        assert abs(one.mean() - 0.5) < 0.02
        for other in several[:i]:
            assert abs(np.corrcoef(one, other)[0, 1]) < 0.06

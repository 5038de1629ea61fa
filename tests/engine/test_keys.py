from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.engine.keys import KeyCoder, KeyColumn, key_columns
from penstock.errors import SchemaError
from tests.engine.support import examples

if TYPE_CHECKING:
    from penstock.engine.arrays import Integers

NAN = float("nan")


def coder_for(*streams: list[pa.Array]) -> KeyCoder:
    """Return the coder for the columns of each stream's key."""
    named = {f"s{i}": [("k", array.type) for array in arrays] for i, arrays in enumerate(streams)}
    return KeyCoder(key_columns(named))


def key_words_of(coder: KeyCoder, arrays: list[pa.Array]) -> list[int | None]:
    key_words, good = coder.key_words([pa.chunked_array([array]) for array in arrays])
    return [int(w) if g else None for w, g in zip(key_words, good, strict=True)]


FAMILIES: dict[str, tuple[list[Any], list[pa.DataType]]] = {
    # Two different values, in all types that must agree.
    "whole": ([1, -2], [pa.int8(), pa.int16(), pa.int32(), pa.int64()]),
    "whole without sign": ([1, 2], [pa.uint8(), pa.uint16(), pa.uint32(), pa.int64()]),
    "unsigned": ([2**64 - 1, 1], [pa.uint64()]),
    "boolean": ([True, False], [pa.bool_()]),
    "float": ([0.5, -2.0], [pa.float16(), pa.float32(), pa.float64()]),
    "decimal": (
        [Decimal("1.5"), Decimal(-2)],
        [pa.decimal32(5, 1), pa.decimal64(9, 2), pa.decimal128(38, 3), pa.decimal256(70, 4)],
    ),
    "text": (["x", ""], [pa.string(), pa.large_string(), pa.string_view()]),
    "bytes": ([b"xy", b"yz"], [pa.binary(), pa.large_binary(), pa.binary(2), pa.binary_view()]),
    "date": ([1, 2], [pa.date32()]),
    "date64": ([86_400_000, 0], [pa.date64()]),
    "timestamp": ([1, 2], [pa.timestamp("ms")]),
    "zoned": ([1, 2], [pa.timestamp("ns", "UTC"), pa.timestamp("ns", "Asia/Tokyo")]),
    "time32": ([1, 2], [pa.time32("ms")]),
    "time64": ([1, 2], [pa.time64("us")]),
    "duration": ([1, 2], [pa.duration("s")]),
}


def array_of(values: list[Any], type_: pa.DataType) -> pa.Array:
    if pa.types.is_float16(type_):
        values = [None if value is None else np.float16(value) for value in values]
    return pa.array(values, type_)


@pytest.mark.parametrize(("values", "types"), FAMILIES.values(), ids=FAMILIES)
def test_keys_of_one_family_are_equal_whatever_their_width(
    values: list[Any], types: list[pa.DataType]
) -> None:
    one, other = values
    arrays = [array_of([one, None, other, one], type_) for type_ in types]
    arrays += [pa.concat_arrays([array, array]).slice(4) for array in arrays]
    arrays.append(array_of([one, None, other, one], types[-2:][0]).dictionary_encode())
    coder = coder_for(*([array] for array in arrays))
    coded = [key_words_of(coder, [array]) for array in arrays]
    first, null, second, again = coded[0]
    assert null is None
    assert first == again != second
    assert all(key_words == coded[0] for key_words in coded)
    chunked = pa.chunked_array([arrays[0].slice(0, 1), arrays[0].slice(1)])
    assert (
        coder.key_words([chunked])[0].tolist()
        == coder.key_words([pa.chunked_array([arrays[0]])])[0].tolist()
    )
    hashes = {tuple(coder.hashes([pa.chunked_array([array])]).tolist()) for array in arrays}
    assert len(hashes) == 1
    assert key_words_of(coder, [arrays[0].slice(0, 0)]) == []


def test_zeros_are_equal_and_nan_equals_nothing() -> None:
    floats = pa.array([0.0, -0.0, NAN, NAN, None, float("inf"), float("inf")])
    coder = coder_for([floats], [floats])
    zero, other_zero, *nothing, inf, other_inf = key_words_of(coder, [floats])
    assert zero == other_zero
    assert nothing == [None, None, None]
    assert inf == other_inf != zero
    pair = coder_for([floats, floats], [floats, floats])
    zero, other_zero, *nothing, inf, other_inf = key_words_of(pair, [floats, floats])
    assert (zero == other_zero, nothing, inf == other_inf) == (True, [None] * 3, True)


def test_decimals_are_equal_whatever_their_scale() -> None:
    one = pa.array([Decimal("1.5"), Decimal(-2), None], pa.decimal128(5, 1))
    other = pa.array([Decimal("1.50"), Decimal("1.51"), Decimal("-2.00")], pa.decimal128(38, 2))
    coder = coder_for([one], [other])
    half, minus, null = key_words_of(coder, [one])
    assert null is None
    same_half, new, same_minus = key_words_of(coder, [other])
    assert (same_half, same_minus) == (half, minus)
    assert new not in {half, minus, None}


def test_large_decimals_are_compared_in_all_their_digits() -> None:
    values = [Decimal(10**37 + n) for n in (0, 1, 0)] + [Decimal(-(10**37))]
    array = pa.array(values, pa.decimal128(38, 0))
    fine = pa.array([Decimal("0." + "0" * 37 + "1")], pa.decimal128(38, 38))
    coder = coder_for([array], [fine])
    assert key_words_of(coder, [array]) == [0, 1, 0, 2]
    assert key_words_of(coder, [fine]) == [3]


@given(
    rows=st.lists(
        st.tuples(
            st.sampled_from([None, "", "a", "ab", "b"]),
            st.sampled_from([None, "", "a", "b", "bb"]),
            st.sampled_from([None, 0, 1]),
        ),
        max_size=20,
    )
)
@examples(60)
def test_several_columns_are_equal_only_if_each_of_them_is(
    rows: list[tuple[str | None, str | None, int | None]],
) -> None:
    arrays = [
        pa.array([row[i] for row in rows], type_)
        for i, type_ in enumerate([pa.string(), pa.large_string(), pa.int64()])
    ]
    key_words = key_words_of(coder_for(arrays, arrays), arrays)
    for row, word in zip(rows, key_words, strict=True):
        assert (word is None) == (None in row)
        for other, other_word in zip(rows, key_words, strict=True):
            if word is not None and other_word is not None:
                assert (word == other_word) == (row == other)


def test_a_column_of_nulls_can_be_compared_with_every_family() -> None:
    for values, types in FAMILIES.values():
        array = array_of(values, types[0])
        nulls = pa.nulls(2)
        for columns in ([nulls], [nulls, nulls]):
            coder = coder_for(columns, [array] * len(columns))
            assert key_words_of(coder, columns) == [None, None]
            assert None not in key_words_of(coder, [array] * len(columns))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (pa.int64(), pa.string()),
        (pa.int64(), pa.float64()),
        (pa.int64(), pa.uint64()),
        (pa.int64(), pa.decimal128(5, 0)),
        (pa.int64(), pa.bool_()),
        (pa.string(), pa.binary()),
        (pa.date32(), pa.date64()),
        (pa.timestamp("s"), pa.timestamp("ms")),
        (pa.timestamp("s"), pa.timestamp("s", "UTC")),
        (pa.time32("s"), pa.time32("ms")),
        (pa.duration("s"), pa.duration("us")),
    ],
)
def test_keys_of_different_kinds_are_refused(one: pa.DataType, other: pa.DataType) -> None:
    with pytest.raises(SchemaError) as caught:
        key_columns({"asks": [("id", one)], "bids": [("ask_id", other)]})
    assert str(caught.value) == (
        f'column "id" of stream "asks" ({one}) and column "ask_id" of stream "bids" ({other}) '
        "must be of one kind to be equal; cast one of them"
    )


def test_decimals_of_too_many_digits_for_one_scale_are_refused() -> None:
    wide = pa.decimal256(76, 0)
    key_columns({"asks": [("id", wide)], "bids": [("id", pa.decimal128(38, 0))]})
    with pytest.raises(SchemaError) as caught:
        key_columns({"asks": [("id", pa.decimal128(38, 2))], "bids": [("id", wide)]})
    assert str(caught.value) == (
        'column "id" of stream "bids" must be a decimal of at most 76 digits with the 2 places '
        "that it is compared in; got 'decimal256(76, 0)'; cast it to a decimal of fewer digits"
    )


@pytest.mark.parametrize(
    "type_",
    [
        pa.list_(pa.int64()),
        pa.struct([("x", pa.int64())]),
        pa.map_(pa.string(), pa.int64()),
        pa.month_day_nano_interval(),
    ],
)
def test_a_key_that_is_not_a_plain_value_is_refused(type_: pa.DataType) -> None:
    with pytest.raises(SchemaError) as caught:
        key_columns({"asks": [("id", type_)], "bids": [("id", type_)]})
    assert str(caught.value) == (
        f'column "id" of stream "asks" ({type_}) must be a plain value to be a key; name its '
        "fields as columns of their own"
    )


def text(first: int, last: int) -> list[pa.Array]:
    return [pa.array([f"key {n}" for n in range(first, last)])]


def kept(*key_words: int) -> Integers:
    return np.array(key_words, np.int64)


def test_keys_in_memory_keep_their_key_words_and_the_others_are_removed() -> None:
    coder = KeyCoder((KeyColumn("text"),))
    before = key_words_of(coder, text(0, 5_000))
    live = kept(*(word for word in before[::100] if word is not None))
    coder.forget(lambda: live)
    assert coder._interned is not None
    assert coder._interned.counts[0] == live.size  # entries
    assert coder._interned.heap.size < 20_000
    after = key_words_of(coder, text(0, 5_000))
    assert after[::100] == before[::100]
    forgotten = {word for i, word in enumerate(after) if i % 100}
    assert len(forgotten) == 4_950
    assert forgotten.isdisjoint(before)  # no key word is used twice


def test_a_few_keys_are_not_removed() -> None:
    coder = KeyCoder((KeyColumn("text"),))
    before = key_words_of(coder, text(0, 100))
    coder.forget(lambda: pytest.fail("must not be asked"))
    assert key_words_of(coder, text(0, 100)) == before


def test_keys_are_removed_again_once_twice_as_many_have_come() -> None:
    coder = KeyCoder((KeyColumn("text"),))
    key_words, _ = coder.key_words([pa.chunked_array(text(0, 10_000))])
    coder.forget(lambda: key_words)
    key_words_of(coder, text(10_000, 12_000))
    coder.forget(lambda: pytest.fail("must not be asked"))


def test_keys_that_are_their_own_key_words_are_not_interned() -> None:
    coder = KeyCoder((KeyColumn("whole"),))
    assert key_words_of(coder, [pa.array(range(5_000))]) == list(range(5_000))
    coder.forget(lambda: pytest.fail("must not be asked"))
    assert coder._interned is None


def test_hashes_of_keys_are_those_of_earlier_versions() -> None:
    # Rows are sent to the shards of earlier versions by these.
    whole, name = pa.array([7, 7, None]), pa.array(["x", "y", "x"])
    cents = pa.array([Decimal("1.50"), Decimal("-0.01"), None], pa.decimal128(9, 2))

    def hashes(*arrays: pa.Array) -> list[int]:
        coder = coder_for(list(arrays), list(arrays))
        return [int(h) for h in coder.hashes([pa.chunked_array([array]) for array in arrays])]

    assert hashes(whole) == [7, 7, 0]
    assert hashes(name) == [4439252105671733795, -809356907263006270, 4439252105671733795]
    assert hashes(cents) == [1301380782954239452, -8803559981354027893, 0]
    assert hashes(whole, name) == [3656436291943523055, -4362430883094868558, 0]

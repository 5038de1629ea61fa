from __future__ import annotations

from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from penstock.engine.values import ValueScale, bucket_width, common_values
from penstock.errors import SchemaError

WHOLE = ValueScale(floating=False)
FLOAT = ValueScale(floating=True)


def scale_of(*types: pa.DataType) -> ValueScale:
    return common_values({f"s{i}": ("price", type_) for i, type_ in enumerate(types)})


@pytest.mark.parametrize(
    ("types", "expected"),
    [
        ((pa.int8(), pa.uint32()), WHOLE),
        ((pa.null(), pa.int64()), WHOLE),
        ((pa.int64(), pa.float32()), FLOAT),
        ((pa.decimal128(9, 2), pa.decimal128(12, 4)), ValueScale(floating=False, scale=4)),
        ((pa.decimal256(9, 2), pa.int64()), ValueScale(floating=False, scale=2)),
        ((pa.decimal32(5, 1), pa.decimal64(9, 3)), ValueScale(floating=False, scale=3)),
        ((pa.decimal128(38, 10), pa.float64()), FLOAT),
        ((pa.dictionary(pa.int8(), pa.int32()), pa.int64()), WHOLE),
    ],
)
def test_the_scale_holds_all_streams_values(
    types: tuple[pa.DataType, ...], expected: ValueScale
) -> None:
    assert scale_of(*types) == expected
    assert expected.dtype == (np.float64 if expected.floating else np.int64)


@pytest.mark.parametrize(
    "type_", [pa.decimal32(6, 2), pa.decimal64(6, 2), pa.decimal128(6, 2), pa.decimal256(6, 2)]
)
def test_decimals_are_whole_numbers_of_their_last_place(type_: pa.DataType) -> None:
    array = pa.array([Decimal("9.99"), Decimal("12.50"), None, Decimal("-0.01")], type_)
    scale = scale_of(type_, pa.decimal128(9, 3))
    values, good = scale.read(pa.chunked_array([array]))
    assert values.tolist() == [9990, 12500, 0, -10]
    assert good.tolist() == [True, True, False, True]
    values, good = scale.read(pa.chunked_array([array.slice(1)]))
    assert values.tolist() == [12500, 0, -10]
    values, good = scale.read(pa.chunked_array([array.slice(0, 0)]))
    assert (values.size, good.size) == (0, 0)


def test_whole_numbers_among_decimals_are_scaled() -> None:
    values, good = scale_of(pa.int64(), pa.decimal128(9, 2)).read(pa.chunked_array([[3, None, -7]]))
    assert (values.tolist(), good.tolist()) == ([300, 0, -700], [True, False, True])


def test_decimals_among_floats_become_floats() -> None:
    cents = pa.array([Decimal("0.10"), None], pa.decimal128(9, 2))
    values, good = FLOAT.read(pa.chunked_array([cents]))
    assert (values[0], good.tolist()) == (0.1, [True, False])


def test_nan_and_null_match_nothing_and_infinities_are_values() -> None:
    floats = pa.array([0.5, None, float("nan"), float("inf")])
    _, good = FLOAT.read(pa.chunked_array([floats]))
    assert good.tolist() == [True, False, False, True]


@pytest.mark.parametrize(
    "type_", [pa.string(), pa.bool_(), pa.timestamp("us"), pa.list_(pa.int64())]
)
def test_columns_that_are_not_numbers_are_refused(type_: pa.DataType) -> None:
    with pytest.raises(SchemaError) as caught:
        common_values({"asks": ("price", pa.int64()), "bids": ("price", type_)})
    assert str(caught.value) == (
        f'column "price" of stream "bids" must be numeric to be compared; got '
        f"'{type_}'; "
        "cast it, or compare another column"
    )


def test_unsigned_numbers_of_64_bits_are_refused() -> None:
    with pytest.raises(SchemaError) as caught:
        common_values({"asks": ("price", pa.int64()), "bids": ("price", pa.uint64())})
    assert str(caught.value) == (
        'column "price" of stream "bids" must be a signed number to be compared; got '
        "'uint64'; cast it to int64 or to double"
    )


@pytest.mark.parametrize(
    "types",
    [
        (pa.decimal128(19, 0),),
        (pa.decimal128(10, 0), pa.decimal128(10, 9)),
        (pa.decimal256(40, 2),),
    ],
)
def test_decimals_of_too_many_digits_are_refused(types: tuple[pa.DataType, ...]) -> None:
    with pytest.raises(SchemaError) as caught:
        scale_of(*types)
    assert str(caught.value) == (
        'column "price" of stream "s0" must be a decimal of at most 18 digits, all streams\' '
        f"scales considered; got '{types[0]}'; cast it to double or to a decimal of fewer digits"
    )


@pytest.mark.parametrize(
    ("number", "least", "most"),
    [
        (2.5, 3, 2),
        (-2.5, -2, -3),
        (3, 3, 3),
        (Decimal("0.3"), 1, 0),
        (1 - 2**63, 1 - 2**63, 1 - 2**63),
    ],
)
def test_bounds_are_rounded_inwards_to_whole_numbers(
    number: float | Decimal, least: int, most: int
) -> None:
    assert (WHOLE.at_least(number), WHOLE.at_most(number)) == (least, most)


def test_bounds_of_decimals_are_exact() -> None:
    tenths = ValueScale(floating=False, scale=1)
    assert (tenths.at_least(0.3), tenths.at_most(0.3)) == (3, 3)  # not the float below 0.3
    assert (tenths.at_least(0.25), tenths.at_most(0.25)) == (3, 2)
    assert (FLOAT.at_least(1), FLOAT.at_most(Decimal("0.1"))) == (1.0, 0.1)


@pytest.mark.parametrize("number", [2**63, -(2**63), 1e300, Decimal(10**60)])
def test_bounds_beyond_64_bits_are_refused(
    number: float | Decimal,
) -> None:
    with pytest.raises(SchemaError) as caught:
        WHOLE.at_most(number)
    assert str(caught.value) == (
        "a distance between whole numbers or decimals must be below 2**63 units of their last "
        f"place; got {number!r}; cast the columns to double to compare them at such distances"
    )


@pytest.mark.parametrize(
    ("scale", "low", "high", "width"),
    [
        (WHOLE, 0, 0, 1),
        (WHOLE, -3, 4, 7),
        (WHOLE, 1 - 2**62, 2**62 - 1, 2**63 - 2),
        (WHOLE, 1 - 2**63, 2**63 - 1, 2**63 - 1),
        (FLOAT, 0.0, 0.5, 0.5),
        (FLOAT, 0.0, 0.0, 1 / 1024),
        (FLOAT, 4096.0, 4096.0, 4.0),
    ],
)
def test_a_bucket_is_as_wide_as_the_band_and_never_empty(
    scale: ValueScale, low: float, high: float, width: float
) -> None:
    assert bucket_width(scale, low, high) == width

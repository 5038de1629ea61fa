from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from penstock.engine.times import TimeScale, common_scale
from penstock.errors import SchemaError

SECOND, MILLI, MICRO, NANO = (pa.timestamp(unit) for unit in ("s", "ms", "us", "ns"))


def scale_of(*types: pa.DataType, of_clock: bool = False) -> TimeScale:
    named = {f"s{i}": ("at", type_) for i, type_ in enumerate(types)}
    return common_scale(named, of_clock=of_clock)


@pytest.mark.parametrize(
    ("types", "expected"),
    [
        ((SECOND, SECOND), MICRO),
        ((MILLI, SECOND), MICRO),
        ((SECOND, MICRO, MILLI), MICRO),
        ((SECOND, NANO), NANO),
        ((NANO, NANO), NANO),
        (
            (pa.timestamp("s", "UTC"), pa.timestamp("us", "Europe/Berlin")),
            pa.timestamp("us", "UTC"),
        ),
        ((pa.int8(), pa.uint32()), pa.int64()),
        ((pa.int64(), pa.float32()), pa.float64()),
        ((pa.null(), SECOND), MICRO),
        ((pa.date32(), pa.date64()), MICRO),
        ((pa.date32(), NANO), NANO),
        ((pa.null(), pa.null()), pa.int64()),
        ((pa.dictionary(pa.int8(), pa.int64()), pa.int16()), pa.int64()),
    ],
)
def test_the_scale_is_the_finest_of_all_streams(
    types: tuple[pa.DataType, ...], expected: pa.DataType
) -> None:
    scale = scale_of(*types)
    assert scale.type == expected
    assert scale.unit == (expected.unit if pa.types.is_timestamp(expected) else None)
    assert scale.dtype == (np.float64 if expected == pa.float64() else np.int64)


def test_columns_of_nulls_are_counted_as_the_windows_are() -> None:
    assert scale_of(pa.null(), pa.null(), of_clock=True).type == MICRO
    assert scale_of(pa.null(), pa.int64(), of_clock=True).type == pa.int64()


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_timestamps_are_counted_in_the_scale(unit: str) -> None:
    scale = scale_of(NANO, pa.timestamp(unit))
    per_second = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[unit]
    column = pa.chunked_array([pa.array([-per_second, None, 3 * per_second], pa.timestamp(unit))])
    times, good = scale.read(column)
    assert good.tolist() == [True, False, True]
    assert times[good].tolist() == [-(10**9), 3 * 10**9]
    assert scale.to_arrow(times[good]).type == NANO
    assert scale.units_per_second == 10**9


def test_timestamps_beyond_two_to_the_61_are_not_usable() -> None:
    scale = scale_of(NANO, SECOND)
    near = 2**61 // 10**9
    seconds = pa.array([near, near + 1, 2**62, -near, -near - 1, -(2**63)], SECOND)
    times, good = scale.read(pa.chunked_array([seconds]))
    assert good.tolist() == [True, False, False, True, False, False]
    assert times[good].tolist() == [near * 10**9, -near * 10**9]


def test_whole_numbers_beyond_two_to_the_61_are_not_usable() -> None:
    numbers = [2**61 - 1, 2**61, -(2**61), 1 - 2**61, -(2**63), None]
    _, good = scale_of(pa.int64()).read(pa.chunked_array([pa.array(numbers)]))
    assert good.tolist() == [True, False, False, True, False, False]


def test_floats_that_no_clock_can_show_are_not_usable() -> None:
    numbers = [0.5, float("nan"), float("inf"), float("-inf"), 1e19, None, -1e18]
    times, good = scale_of(pa.float64()).read(pa.chunked_array([pa.array(numbers)]))
    assert good.tolist() == [True, False, False, False, False, False, True]
    assert times[good].tolist() == [0.5, -1e18]


def test_unsigned_numbers_beyond_the_signed_ones_are_not_usable() -> None:
    column = pa.chunked_array([pa.array([5, 2**63, 2**64 - 5], pa.uint64())])
    times, good = scale_of(pa.uint64(), pa.int64()).read(column)
    assert times[good].tolist() == [5]


def test_timestamps_in_a_dictionary_are_read() -> None:
    column = pa.array([5, None], SECOND).dictionary_encode()
    times, good = scale_of(column.type).read(pa.chunked_array([column]))
    assert (times[0], good.tolist()) == (5_000_000, [True, False])


DAYS = pa.array([0, None, -2, 20_000], pa.int32()).cast(pa.date32())


@pytest.mark.parametrize("days", [DAYS, DAYS.cast(pa.date64()), DAYS.dictionary_encode()])
def test_dates_are_midnight(days: pa.Array) -> None:
    times, good = scale_of(days.type, MICRO).read(pa.chunked_array([days]))
    assert good.tolist() == [True, False, True, True]
    assert times[good].tolist() == [0, -2 * 86_400 * 10**6, 20_000 * 86_400 * 10**6]


def test_dates_that_no_clock_can_show_are_not_usable() -> None:
    far = pa.array([2**31 - 1, 3], pa.int32()).cast(pa.date32())
    times, good = scale_of(pa.date32(), NANO).read(pa.chunked_array([far]))
    assert good.tolist() == [False, True]
    assert times[1] == 3 * 86_400 * 10**9


def test_a_column_of_another_type_is_refused() -> None:
    with pytest.raises(SchemaError) as caught:
        common_scale({"bids": ("at", pa.string())}, of_clock=True)
    assert str(caught.value) == (
        'time column "at" of stream "bids" must be a timestamp, a date or a number; got '
        "'string'; cast it, or name another column in Stream(time=...)"
    )


@pytest.mark.parametrize("type_", [pa.bool_(), pa.duration("s"), pa.time32("s")])
def test_durations_and_times_of_the_day_are_no_times(type_: pa.DataType) -> None:
    with pytest.raises(SchemaError, match="must be a timestamp, a date or a number"):
        scale_of(type_, SECOND)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (pa.timestamp("us", "UTC"), MICRO),
        (MICRO, pa.int64()),
        (pa.date32(), pa.int64()),
        (pa.timestamp("us", "UTC"), pa.date32()),
    ],
)
def test_times_that_do_not_compare_are_refused(one: pa.DataType, other: pa.DataType) -> None:
    with pytest.raises(SchemaError) as caught:
        common_scale({"asks": ("at", one), "bids": ("at", other)}, of_clock=True)
    assert str(caught.value) == (
        f'time columns of streams "asks" ({one}) and "bids" ({other}) must be comparable: all '
        "timestamps with a time zone, all without one (or dates), or all numbers; cast one of them"
    )

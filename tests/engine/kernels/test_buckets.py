from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import penstock as ps
from tests.engine.kernels.compiled import all_of
from tests.engine.kernels.memories import make_store
from tests.engine.support import examples

pytestmark = pytest.mark.nojit

fast = all_of("kernels.buckets")

LARGEST = float(np.finfo(np.float64).max)
EXTREMES = [0.0, -0.0, 1.0, -1.0, 5e-324, 1e-300, 1e15, -1e15, 1e300, LARGEST, -LARGEST]


@given(value=st.integers(-(2**63), 2**63 - 1), distance=st.integers(1, 2**63 - 1))
@examples(100)
def test_buckets_of_whole_numbers_are_as_wide_as_the_next_power_of_two(
    value: int, distance: int
) -> None:
    memory = make_store(on=ps.Within(distance, a="k", b="k")).memory
    width = 1 << (distance - 1).bit_length()
    assert distance <= width < 2 * distance
    assert fast.bucket_of(memory, value) == value // width


@pytest.mark.parametrize("distance", [1, 5])
def test_buckets_of_whole_numbers_are_in_the_order_of_the_values(distance: int) -> None:
    memory = make_store(on=ps.Within(distance, a="k", b="k")).memory
    values = [-(2**63), -(2**63) + 1, -(2**62), -7, -1, 0, 1, 7, 2**62, 2**63 - 1]
    buckets = [int(fast.bucket_of(memory, value)) for value in values]
    assert buckets == sorted(buckets)


@given(
    values=st.lists(st.floats(allow_nan=False) | st.sampled_from(EXTREMES), min_size=2),
    distance=st.floats(0, 1e290) | st.sampled_from([0.0, 5e-324, 0.1, 1.0]),
)
@examples(100)
def test_buckets_of_floats_are_in_the_order_of_the_values(
    values: list[float], distance: float
) -> None:
    memory = make_store(on=ps.Within(distance, a="k", b="k"), value=pa.float64()).memory
    ordered = sorted({*values, -math.inf, math.inf})
    buckets = [int(fast.bucket_of(memory, value)) for value in ordered]
    assert buckets == sorted(buckets)


@given(value=st.floats(-1e9, 1e9), distance=st.floats(1e-6, 1e6))
@examples(100)
def test_a_band_of_floats_touches_few_buckets(value: float, distance: float) -> None:
    memory = make_store(on=ps.Within(distance, a="k", b="k"), value=pa.float64()).memory
    first, last = (int(fast.bucket_of(memory, v)) for v in (value - distance, value + distance))
    assert 1 <= last - first <= 3


@pytest.mark.parametrize(("value", "distance"), [(0.0, 1e300), (0.0, LARGEST), (LARGEST, 1e300)])
def test_a_wide_band_touches_few_buckets(value: float, distance: float) -> None:
    # A probe walks through all of them, and a bound may be infinite.
    memory = make_store(on=ps.Within(distance, a="k", b="k"), value=pa.float64()).memory
    low, high = value - distance, value + distance
    slack = float(memory.rule["slack"][0])
    margin = slack * abs(value) + slack * distance
    buckets = [int(fast.bucket_of(memory, bound)) for bound in (low - margin, high + margin)]
    assert buckets[1] - buckets[0] < 1000


def test_a_comparison_has_one_bucket() -> None:
    memory = make_store(on=ps.Compare("<", a="k", b="k")).memory
    assert [int(fast.bucket_of(memory, value)) for value in (-(2**63), -1, 0, 9)] == [0] * 4


@given(time=st.integers(-(2**61), 2**61))
@examples(50)
def test_sub_windows_are_a_sixteenth_of_the_longest_window(time: int) -> None:
    memory = make_store(on=ps.Compare("<", a="k", b="k"), window=160).memory
    assert fast.sub_of(memory, time) == time // 10


@pytest.mark.parametrize("window", [0, 1, 15])
def test_a_short_window_of_whole_numbers_has_one_sub_window(window: int) -> None:
    memory = make_store(on=ps.Compare("<", a="k", b="k"), window=window).memory
    assert [int(fast.sub_of(memory, time)) for time in (-(2**61), -1, 0, 2**61)] == [0] * 4


def test_a_window_of_floats_has_sub_windows_of_any_length() -> None:
    compare = ps.Compare("<", a="k", b="k")
    memory = make_store(on=compare, window=0.4, floating_time=True).memory
    assert [int(fast.sub_of(memory, time)) for time in (-0.03, 0.0, 0.03, 1.01)] == [-2, 0, 1, 40]
    memory = make_store(on=compare, window=0.0, floating_time=True).memory
    assert [int(fast.sub_of(memory, time)) for time in (-0.03, 1e18)] == [0, 0]


@pytest.mark.parametrize("on", [ps.Equal("k"), ps.Within(1, a="k", b="k")])
def test_only_comparisons_have_sub_windows(on: ps.Equal | ps.Within) -> None:
    memory = make_store(on=on, window=160).memory
    assert [int(fast.sub_of(memory, time)) for time in (-500, 0, 500)] == [0, 0, 0]


@given(first=st.integers(-(2**57), 2**57))
@examples(50)
def test_sub_windows_that_a_probe_can_reach_have_different_chains(first: int) -> None:
    # Else it would find the same row twice. A window before, a window after: 31 is the longest one
    # with sub-windows of 1.
    store = make_store(on=ps.Compare("<", a="k", b="k"), window=31)
    store.reserve(1, None)
    slots = {int(fast.slot_of(store.memory, 0, sub)) for sub in range(first, first + 64)}
    assert len(slots) == 64

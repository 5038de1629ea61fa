"""Values at the ends of what a column can hold join by exact arithmetic."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import penstock as ps
from penstock.errors import SchemaError
from penstock.testing import canonical_rows, expected_rows

if TYPE_CHECKING:
    from penstock.predicates import Predicate

pytestmark = pytest.mark.nojit

MOST = 2**63 - 1
BOTH: dict[str, Any] = {"a": "k", "b": "k"}
THREE: dict[str, Any] = BOTH | {"c": "k"}


def assert_exact(on: Predicate, *columns: pa.Array) -> None:
    """Join rows that all come at once, the later streams first and the earlier ones first."""
    names = ("a", "b", "c", "d")[: len(columns)]
    for times in ([4, 3, 2, 1], [1, 2, 3, 4]):
        join = ps.Join(streams={name: ps.Stream(time="t", window=9) for name in names}, on=on)
        tables = {
            name: pa.table({"t": pa.array([time] * len(column), pa.int64()), "k": column})
            for name, time, column in zip(names, times, columns, strict=False)
        }
        assert canonical_rows(join.replay(tables).result) == expected_rows(join, tables)


ENDS = pa.array([-MOST, -MOST + 3, -(2**62), -1, 0, 1, 2**62, MOST - 3, MOST])


@pytest.mark.parametrize("distance", [0, 3, 2**62, MOST])
def test_whole_numbers_within_a_distance(distance: int) -> None:
    assert_exact(ps.Within(distance, **BOTH), ENDS, ENDS)
    assert_exact(ps.Within(distance, **THREE), ENDS, ENDS, ENDS)


@pytest.mark.parametrize(("low", "high"), [(0, 3), (-3, 0), (-(2**61), 2**61), (2**60, MOST)])
def test_whole_numbers_in_a_band(low: int, high: int) -> None:
    assert_exact(ps.Band(low=low, high=high, **BOTH), ENDS, ENDS)


@pytest.mark.parametrize("operator", ["<", "<=", "=", "!=", ">=", ">"])
def test_whole_numbers_compared(operator: str) -> None:
    values = pa.array([-MOST - 1, -1, 0, 1, MOST])
    assert_exact(ps.Compare(operator, **BOTH), values, values)


def test_the_least_whole_number_is_within_a_distance_of_its_neighbours() -> None:
    values = pa.array([-MOST - 1, -MOST, -MOST + 3])
    assert_exact(ps.Within(5, **BOTH), values, values)


@pytest.mark.parametrize("streams", [2, 3, 4])
@pytest.mark.parametrize(("low", "high"), [(0, MOST), (-MOST, 0), (-MOST, MOST), (MOST, MOST)])
def test_bands_as_wide_as_they_may_be(streams: int, low: int, high: int) -> None:
    columns: dict[str, Any] = dict.fromkeys("abcd"[:streams], "k")
    values = pa.array([-MOST - 1, -3, 0, 5, MOST])
    assert_exact(ps.Band(low=low, high=high, **columns), *[values] * streams)


def test_a_whole_number_beyond_every_decimal_still_compares() -> None:
    cents = pa.array([Decimal("1.50"), Decimal("-1.50")], pa.decimal128(10, 2))
    whole = pa.array([10**17, 10**18, 10**18 + 1, -(10**18), 1])
    assert_exact(ps.Compare("<", **BOTH), cents, whole)
    with pytest.raises(SchemaError, match="must be narrower than int64 to be compared exactly"):
        assert_exact(ps.Compare("!=", **THREE), whole, whole, cents)


@pytest.mark.parametrize("distance", [0.0, 5e-324, 1e-9, 0.1, 1.0, 1e200])
def test_floats_within_a_distance(distance: float) -> None:
    values = [0.0, 5e-324, -1e-9, 0.1, 0.2, 0.30000000000000004, 1e15, 1e15 + 0.125, -1e200, 1e308]
    ends = pa.array([*values, *(-value for value in values)])
    assert_exact(ps.Within(distance, **BOTH), ends, ends)


@pytest.mark.parametrize(("low", "high"), [(0.1, 0.1), (-0.2, 0.1), (0.0, 0.0)])
def test_floats_at_the_ends_of_a_band(low: float, high: float) -> None:
    tenths = pa.array([0.0, -0.0, 0.1, 0.2, 0.30000000000000004, -0.1, 1e15, 1e15 + 0.125])
    assert_exact(ps.Band(low=low, high=high, **BOTH), tenths, tenths)
    assert_exact(ps.Band(low=low, high=high, **THREE), tenths, tenths, tenths)


def test_infinities_compare_and_are_within_no_distance() -> None:
    values = pa.array([float("-inf"), 0.0, float("inf"), float("nan")])
    assert_exact(ps.Compare("<=", **BOTH), values, values)
    join = ps.Join(
        streams={name: ps.Stream(time="t", window=9) for name in "ab"}, on=ps.Within(1, **BOTH)
    )
    table = pa.table({"t": [1, 1, 1, 1], "k": values})
    metrics = join.replay({"a": table, "b": table}).metrics
    assert metrics.emitted == 1
    assert metrics.streams["a"].null_keys == 3


def test_values_at_the_end_of_exactness_are_found_once() -> None:
    """A probe reads dozens of buckets there, and two of them may share a chain."""
    values = pa.array([2.0**53 - 64.0 * block - near for block in range(150) for near in (1, 2)])
    assert_exact(ps.Within(1.0, **BOTH), values, values)

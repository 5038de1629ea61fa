"""Shares of rows that match, whatever their times: against looking at every combination."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import product
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import penstock as ps
from penstock.capacity.match_shares import equal_shares, range_shares
from penstock.engine.plan import Plan, bind
from penstock.predicates import Predicate
from tests.oracles.naive_predicates import OPERATORS, holds

Floats: TypeAlias = npt.NDArray[np.float64]
Make: TypeAlias = Callable[[str], Predicate]

VALUES = st.lists(st.integers(-5, 5).map(float), min_size=1, max_size=6).map(np.array)


def plan_of(on: Predicate, names: str) -> Plan:
    each = ps.Stream(time="t", window=1.0)
    schema = pa.schema([("t", pa.float64()), ("x", pa.float64())])
    join = ps.Join(streams=dict.fromkeys(names, each), on=on)
    return bind(join, dict.fromkeys(names, schema))


def brute_force(on: Predicate, names: str, mine: int, values: list[Floats]) -> list[float]:
    """Of all combinations of the others' rows, the share that each of a stream's rows matches."""
    found = []
    for value in values[mine]:
        sides = [[value] if s == mine else each for s, each in enumerate(values)]
        every = [holds(on, names, [(x,) for x in row]) for row in product(*sides)]
        found.append(sum(every) / len(every))
    return found


def compare(operator: str, names: str) -> Predicate:
    return ps.Compare(operator, **dict.fromkeys(names, "x"))


def band(names: str) -> Predicate:
    return ps.Band(low=-1, high=2, **dict.fromkeys(names, "x"))


# An equality has keys, not ranges.
CHAINED = [*(partial(compare, operator) for operator in OPERATORS if operator != "="), band]


@pytest.mark.parametrize("make", CHAINED)
@given(a=VALUES, b=VALUES)
def test_two_streams(make: Make, a: Floats, b: Floats) -> None:
    for order in ("ab", "ba"):
        on = make(order)
        for mine, values in enumerate((a, b)):
            found = range_shares(plan_of(on, "ab"), mine, values, [a, b])
            assert found == pytest.approx(brute_force(on, "ab", mine, [a, b]))


@pytest.mark.parametrize("make", CHAINED)
@given(a=VALUES, b=VALUES, c=VALUES)
def test_a_chain_of_three_streams(make: Make, a: Floats, b: Floats, c: Floats) -> None:
    on = make("bca")
    sides = [a, b, c]
    for mine, values in enumerate(sides):
        found = range_shares(plan_of(on, "abc"), mine, values, sides)
        assert found == pytest.approx(brute_force(on, "abc", mine, sides), abs=1e-9)


@given(a=VALUES, b=VALUES)
def test_within_of_two_streams(a: Floats, b: Floats) -> None:
    on = ps.Within(1.5, a="x", b="x")
    for mine, values in enumerate((a, b)):
        found = range_shares(plan_of(on, "ab"), mine, values, [a, b])
        assert found == pytest.approx(brute_force(on, "ab", mine, [a, b]))


@given(a=VALUES, b=VALUES, c=VALUES)
def test_within_of_three_streams_is_not_below_the_truth(a: Floats, b: Floats, c: Floats) -> None:
    on = ps.Within(1.5, a="x", b="x", c="x")
    found = range_shares(plan_of(on, "abc"), 0, a, [a, b, c])
    assert (found >= np.array(brute_force(on, "abc", 0, [a, b, c])) - 1e-9).all()


def test_infinities_compare_like_numbers() -> None:
    on = ps.Compare("<", a="x", b="x")
    a = np.array([-np.inf, 0.0, np.inf])
    found = range_shares(plan_of(on, "ab"), 0, a, [a, np.array([-np.inf, 1.0, np.inf])])
    assert found.tolist() == pytest.approx([2 / 3, 2 / 3, 0])


def test_shares_of_keys() -> None:
    found = equal_shares([np.array([7, 7, 9]), np.zeros(0, np.int64)], np.array([7, 9]))
    assert found[0].tolist() == pytest.approx([2 / 3, 1 / 3])
    assert found[1].tolist() == [0, 0]

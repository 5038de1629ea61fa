"""What importance is made of: refused if it makes no sense, and kept as it is if it does."""

from __future__ import annotations

import datetime as dt
import functools
from decimal import Decimal

import pytest

import penstock as ps
from tests.importance.support import (
    INFINITY,
    NAN,
    histogram,
    lookup,
    made,
    refusal,
    twice,
)

SCHEDULE = 'schedule of the importance of stream "cnn"'


@pytest.mark.parametrize("said", [None, "", True, b"x", 1j, {1, 2}, Decimal(3), int], ids=repr)
def test_a_definition_is_one_of_five(said: object) -> None:
    assert refusal(made, said).startswith(
        'importance of stream "cnn" must be a column, a number, a Lookup, a Histogram, a '
        f"function, or a schedule of these; got {said!r}; "
        if said != b"x"
        else f"{SCHEDULE} must be"
    )


def test_a_mistaken_definition_is_recognised() -> None:
    assert 'Lookup("column", {...})' in refusal(made, {"politics": 90})
    assert refusal(made, ps.Lookup).endswith("call it with its column: Lookup(...)")
    assert refusal(made, [(None, [(1, 2)])]).startswith('importance of stream "cnn" must be a')


@pytest.mark.parametrize("number", [-1, -0.5, NAN, INFINITY, 10**400], ids=lambda n: str(n)[:9])
def test_a_number_is_finite_and_not_negative(number: float) -> None:
    requirement = "must be a finite number of 0 or more; got "
    assert refusal(made, number).startswith(f'importance of stream "cnn" {requirement}')
    words = refusal(lookup, "x", {"a": 1, "b": number})
    assert words.startswith(f"importance of 'b' in Lookup('x') {requirement}")
    words = refusal(lookup, "x", {"a": 1}, default=number)
    assert words.startswith(f"default of Lookup('x') {requirement}")
    words = refusal(histogram, "x", [1], [0, number])
    assert words.startswith(f"a value of Histogram('x') {requirement}")
    assert words.endswith("give 0 to what does not matter")


def test_a_number_is_not_so_large_that_sums_overflow() -> None:
    assert refusal(made, 1e101) == (
        'importance of stream "cnn" must be at most 1e+100; got 1e+101; use a larger unit: only '
        "the ratio of two importances matters"
    )


@pytest.mark.parametrize("name", ["", None, 3, ["x"]])
def test_a_column_is_a_name(name: object) -> None:
    requirement = f"must be the name of a column; got {name!r}"
    assert refusal(lookup, name, {"a": 1}).startswith(f"column of Lookup {requirement}")
    assert refusal(histogram, name, [1], [1, 2]).startswith(f"column of Histogram {requirement}")


@pytest.mark.parametrize("table", [{}, [1, 2], "abc", None])
def test_a_table_has_values(table: object) -> None:
    assert refusal(lookup, "x", table) == (
        f"table of Lookup('x') must be the importance of one value or more; got {table!r}; "
        "write Lookup('x', {value: importance, ...})"
    )


@pytest.mark.parametrize("value", [NAN, Decimal("NaN"), (1, 2), b"x", dt.date(2026, 1, 1)])
def test_values_of_a_table_are_plain(value: object) -> None:
    assert refusal(lookup, "x", {value: 1}) == (
        "values in the table of Lookup('x') must be text, numbers, booleans or None; "
        f"got {value!r}; use a Histogram for ranges of numbers, and a function for anything else"
    )


@pytest.mark.parametrize("breaks", [[], [2, 1], [1, 1], [1, NAN], ["a"], "ab", 5, None, [True]])
def test_breaks_are_ascending(breaks: object) -> None:
    assert refusal(histogram, "x", breaks, [1, 2, 3]) == (
        "breaks of Histogram('x') must be one or more finite numbers, ascending; "
        f"got {breaks!r}; write each break once and in order, for example breaks=[10, 100]"
    )


@pytest.mark.parametrize("values", [[1, 2], [], [1, 2, 3, 4], 5, "abc"])
def test_there_is_one_value_more_than_breaks(values: object) -> None:
    assert refusal(histogram, "x", [1, 2], values) == (
        f"values of Histogram('x') must be 3, one more than breaks; got {values!r}; "
        "give one for each range, also for that below the first break"
    )


@pytest.mark.parametrize(
    "call", [functools.partial(twice), {"a": 1}.get, object().__eq__], ids=["partial", "get", "eq"]
)
def test_a_function_has_a_name_that_lasts(call: object) -> None:
    words = refusal(made, call)
    assert words.startswith("function of importance must be one whose repr is the same in every")
    assert words.endswith("write it with def, at the top level of a module")

"""Selections in replay, where they used to differ from Spark's; all of them run on Spark, too."""

from __future__ import annotations

import pyarrow as pa
import pytest

import penstock as ps
from penstock.errors import SchemaError
from penstock.planning.selection_values import selected_rows, value_of
from tests.planning.selections import ONLY_SPARK, ROWS, SELECTIONS, WITHOUT_VALUES, parsed_of


def ids(selection: str) -> list[int]:
    chosen = selected_rows(parsed_of(selection), ROWS)
    return [int(each) for each in chosen.nonzero()[0]]


# As Spark 4 has them: tests/spark/test_plan_selections.py compares all.
@pytest.mark.parametrize(
    ("selection", "expected"),
    [
        ("b.x NOT IN (1, 2)", [3, 4, 5, 6]),
        ("b.x NOT IN (1, NULL)", []),
        ("b.x IN (1, NULL)", [0]),
        ("b.f > 2", [1, 4, 5, 7]),
        ("b.f = b.f", [0, 1, 3, 4, 5, 6, 7]),
        ("NOT b.f > 2", [0, 3, 6]),
        ("b.f <> 1", [1, 3, 4, 5, 6, 7]),
        ("b.f = 0", [3]),
        ("b.y = 9007199254740992D", [0]),
        ("b.x * 0.1 = 0.3", [5]),
        ("b.x <> 0 AND 8 / b.x > 1", [0, 1, 5, 6]),
        ("b.x = 0 OR 8 / b.x > 1", [0, 1, 4, 5, 6]),
        ("b.y % 3 = -1", [4]),
        ("b.s = 'O''Brien'", [1]),
        ("b.s NOT LIKE 'r%'", [1, 3, 4, 5, 6, 7]),
        ("UPPER(b.s) = b.k", [3, 4]),
        ("b.when > '2001-01-01'", [2, 3, 6, 7]),
        ("b.day < TIMESTAMP '2024-01-01 10:00:00'", [0, 2, 4, 6]),
        ("COALESCE(b.x, b.y, 9) > 2", [2, 5, 6, 7]),
        ("CASE WHEN b.x = 0 THEN FALSE ELSE 6 / b.x >= 2 END", [0, 1, 5]),
        ("b.info.city = 'X'", [0, 4]),
        ("b.s || b.k = 'redred'", [0]),
        ("CAST(b.d AS INT) = 2", [2, 7]),
        ("b.x > 99999999999999999999", []),
    ],
)
def test_selections(selection: str, expected: list[int]) -> None:
    assert ids(selection) == expected


def test_all_that_are_compared_with_spark_can_be_computed() -> None:
    assert sum(len(ids(each)) for each in SELECTIONS) > 100


@pytest.mark.parametrize("selection", WITHOUT_VALUES)
def test_rows_without_a_value_are_an_error_as_in_spark(selection: str) -> None:
    with pytest.raises(SchemaError, match=r"must be defined for all rows; got .* Spark raises an"):
        ids(selection)


@pytest.mark.parametrize("selection", [*ONLY_SPARK, "b.s LIKE 'r%' ESCAPE '!'"])
def test_what_only_spark_computes_is_named(selection: str) -> None:
    with pytest.raises(SchemaError, match="must be one that runs without Spark"):
        ids(selection)


def test_a_selection_is_only_computed_for_rows_that_pass_those_before_it() -> None:
    query = ps.Query(
        "SELECT b.id FROM rows b [NOW] WHERE b.x <> 0 AND 8 / b.x > 1",
        streams={"rows": "at"},
    )
    tables = {"rows": ROWS}
    plan = query.optimize(query.measure(tables))
    assert plan.replay(tables).result["id"].to_pylist() == [0, 1, 5, 6]


def test_literals_and_results_have_the_types_of_spark() -> None:
    for text, kind in (
        ("b.x + 1", pa.int32()),
        ("b.y + 1", pa.int64()),
        ("b.x / 2", pa.float64()),
        ("b.f * 2", pa.float64()),
        ("b.x > 1", pa.bool_()),
        ("1", pa.int32()),
    ):
        assert value_of(text, lambda _, name: ROWS.column(name)).type == kind

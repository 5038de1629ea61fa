"""Selections and values over every kind of row, for replay and for Spark."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import pyarrow as pa

import penstock as ps

NAN = float("nan")

ROWS = pa.table(
    {
        "id": pa.array(range(8)),
        "at": pa.array(range(8)).cast(pa.timestamp("us", "UTC")),
        "x": pa.array([1, 2, None, -4, 0, 3, 7, None], pa.int32()),
        "y": pa.array([2**53 + 1, 0, 5, None, -7, 3, 2, None]),
        "f": [1.0, NAN, None, -0.0, 2.5, float("inf"), -3.0, NAN],
        "g": pa.array([0.1, NAN, 1.5, None, 3.0, -0.0, 16777217.0, 2.0], pa.float32()),
        "d": pa.array(
            [each and Decimal(each) for each in ("1.5", None, "2", "-3", None, "0.1", "7", "2.5")],
            pa.decimal128(10, 2),
        ),
        "s": ["red", "O'Brien", None, "straße", "", "RED", "12", " 7 "],
        "k": ["red", None, "x", "STRASSE", "", "blue", "x_y", "a%b"],
        "day": [dt.date(2024, 1, 1), None, dt.date(1969, 5, 5), dt.date(2030, 1, 1)] * 2,
        "when": pa.array([0, None, 10**15, 1_704_067_200 * 10**6] * 2, pa.timestamp("us", "UTC")),
        "local": pa.array([1_704_067_200 * 10**6, None, 5, 10**15] * 2, pa.timestamp("us")),
        "yes": [True, False, None, True, False, True, None, False],
        "info": [{"city": "X", "size": 1}, {"city": None, "size": 2}, None, {"city": "Y"}] * 2,
    }
)

SELECTIONS = [
    "b.x NOT IN (1, 2)",
    "b.x IN (1, NULL)",
    "NOT b.x IN (2, NULL)",
    "b.f IN (1, b.g)",
    "b.f > 2",
    "b.f < 2",
    "b.f >= b.f",
    "b.f = b.f",
    "b.f <> b.f",
    "NOT b.f > 2",
    "NOT (b.f <= 2 AND b.x > 0)",
    "b.f BETWEEN -1 AND 3",
    "b.f NOT BETWEEN -1 AND 3",
    "b.f > b.x",
    "b.g > 2 OR b.f = b.g",
    "b.g = 0.1",
    "b.g = 16777217",
    "b.y = 9007199254740992D",
    "b.y > 2.5",
    "b.x * 0.1 = 0.1",
    "b.d > 1.5 AND b.d < b.x",
    "b.x <> 0 AND 8 / b.x > 1",
    "b.x = 0 OR 8 / b.x > 1",
    "b.x IS NULL OR b.x % 3 = 1",
    "b.y % 3 = -1",
    "b.f % 2 = 0.5",
    "CASE WHEN b.x = 0 THEN FALSE ELSE 6 / b.x >= 2 END",
    "IF(b.yes, b.x > 0, b.x < 0)",
    "COALESCE(b.x, b.y, 9) > 2",
    "NULLIF(b.x, 1) IS NULL",
    "8 / NULLIF(b.x, 0) > 1",
    "b.s = 'O''Brien'",
    'b.s = "O\'Brien"',
    "b.s < b.k",
    "b.s LIKE '%r%' OR b.k LIKE 'x\\_y' OR b.k LIKE 'a\\%b'",
    "b.s NOT LIKE 'r%'",
    "UPPER(b.s) = b.k OR LOWER(b.s) = b.k",
    "LENGTH(b.s) = 6",
    "b.s || b.k = 'redred'",
    "CONCAT(b.s, b.x, 1) = 'red11'",
    "CAST(b.x AS STRING) = '1'",
    "b.id > 5 AND CAST(b.s AS INT) > 7",
    "CAST(b.x AS DOUBLE) / 2 = 0.5",
    "CAST(b.d AS INT) = 2",
    "b.day > '2000-01-01'",
    "b.day = DATE '2024-01-01'",
    "b.day < TIMESTAMP '2024-01-01 10:00:00'",
    "b.when >= TIMESTAMP '2024-01-01 00:00:00'",
    "b.when > '2001-01-01'",
    "b.local = b.day OR b.local > b.when",
    "CAST(b.when AS DATE) = b.day",
    "b.yes",
    "NOT b.yes",
    "(b.yes AND NULL) IS NULL",
    "b.yes OR b.x > 1",
    "b.info.city = 'X' OR b.info.size > 1",
    "b.info IS NULL",
    "ABS(b.x) > 2 OR -b.f > 1",
    "b.x > 99999999999999999999",
]

# For which Spark raises an error on some of the rows.
WITHOUT_VALUES = [
    "b.f / b.x > 1",
    "b.y % b.x = 1",
    "b.x + 2147483647 > 0",
    "b.y * 9000 > 1",
    "CAST(b.f AS INT) = 1",
    "CAST(b.s AS INT) = 1",
    "CAST(b.y AS INT) = 1",
]

# Which only Spark can compute.
ONLY_SPARK = ["b.f <=> 1 OR b.f = 0"]


def parsed_of(selection: str) -> list[str]:
    """Return the selections of a query as Spark is given them."""
    query = ps.Query(
        f"SELECT b.id FROM rows b [NOW] WHERE {selection}",  # noqa: S608  # it goes nowhere
        streams={"rows": "at"},
        schemas={"rows": ROWS},
    )
    return [each.text for each in query.parsed.selections]

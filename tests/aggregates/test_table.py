"""Estimates from an Arrow table: each window and group has the figures of its own rows."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import penstock as ps
from penstock.statistics.cluster_sample import average_of, total_of

Row = dict[str, Any]


def sampled(rows: int = 2000, seed: int = 1) -> pa.Table:
    draw = np.random.default_rng(seed)
    cluster = draw.integers(0, 150, rows)
    price = pa.array(draw.uniform(1, 3, rows), mask=draw.random(rows) < 0.1)
    sites = pa.array(np.array(["north", "south"])[draw.integers(0, 2, rows)])
    return pa.table(
        {
            "bids": pa.StructArray.from_arrays([sites, price], ["site", "price"]),
            "time": draw.integers(-20, 80, rows),
            "weight": 2.0 + cluster % 3,
            "cluster": cluster,
        }
    )


@pytest.mark.parametrize(("every", "window"), [(40, None), (10, 40), (15, 40), (7, 7), (0.7, 1.3)])
def test_each_window_and_group_has_the_figures_of_its_rows(every: float, window: float) -> None:
    table = sampled()
    found = ps.estimate(
        table, by="bids.site", every=every, window=window, sum="bids.price", average="bids.price"
    ).to_pylist()
    rows = table.to_pylist()
    length = window or every
    starts = np.arange(-200, 200) * every
    expected = {}
    for start in starts:
        for site in ("north", "south"):
            there = [
                row
                for row in rows
                if start <= row["time"] < start + length and row["bids"]["site"] == site
            ]
            if there:
                expected[round(float(start), 6), site] = there
    assert {(round(float(row["window"]["start"]), 6), row["site"]) for row in found} == set(
        expected
    )
    for row in found:
        assert row["window"]["end"] == pytest.approx(row["window"]["start"] + length)
        there = expected[round(float(row["window"]["start"]), 6), row["site"]]
        priced = [each for each in there if each["bids"]["price"] is not None]
        weights = [each["weight"] for each in there]
        count = total_of(np.ones(len(there)), weights, [each["cluster"] for each in there])
        assert (row["count"], row["count_low"]) == pytest.approx((count.value, count.low))
        assert row["clusters"] == count.clusters
        if not priced:
            assert row["sum_price"] is None
            continue
        prices = [each["bids"]["price"] for each in priced]
        rest = [[each[name] for each in priced] for name in ("weight", "cluster")]
        total, average = total_of(prices, *rest), average_of(prices, *rest)
        assert (row["sum_price"], row["sum_price_high"]) == pytest.approx((total.value, total.high))
        assert row["average_price"] == pytest.approx(average.value)


def test_windows_of_timestamps_begin_at_multiples_of_every_since_1970() -> None:
    at = [datetime(1969, 12, 31, 23, 59, 59, 999_999, UTC), datetime(1970, 1, 1, tzinfo=UTC), None]
    for unit in ("us", "ns"):
        table = pa.table(
            {
                "time": pa.array(at, pa.timestamp(unit, "UTC")),
                "weight": [1, 1, 1],
                "cluster": [1, 2, 3],
            }
        )
        found = ps.estimate(table, every="1 hour", window="90 minutes")
        hours = [
            ((row["window"]["start"] - at[1]).total_seconds() / 3600, row["count"])
            for row in found.to_pylist()
        ]
        assert hours == [(-1.0, 2.0), (0.0, 1.0)]
        assert found.schema.field("window").type.field("start").type == pa.timestamp("us", "UTC")


def test_groups_are_those_of_sql() -> None:
    """Null is a group of its own, 0 is -0, a whole row can be a group."""
    nested = pa.array([{"x": 1}, {"x": None}, None, {"x": 1}, {"x": None}])
    table = pa.table(
        {
            "f": [0.0, -0.0, float("nan"), float("nan"), None],
            "s": nested,
            "coded": pa.array(["a", "b", "a", None, None]).dictionary_encode(),
            "weight": [1] * 5,
            "cluster": range(5),
        }
    )
    by_number = ps.estimate(table, by="f").to_pylist()
    assert [row["count"] for row in by_number] == [2.0, 2.0, 1.0]
    by_row = ps.estimate(table, by=["s"]).to_pylist()
    assert [(row["s"], row["count"]) for row in by_row] == [
        ({"x": 1}, 2.0),
        ({"x": None}, 2.0),
        (None, 1.0),
    ]
    by_code = ps.estimate(table, by=["coded", "f"]).to_pylist()
    assert len(by_code) == 5
    assert by_code[0]["coded"] == "a"


def test_without_rows_or_values_there_is_no_number() -> None:
    empty = sampled().slice(0, 0)
    (row,) = ps.estimate(empty, sum="bids.price").to_pylist()
    assert (row["count"], row["sum_price"], row["clusters"], row["note"]) == (None, None, 0, None)
    assert ps.estimate(empty, by="bids.site").num_rows == 0
    assert ps.estimate(empty, every=10, window=30).num_rows == 0
    alike = sampled().append_column("year", pa.array([2024] * 2000))
    (row,) = ps.estimate(alike, average="year").to_pylist()
    assert (row["average_year"], row["note"]) == (2024.0, "values too alike")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"window": 10}, "window must be given together with every, .*; got 10; write every="),
        ({"every": 10, "window": 5}, "window must be as long as every, .*; got 5; make it 10 or"),
        ({"every": 10, "window": "1 hour"}, 'window must be a plain number, as column "time"'),
        ({"every": 10, "window": "long"}, "window must be a duration of zero or more"),
        ({"every": 0}, "every must be more than zero; got 0"),
        ({"sum": "bids.site"}, "of sum must be a column of numbers; got 'string'; cast it, append"),
        ({"average": "price"}, 'of average must be one of .*; did you mean "bids.price"\\?'),
        ({"by": ["time", "time"]}, "must be different; got 'time from"),
    ],
)
def test_wrong_arguments(arguments: Row, message: str) -> None:
    with pytest.raises((ps.SpecificationError, ps.SchemaError), match=message):
        ps.estimate(sampled(10), **arguments)


def test_what_is_not_a_sampled_join() -> None:
    table = sampled(10)
    with pytest.raises(ps.SchemaError, match='df must be a table with a column "weight"; got'):
        ps.estimate(table.drop_columns("weight"))
    with pytest.raises(ps.SchemaError, match='a table with a column "time"'):
        ps.estimate(table.drop_columns("time"), every=1)
    texts = table.set_column(2, "weight", pa.array(["heavy"] * 10))
    with pytest.raises(ps.SchemaError, match="column \"weight\" must be of numbers; got 'string'"):
        ps.estimate(texts)
    noon = table.set_column(1, "time", pa.array(["noon"] * 10))
    with pytest.raises(ps.SchemaError, match='"time" must be a timestamp or a number; got'):
        ps.estimate(noon, every=5)

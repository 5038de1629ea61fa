from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

import penstock as ps
from penstock.engine.kernels import layout
from penstock.engine.plan import bind
from penstock.errors import SchemaError

if TYPE_CHECKING:
    from penstock.predicates import Predicate

SCHEMA = pa.schema([("at", pa.timestamp("ms")), ("id", pa.int64()), ("price", pa.float64())])
STREAM = ps.Stream(time="at", window="1.5 seconds", lateness="1 ms", max_ahead="1 minute")
JOIN = ps.Join(streams={"asks": STREAM, "bids": STREAM}, on=ps.Equal("id"))
BOTH = {"asks": SCHEMA, "bids": SCHEMA}


def test_durations_are_counted_in_the_unit_of_the_join() -> None:
    plan = bind(JOIN, BOTH)
    side = plan.sides[0]
    assert (side.window, side.lateness, side.max_ahead) == (1_500_000, 1_000, 60_000_000)
    assert plan.time.unit == "us"
    assert bind(JOIN, BOTH).result_schema.names == ["asks", "bids", "time", "weight"]


def test_a_window_over_whole_numbers_is_rounded_down_and_over_floats_kept() -> None:
    stream = ps.Stream(time="id", window=2.5)
    join = ps.Join(streams={"asks": stream, "bids": stream}, on=ps.Equal("id"))
    assert [side.window for side in bind(join, BOTH).sides] == [2, 2]
    stream = ps.Stream(time="price", window=2.5)
    join = ps.Join(streams={"asks": stream, "bids": stream}, on=ps.Equal("id"))
    assert [side.window for side in bind(join, BOTH).sides] == [2.5, 2.5]


def test_the_order_of_the_predicate_is_kept_apart_from_that_of_the_join() -> None:
    join = ps.Join(streams=dict.fromkeys("xyz", STREAM), on=ps.Compare("<", z="id", x="id", y="id"))
    plan = bind(join, dict.fromkeys("xyz", SCHEMA))
    assert plan.chain == (1, 2, 0)
    assert plan.rule.operator == layout.LESS


@pytest.mark.parametrize(
    ("on", "kind", "low", "high"),
    [
        (ps.Equal("id"), layout.EQUAL, 0, 0),
        (ps.Compare("=", asks="id", bids="id"), layout.EQUAL, 0, 0),
        (ps.Within(2.5, asks="id", bids="id"), layout.WITHIN, 0, 2),
        (ps.Band(low=-0.5, high=Decimal("1.5"), asks="id", bids="id"), layout.BAND, 0, 1),
        (ps.Band(low=-0.5, high=1.5, asks="price", bids="id"), layout.BAND, -0.5, 1.5),
    ],
)
def test_bounds_are_rounded_to_what_the_values_can_be(
    on: Predicate, kind: int, low: float, high: float
) -> None:
    rule = bind(ps.Join(streams=JOIN.streams, on=on), BOTH).rule
    assert (rule.kind, rule.low, rule.high) == (kind, low, high)


@pytest.mark.parametrize(
    ("schemas", "words"),
    [
        (
            {"asks": SCHEMA},
            'stream "bids" must be given a table; got tables for "asks"; pass one',
        ),
        (
            {"asks": SCHEMA, "bids": SCHEMA, "bid": SCHEMA},
            '"bid" must be a stream of the join; its streams are "asks", "bids"; did you mean "b',
        ),
        (
            {"asks": SCHEMA.remove(0), "bids": SCHEMA},
            'stream "asks" must have a column "at"; it has "id", "price"',
        ),
        (
            {"asks": SCHEMA, "bids": SCHEMA.set(1, pa.field("idd", pa.int64()))},
            'stream "bids" must have a column "id"; it has "at", "idd", "price"; did you mean "i',
        ),
        (
            {"asks": SCHEMA.append(pa.field("id", pa.int64())), "bids": SCHEMA},
            'columns of stream "asks" must have different names; got "id" twice; rename one',
        ),
    ],
)
def test_tables_that_do_not_fit_are_refused(schemas: dict[str, pa.Schema], words: str) -> None:
    with pytest.raises(SchemaError) as caught:
        bind(JOIN, schemas)
    assert str(caught.value).startswith(words)


def test_a_clock_duration_over_numbers_is_refused() -> None:
    numbers = pa.schema([("at", pa.int64()), ("id", pa.int64())])
    with pytest.raises(SchemaError) as caught:
        bind(JOIN, {"asks": numbers, "bids": numbers})
    assert str(caught.value) == (
        'window of stream "asks" must be a plain number, as its time column "at" is a number; '
        "got '1.5 seconds'; give a number in the units of that column"
    )

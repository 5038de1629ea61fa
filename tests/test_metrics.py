"""`Metrics`: what a join counts, and how shards add up."""

from __future__ import annotations

from dataclasses import FrozenInstanceError

import pyarrow as pa
import pytest

import penstock as ps
from penstock.metrics import total

EACH = ps.Stream(time="t", window=10)


def metrics(*, budget_rows: int | None = 10, **counts: int) -> ps.Metrics:
    stream = ps.StreamMetrics(arrived=4, late=1, dropped=1, held=2, held_most=2, row_bytes=10.0)
    return ps.Metrics(
        streams={"a": stream, "b": ps.StreamMetrics(**counts)},
        strategy="fifo",
        emitted=3,
        budget_rows=budget_rows,
        held_most=4,
        bytes_most=500,
        inserted=5,
        compared=6,
    )


def test_metrics_are_frozen() -> None:
    with pytest.raises(FrozenInstanceError):
        metrics().emitted = 1  # type: ignore[misc]  # that it must not be set is what is tested
    with pytest.raises(FrozenInstanceError):
        ps.StreamMetrics().arrived = 1  # type: ignore[misc]  # as above


def test_invalid_rows_are_those_without_a_time_or_a_key() -> None:
    assert ps.StreamMetrics(bad_times=1, far_ahead=2, null_keys=4, late=8).invalid == 7


def test_what_arrived_is_added_up_over_the_streams() -> None:
    assert metrics(arrived=3).arrived == 7


def test_the_metrics_of_shards_add_up() -> None:
    both = total([metrics(arrived=1), metrics(arrived=2, expired=2)])
    assert both.streams["a"] == ps.StreamMetrics(
        arrived=8, late=2, dropped=2, held=4, held_most=4, row_bytes=10.0
    )
    assert both.streams["b"] == ps.StreamMetrics(arrived=3, expired=2)
    assert (both.emitted, both.held_most, both.bytes_most) == (6, 8, 1000)
    assert (both.inserted, both.compared, both.budget_rows) == (10, 12, 20)
    assert both.strategy == "fifo"


def test_the_total_of_one_is_itself() -> None:
    assert total([metrics(arrived=3)]) == metrics(arrived=3)


def test_there_is_no_budget_if_no_shard_has_one() -> None:
    assert total([metrics(budget_rows=None)] * 2).budget_rows is None


def test_the_size_of_a_row_is_the_mean_over_all_that_came_copies_too() -> None:
    parts = [
        ps.StreamMetrics(arrived=1, row_bytes=10.0),
        ps.StreamMetrics(arrived=1, copies=2, row_bytes=30.0),
        ps.StreamMetrics(),
    ]
    whole = [
        ps.Metrics(
            streams={"a": part},
            strategy=None,
            emitted=0,
            budget_rows=None,
            held_most=0,
            bytes_most=0,
            inserted=0,
            compared=0,
        )
        for part in parts
    ]
    assert total(whole).streams["a"].row_bytes == 25.0


# --- What a replay counts


def test_the_exact_join_names_no_strategy_and_no_budget() -> None:
    join = ps.Join(streams={"a": EACH, "b": EACH}, on=ps.Equal("id"))
    table = pa.table({"t": [1, 2, 20], "id": [1, 1, 1]})
    done = join.replay({"a": table, "b": table}).metrics
    assert done.strategy is None
    assert done.budget_rows is None
    assert done.emitted == 5
    assert done.inserted == 6
    assert done.held_most == 4
    assert done.streams["a"].expired == 2
    assert done.streams["a"].held == 1
    assert done.compared >= done.emitted


def test_a_budget_in_bytes_is_counted_in_rows_of_the_measured_size() -> None:
    table = pa.table({"t": range(50), "id": [1] * 50})
    join = ps.Join(streams={"a": EACH, "b": EACH}, on=ps.Equal("id"), budget=ps.Budget(memory=2000))
    done = join.replay({"a": table, "b": table}).metrics
    assert done.budget_rows is not None
    # A row takes 16 bytes and what the engine adds: of the order of 200 in all.
    assert 5 <= done.budget_rows <= 2000 / 16
    assert done.held_most == done.budget_rows
    assert done.bytes_most <= 2000


def test_a_budget_is_known_before_anything_has_come() -> None:
    empty = pa.table({"t": pa.array([], pa.int64()), "id": pa.array([], pa.int64())})
    join = ps.Join(streams={"a": EACH, "b": EACH}, on=ps.Equal("id"), budget=ps.Budget(rows=7))
    done = join.replay({"a": empty, "b": empty}).metrics
    assert (done.budget_rows, done.held_most, done.strategy) == (7, 0, "best")
    assert done.streams["a"] == ps.StreamMetrics()


def test_rows_that_are_copied_to_other_shards_arrive_once() -> None:
    table = pa.table({"t": range(6), "id": range(6)})
    join = ps.Join(streams={"a": EACH, "b": EACH}, on=ps.Compare("<", a="id", b="id"))
    done = join.replay({"a": table, "b": table}, shards=3).metrics
    assert done.arrived == 12
    assert sum(stream.copies for stream in done.streams.values()) == 12

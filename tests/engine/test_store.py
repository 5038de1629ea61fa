from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import penstock as ps
from penstock.engine.operator import Operator
from penstock.engine.plan import bind
from penstock.strategies import LowestRating, Order
from tests.engine.kernels.memories import make_store
from tests.engine.soundness import assert_sound


def run(
    *,
    batches: int,
    rows: int,
    window: int,
    budget: int | None = None,
    strategy: str | None = None,
    keys: int = 10**9,
) -> Operator:
    """Run a join of two streams that are in step; return its operator."""
    stream = ps.Stream(time="t", window=window)
    join = ps.Join(
        streams={"a": stream, "b": stream},
        on=ps.Equal("k"),
        goal=ps.MaxSubset(strategy=strategy),
        budget=None if budget is None else ps.Budget(rows=budget),
    )
    schema = pa.schema([("t", pa.int64()), ("k", pa.int64())])
    operator = Operator(bind(join, {"a": schema, "b": schema}))
    for batch in range(batches):
        times = np.arange(batch * rows, (batch + 1) * rows)
        operator.process({n: pa.table({"t": times, "k": times % keys}) for n in ("a", "b")})
    return operator


def sizes(operator: Operator) -> tuple[int, ...]:
    memory = operator.store.memory
    return (
        memory.rows.size,
        memory.queue.size,
        len(memory.slots),
        memory.table.size,
        memory.dead.shape[1],
    )


def test_memory_stays_as_it_is_while_the_windows_move() -> None:
    short = run(batches=20, rows=100, window=50)
    long = run(batches=200, rows=100, window=50)
    assert sizes(long) == sizes(short)
    assert_sound(long)


def test_memory_grows_with_what_is_held_and_not_faster() -> None:
    operator = run(batches=30, rows=100, window=10**6)
    held = operator.store.held
    assert held == 6_000
    assert all(held / 2 <= size <= 8 * (held + 200) for size in sizes(operator)[:4])
    assert_sound(operator)


@pytest.mark.parametrize("strategy", ["fifo", "random", None])
def test_a_budget_bounds_the_memory(strategy: str | None) -> None:
    operator = run(batches=50, rows=100, window=10**6, budget=64, strategy=strategy)
    memory = operator.store.memory
    assert memory.rows.size == 1024
    if strategy == "random":
        assert memory.retained.heap.lines.shape == (2, 1024)
    elif strategy is None:
        assert memory.retained.grid.links.shape == (1024, 3)
    assert memory.monitored.size == 3
    assert operator.metrics().held_most == 64
    assert_sound(operator)


def test_keys_that_come_back_find_their_slots() -> None:
    operator = run(batches=50, rows=100, window=20, keys=7)
    assert int(operator.store.memory.rule["fresh_slot"][0]) == 7
    assert set(operator.store.live_words().tolist()) == set(range(7))


def test_each_row_begins_a_cache_line() -> None:
    store = make_store()
    for rows in (100, 5_000, 20_000):
        store.reserve(rows, None)
        assert store.memory.rows.ctypes.data % 64 == 0
        assert store.memory.rows.dtype.itemsize == 64
        assert store.memory.rows.size >= rows


def test_the_table_is_never_more_than_half_full() -> None:
    store = make_store()
    for rows in (1, 100, 1_000, 50_000):
        store.reserve(rows, None)
        assert store.memory.rule["spare_slots"][0] >= rows
        assert store.memory.table.size >= 2 * len(store.memory.slots)
        assert store.memory.table.size.bit_count() == 1


@pytest.mark.parametrize("order", [None, LowestRating()])
def test_growth_keeps_what_is_there(order: Order | None) -> None:
    store = make_store(order=order)
    store.memory.rows["time"][:64] = range(64)
    if order is not None:
        store.memory.retained.heap.lines[:, :3] = [[5, 6, 7], [8, 9, 10]]
        store.memory.retained.heap.keys[:3] = [0.1, 0.2, 0.3]
        store.memory.retained.heap.places[5:8] = [0, 1, 2]
    store.memory.dead[1, 7] = 3
    store.reserve(10_000, None)
    store.reserve_sub_windows(40)
    assert store.memory.rows["time"][:64].tolist() == list(range(64))
    if order is not None:
        heap = store.memory.retained.heap
        assert heap.lines[:, :3].tolist() == [[5, 6, 7], [8, 9, 10]]
        assert heap.keys[:3].tolist() == [0.1, 0.2, 0.3]
        assert heap.places[5:8].tolist() == [0, 1, 2]
    assert store.memory.dead[:, 7].tolist() == [0, 3]
    assert store.memory.dead.shape[1] > 40

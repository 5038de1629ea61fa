from __future__ import annotations

import math
from itertools import chain, pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import penstock as ps
from penstock.engine import payload
from penstock.engine.kernels.layout import REF_BITS
from penstock.engine.operator import Operator
from penstock.engine.payload import MOST_ROWS, _groups
from penstock.engine.plan import bind
from penstock.errors import SchemaError
from tests.engine.arrow_types import CARRIED, OTHERS
from tests.engine.soundness import assert_sound
from tests.engine.support import examples, progress_at


def make_operator(*extra: pa.Field, window: int = 10**6) -> Operator:
    """Return the operator of an exact join on column k."""
    stream = ps.Stream(time="t", window=window)
    schema = pa.schema([("t", pa.int64()), ("k", pa.int64()), *extra])
    join = ps.Join(streams={"a": stream, "b": stream}, on=ps.Equal("k"))
    return Operator(bind(join, {"a": schema, "b": schema}))


def rows(first: int, last: int, *, key: int = 1) -> pa.Table:
    return pa.table({"t": range(first, last), "k": pa.array([key] * (last - first), pa.int64())})


def test_rows_are_gathered_from_all_sub_windows_and_the_batch() -> None:
    operator = make_operator()
    for first in (0, 100, 150):
        operator.process({"a": rows(first, first + 150 // (1 + first // 50))})
    held = operator.payloads[0]
    assert len(held.sub_windows) > 1
    held.batch = rows(1000, 1003)
    memory = operator.store.memory
    everything = np.flatnonzero(memory.rows["ref"] > 0)[: operator.store.held]
    refs = np.concatenate([memory.rows["ref"][everything], np.arange(3)])
    times = [*memory.rows["time"][everything].tolist(), 1000, 1001, 1002]
    order = np.random.default_rng(1).permutation(refs.size)
    gathered = held.gather(refs[order])
    assert gathered.column("t").to_pylist() == [times[i] for i in order]
    assert held.gather(np.zeros(0, np.int64)).num_rows == 0
    twice = held.gather(np.array([refs[5], refs[-1], refs[5]]))
    assert twice.column("t").to_pylist() == [times[5], 1002, times[5]]


def test_small_batches_are_gathered_into_few_sub_windows() -> None:
    operator = make_operator()
    for time in range(200):
        operator.process({"a": rows(time, time + 1)})
        assert len(operator.payloads[0].sub_windows) <= math.log2(time + 1) + 1
    assert_sound(operator)


def test_a_sub_window_that_nothing_has_left_is_never_touched_again() -> None:
    operator = make_operator()
    operator.process({"a": rows(0, 1000)})
    (first,) = operator.payloads[0].sub_windows.values()
    for time in range(1000, 1020):
        operator.process({"a": rows(time, time + 1)})
    assert first in operator.payloads[0].sub_windows.values()
    assert first.table.num_rows == 1000


def test_a_large_batch_is_divided_into_sub_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(payload, "MOST_ROWS", 4)
    operator = make_operator()
    operator.process({"a": rows(0, 10)})
    assert [w.rows.size for w in operator.payloads[0].sub_windows.values()] == [4, 4, 2]
    operator.process({"a": rows(10, 13)})
    assert max(w.rows.size for w in operator.payloads[0].sub_windows.values()) == 4
    assert_sound(operator)


def test_rows_that_have_left_memory_free_their_payload() -> None:
    operator = make_operator(window=100)
    for first in range(0, 5000, 50):
        operator.process({"a": rows(first, first + 50), "b": rows(first, first + 50, key=2)})
        for side in operator.payloads:
            kept = sum(window.table.num_rows for window in side.sub_windows.values())
            assert kept <= 2 * 151 + 50
    # Serials are never reused, numbers are.
    assert max(operator.payloads[0].sub_windows) < 10
    assert max(w.serial for w in operator.payloads[0].sub_windows.values()) > 50
    operator.process({}, stream_progress=[progress_at(10**5)] * 2)
    assert [len(side.sub_windows) for side in operator.payloads] == [0, 0]
    assert_sound(operator)


def test_a_batch_of_which_no_row_is_kept_is_freed() -> None:
    operator = make_operator(window=0)
    operator.process({"b": rows(100, 101)})
    operator.process({"a": rows(0, 50)})
    assert operator.payloads[0].batch.num_rows == 0
    assert operator.payloads[0].sub_windows == {}


@pytest.mark.parametrize("array", CARRIED.values(), ids=CARRIED)
def test_values_of_any_type_come_out_as_they_went_in(array: pa.Array) -> None:
    operator = make_operator(pa.field("x", array.type))
    table = rows(0, 4).append_column("x", array)
    results = [
        # Each row is a batch with its own dictionary.
        operator.process({"a": part, "b": part})
        for part in (table.take(pa.array([i])) for i in range(4))
    ]
    result = pa.concat_tables(results)
    assert result.num_rows == 16
    values = [repr(value) for value in array.to_pylist()]
    for row in result.to_pylist():
        assert repr(row["a"]["x"]) == values[row["a"]["t"]]
        assert repr(row["b"]["x"]) == values[row["b"]["t"]]
    assert result.schema.field("a").type.field("x").type == array.type


@pytest.mark.parametrize("array", OTHERS.values(), ids=OTHERS)
def test_a_type_that_cannot_be_carried_is_refused_with_our_own_error(array: pa.Array) -> None:
    stream = ps.Stream(time="t", window=1)
    join = ps.Join(streams={"a": stream, "b": stream}, on=ps.Equal("k"))
    table = rows(0, 4).append_column("x", array)
    try:
        result = join.replay({"a": table, "b": table}).result
    except SchemaError as error:
        assert '"x"' in str(error)  # noqa: PT017 -- either is right: refused with our error, or carried
    else:
        assert result.num_rows == 10


@given(sizes=st.lists(st.tuples(st.integers(1, 60), st.integers(0, 60)), max_size=12))
@examples(100)
def test_groups_are_runs_of_neighbours_worth_merging(sizes: list[tuple[int, int]]) -> None:
    windows = [(n + 1, rows, min(live, rows) or 1) for n, (rows, live) in enumerate(sizes)]
    known = {number: (rows, live) for number, rows, live in windows}
    groups = _groups([(*window, 8) for window in windows])
    joined = list(chain.from_iterable(groups))
    assert joined == sorted(set(joined))
    for group in groups:
        assert all(later == earlier + 1 for earlier, later in pairwise(group))
        assert sum(known[number][1] for number in group) <= MOST_ROWS
    # No row group that is mostly gaps is left as it is.
    gaps = {number for number, (rows, live) in known.items() if 2 * live <= rows}
    assert gaps <= set(joined)


def test_no_row_is_added_to_a_full_sub_window() -> None:
    full, half = MOST_ROWS, MOST_ROWS // 2
    assert _groups([(1, full, full, 8), (2, 1, 1, 8)]) == []
    assert _groups([(1, half, half, 8), (2, half, half, 8)]) == [[1, 2]]
    assert _groups([(1, half + 1, half + 1, 8), (2, half + 1, half + 1, 8)]) == []


def test_a_reference_is_a_number_and_a_place() -> None:
    operator = make_operator()
    operator.process({"a": rows(0, 3)})
    refs = operator.store.memory.rows["ref"][:3]
    assert refs.tolist() == [(1 << REF_BITS) | place for place in range(3)]

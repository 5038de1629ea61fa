"""Two attempts at a batch save the same bytes: what is saved follows from the rows.

`tests/conformance` has this for every strategy and predicate; here are the single reasons.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import penstock as ps
from penstock.engine.operator import Operator
from penstock.engine.plan import Plan, bind
from penstock.engine.state import restore, save
from tests.engine.arrow_types import CARRIED
from tests.engine.test_state import Saved


def make_plan(schema: pa.Schema, window: int = 100) -> Plan:
    stream = ps.Stream(time="t", window=window)
    join = ps.Join(streams={"a": stream, "b": stream}, on=ps.Equal("k"))
    return bind(join, {"a": schema, "b": schema})


def saved_after(plan: Plan, *batches: dict[str, pa.Table]) -> list[dict[str, bytes]]:
    operator = Operator(plan, ordered=True)
    written = []
    for tables in batches:
        operator.process(tables)
        written.append(dict(save(operator).written))
    return written


def test_nothing_in_it_is_drawn() -> None:
    table = pa.table({"t": [1, 2], "k": [1, 1]})
    plan = make_plan(table.schema)
    assert saved_after(plan, {"a": table}) == saved_after(plan, {"a": table})


# Dictionaries and views list their values in the order in which they came. Spark has neither.
_BY_ARRIVAL = {"dictionary", "list of dictionary", "struct of dictionary", "list_view"}


@pytest.mark.parametrize("kind", [kind for kind in CARRIED if kind not in _BY_ARRIVAL])
def test_rows_of_the_same_time_in_any_order(kind: str) -> None:
    rows = pa.table({"t": [5] * 4, "k": [1, 1, 2, 1], "x": CARRIED[kind]})
    plan = make_plan(rows.schema)
    expected = saved_after(plan, {"a": rows, "b": rows})
    for order in ([3, 2, 1, 0], [1, 3, 0, 2]):
        other = rows.take(pa.array(order))
        cut = pa.concat_tables([other.slice(0, 1), other.slice(1)])
        assert saved_after(plan, {"b": other, "a": cut}) == expected


def test_whatever_lies_behind_nulls_and_beyond_the_end_of_a_slice() -> None:
    behind = [pa.array(np.array([7, x, 9])).buffers()[1] for x in (8, 80)]
    is_there = pa.array([True, False, True]).buffers()[1]
    numbers = [pa.Array.from_buffers(pa.int64(), 3, [is_there, each]) for each in behind]
    bits = [pa.array([True, False, True, *beyond])[:3] for beyond in ([True] * 5, [False] * 5)]
    one, other = (
        pa.table({"t": [1, 2, 3], "k": [1, 1, 1], "x": x, "y": y})
        for x, y in zip(numbers, bits, strict=True)
    )
    assert one.equals(other)
    plan = make_plan(one.schema)
    assert saved_after(plan, {"a": one}) == saved_after(plan, {"a": other})


def test_a_restored_operator_names_new_chunks_as_the_saved_one_does() -> None:
    rows = pa.table({"t": [1, 2, 3], "k": [1, 1, 1]})
    plan = make_plan(rows.schema, window=10)
    whole, saved = Operator(plan, ordered=True), Saved()
    # The newest row group expires, so that its number is in no name that is saved.
    for first in (0, 1, 100):
        times = pa.array(np.arange(first, first + 3))
        whole.process({"a": rows.set_column(0, "t", times)})
    whole.process({"b": pa.table({"t": [500], "k": [2]})})
    saved.update(whole)
    assert not [name for name in saved.chunks if name.startswith("rows/a/")]
    again = restore(plan, saved.chunks)
    later = pa.table({"t": [501, 502], "k": [2, 2]})
    for operator in (whole, again):
        operator.process({"a": later})
    assert save(again) == save(whole)


def test_an_exact_join_that_is_not_saved_leaves_ties_as_they_come() -> None:
    # In a replay no bytes are compared, and hashes of all columns would cost time.
    rows = pa.table({"t": [5, 5, 5], "k": [1, 1, 1], "x": [3, 1, 2]})
    plan = make_plan(rows.schema)
    operator = Operator(plan)
    operator.process({"a": rows})
    (window,) = operator.payloads[0].sub_windows.values()
    assert window.table["x"].to_pylist() == [3, 1, 2]

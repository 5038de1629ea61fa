"""Joins with windows of rows find what brute force finds, in whatever batches rows come."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.engine.plan import bind
from penstock.testing import canonical_rows, expected_rows
from tests.conformance.checks import accounted, run
from tests.engine import support
from tests.oracles.naive_row_windows import in_order_of_equals, join_last_rows
from tests.properties.inputs import PREDICATES, Example, examples

pytestmark = pytest.mark.nojit


@pytest.mark.parametrize("streams", [2, 3])
@pytest.mark.parametrize("predicate", PREDICATES)
@support.examples(10)
@given(data=st.data())
def test_streams_out_of_step_join_as_brute_force_does(
    predicate: str, streams: int, data: st.DataObject
) -> None:
    drawn = examples(predicates=(predicate,), streams=(streams,), row_windows=True)
    example: Example = data.draw(drawn)
    ordered = {name: in_order_of_equals(table) for name, table in example.tables.items()}
    replay = example.join.replay(example.batches)
    assert canonical_rows(replay.result) == expected_rows(example.join, ordered)
    for stream in replay.metrics.streams.values():
        assert stream.late == stream.waiting == 0
        assert stream.arrived == accounted(stream)


@support.examples(40)
@given(example=examples(row_windows=True))
def test_rows_leave_when_so_many_have_come_after_them(example: Example) -> None:
    replay = example.join.replay(example.batches)
    plan = bind(example.join, {name: table.schema for name, table in example.tables.items()})
    found = join_last_rows(plan, example.tables)
    columns = [replay.result.column(name).to_pylist() for name in example.join.names]
    assert Counter(tuple(map(repr, row)) for row in zip(*columns, strict=True)) == Counter(
        found.results
    )
    for s, stream in enumerate(replay.metrics.streams.values()):
        if plan.sides[s].last_rows:
            assert stream.expired == found.expired[s]
            assert stream.held_most <= plan.sides[s].last_rows


@support.examples(20)
@given(example=examples(row_windows=True))
def test_one_batch_and_one_row_at_a_time_join_alike(example: Example) -> None:
    whole = example.join.replay(example.tables)
    most = max(table.num_rows for table in example.tables.values())
    one_by_one = {
        name: [table.slice(row, 1) for row in range(most)] or [table]
        for name, table in example.tables.items()
    }
    again = example.join.replay(one_by_one)
    assert canonical_rows(again.result) == canonical_rows(whole.result)


@support.examples(20)
@given(example=examples(row_windows=True))
def test_saved_and_restored_is_as_good_as_uninterrupted(example: Example) -> None:
    uninterrupted = run(example.join, example.in_turn, ended=True)
    assert run(example.join, example.in_turn, ended=True, saving=True) == uninterrupted

"""The exact join is what brute force finds, however it is cut, shuffled and sharded."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.testing import canonical_rows, expected_rows
from tests.conformance.checks import accounted, run
from tests.engine import support
from tests.properties.inputs import PREDICATES, Example, examples

pytestmark = pytest.mark.nojit


@pytest.mark.parametrize("streams", [2, 3])
@pytest.mark.parametrize("predicate", PREDICATES)
@support.examples(25)
@given(data=st.data())
def test_streams_out_of_step_join_as_brute_force_does(
    predicate: str, streams: int, data: st.DataObject
) -> None:
    example: Example = data.draw(examples(predicates=(predicate,), streams=(streams,)))
    replay = example.join.replay(example.batches, shards=example.shards)
    assert canonical_rows(replay.result) == expected_rows(example.join, example.tables)
    assert replay.metrics.emitted == replay.result.num_rows
    for stream in replay.metrics.streams.values():
        assert stream.late == 0
        assert stream.arrived + stream.copies == accounted(stream)


@support.examples(30)
@given(example=examples())
def test_one_batch_and_one_row_at_a_time_join_alike(example: Example) -> None:
    whole = example.join.replay(example.tables)
    most = max(table.num_rows for table in example.tables.values())
    one_by_one = {
        name: [table.slice(row, 1) for row in range(most)] or [table]
        for name, table in example.tables.items()
    }
    again = example.join.replay(one_by_one)
    assert canonical_rows(again.result) == canonical_rows(whole.result)


@support.examples(30)
@given(example=examples())
def test_saved_and_restored_is_as_good_as_uninterrupted(example: Example) -> None:
    batches = example.in_turn
    uninterrupted = run(example.join, batches, shards=example.shards)
    assert run(example.join, batches, shards=example.shards, saving=True) == uninterrupted

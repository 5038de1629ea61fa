"""With any strategy and input, the results are a part of the exact join, within the budget."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.strategies import STRATEGIES
from penstock.testing import canonical_rows, expected_rows
from tests.conformance.checks import (
    accounted,
    as_lists,
    counted,
    goal_of,
    is_part_of,
    run,
    unweighted,
)
from tests.engine import support
from tests.properties.inputs import CLOCKS, TICKS, Example, examples

pytestmark = pytest.mark.nojit

GOALS = tuple(goal_of(name) for name in STRATEGIES)


@support.examples(40)
@given(example=examples(goals=GOALS, orderly=False))
def test_rows_in_any_order_give_part_of_the_exact_join_within_the_budget(example: Example) -> None:
    replay = example.join.replay(example.batches, shards=example.shards)
    expected = expected_rows(example.join, example.tables)
    assert is_part_of(unweighted(replay.result), expected)
    budget = example.join.budget
    if budget is not None and budget.rows is not None:
        assert replay.metrics.held_most <= budget.rows
    for name, stream in replay.metrics.streams.items():
        assert stream.arrived == example.tables[name].num_rows
        assert stream.arrived + stream.copies == accounted(stream)


@support.examples(25)
@given(example=examples(goals=GOALS, orderly=False))
def test_saved_and_restored_sheds_the_same_rows(example: Example) -> None:
    batches = example.in_turn
    uninterrupted = run(example.join, batches, shards=example.shards)
    assert run(example.join, batches, shards=example.shards, saving=True) == uninterrupted


@support.examples(25)
@given(example=examples(goals=GOALS), data=st.data())
def test_streams_cut_at_the_same_ticks_shed_the_same_rows(
    example: Example, data: st.DataObject
) -> None:
    ticks = sorted(data.draw(st.lists(st.integers(0, TICKS), max_size=3)))
    name, table = next(iter(example.tables.items()))
    kind = table.schema.field(example.join.streams[name].time).type
    clock = next(clock for clock in CLOCKS if kind in clock.types)
    batches = clock.cut(example.join, example.tables, ticks)
    once = example.join.replay(example.tables)
    often = example.join.replay(as_lists(batches))
    assert canonical_rows(often.result) == canonical_rows(once.result)
    assert counted(often.metrics) == counted(once.metrics)

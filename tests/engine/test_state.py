from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from hypothesis import given

import penstock as ps
from penstock.engine import payload
from penstock.engine.operator import Operator
from penstock.engine.plan import Plan, bind
from penstock.engine.state import restore, save
from penstock.testing import canonical_rows
from tests.engine.arrow_types import CARRIED
from tests.engine.cases import KINDS, Case, Size, make_case, seeded
from tests.engine.soundness import assert_sound
from tests.engine.support import choices, examples, progress_at

if TYPE_CHECKING:
    from tests.engine.support import Pick

STRATEGIES = (None, "fifo", "random")


class Saved:
    """A copy of an operator's state, kept up to date by what `save` says has changed."""

    def __init__(self) -> None:
        self.chunks: dict[str, bytes] = {}
        self.written: set[str] = set()

    def update(self, operator: Operator) -> None:
        changes = save(operator)
        for name in changes.removed:
            del self.chunks[name]
        self.chunks |= changes.written
        self.written = set(changes.written)
        assert self.chunks.keys() == {"head", *operator.saved}


def assert_restored_goes_on_as_uninterrupted(case: Case) -> None:
    """Compare an operator with one that is saved and restored after every batch."""
    plan = bind(case.join, case.schemas)
    whole, again, saved = Operator(plan), Operator(plan), Saved()
    saved.update(again)
    for tables in case.batches:
        again = restore(plan, saved.chunks)
        assert_sound(again)
        expected = canonical_rows(whole.process(tables))
        assert canonical_rows(again.process(tables)) == expected
        assert again.metrics() == whole.metrics()
        saved.update(again)
    assert_sound(again)


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("name", ["equal whole", "equal pair", "band whole", "compare <"])
@given(pick=choices())
@examples(12)
def test_restored_after_every_batch_equals_uninterrupted(
    name: str, strategy: str | None, pick: Pick
) -> None:
    size = Size(batches=5, rows=6)
    case = make_case(pick, KINDS[name], streams=pick(2, 3), strategy=strategy, size=size)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(payload, "MOST_ROWS", 4)
        assert_restored_goes_on_as_uninterrupted(case)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_hundreds_of_rows_restored_after_every_batch(strategy: str | None) -> None:
    size = Size(batches=12, rows=40, times=30, window=50, budget=60, full=True)
    case = make_case(seeded(1), KINDS["equal text"], strategy=strategy, size=size)
    assert_restored_goes_on_as_uninterrupted(case)


@given(pick=choices())
@examples(12)
def test_floating_times_are_restored(pick: Pick) -> None:
    case = make_case(pick, KINDS["within whole"], strategy="random", floating_time=True)
    assert_restored_goes_on_as_uninterrupted(case)


def test_a_budget_in_bytes_is_restored_with_what_it_has_measured() -> None:
    stream = ps.Stream(time="t", window=100)
    join = ps.Join(
        streams={"a": stream, "b": stream}, on=ps.Equal("k"), budget=ps.Budget(memory=3_000)
    )
    batches = [
        {
            n: pa.table({"t": range(b, b + 9), "k": [1, 2, 3] * 3, "text": ["x" * b] * 9})
            for n in ("a", "b")
        }
        for b in range(0, 60, 9)
    ]
    assert_restored_goes_on_as_uninterrupted(Case(join, batches))


def test_rows_set_aside_as_far_ahead_are_remembered() -> None:
    stream = ps.Stream(time="t", window=5, max_ahead=10)
    join = ps.Join(streams={"a": stream, "b": stream}, on=ps.Equal("k"))
    times = [[1, 2, 3], [1000, 1001], [1002], [1003, 1004], [1005]]
    batches = [
        {n: pa.table({"t": part, "k": pa.array([1] * len(part))}) for n in ("a", "b")}
        for part in times
    ]
    assert_restored_goes_on_as_uninterrupted(Case(join, batches))


@pytest.mark.parametrize("array", CARRIED.values(), ids=CARRIED)
def test_payloads_of_any_type_are_restored(array: pa.Array) -> None:
    stream = ps.Stream(time="t", window=2)
    join = ps.Join(streams={"a": stream, "b": stream}, on=ps.Equal("k"))
    table = pa.table({"t": [1, 2, 3, 4], "k": [1, 1, 1, 1], "x": array})
    # Each row as a batch of its own, with a dictionary of its own.
    batches = [{n: table.take(pa.array([i])) for n in ("a", "b")} for i in range(4)]
    assert_restored_goes_on_as_uninterrupted(Case(join, [*batches, batches[-1]]))


# What is written, and what is not.


def make_plan(window: int = 10**6) -> Plan:
    stream = ps.Stream(time="t", window=window)
    join = ps.Join(streams={"a": stream, "b": stream}, on=ps.Equal("k"))
    schema = pa.schema([("t", pa.int64()), ("k", pa.string())])
    return bind(join, {"a": schema, "b": schema})


def rows(first: int, last: int) -> pa.Table:
    return pa.table({"t": range(first, last), "k": [f"k{i}" for i in range(first, last)]})


def test_only_the_head_is_written_if_nothing_came() -> None:
    operator, saved = Operator(make_plan()), Saved()
    operator.process({"a": rows(0, 10)})
    saved.update(operator)
    assert saved.written == {"head", "rows/a/0"}
    saved.update(operator)
    assert saved.written == {"head"}


def test_sub_windows_that_have_not_changed_are_not_written_again() -> None:
    operator, saved = Operator(make_plan()), Saved()
    operator.process({"a": rows(0, 100)})
    saved.update(operator)
    operator.process({"a": rows(100, 110), "b": rows(0, 5)})
    saved.update(operator)
    assert saved.written == {"head", "rows/a/1", "rows/b/0"}
    operator.process({"a": rows(110, 113)})
    saved.update(operator)
    assert saved.written == {"head", "rows/a/2"}


def test_of_a_sub_window_with_gaps_only_the_gaps_are_written() -> None:
    operator, saved = Operator(make_plan(window=50)), Saved()
    operator.process({"a": rows(0, 100)})
    saved.update(operator)
    operator.process({"b": rows(80, 81)})  # lets 30 rows of a go
    saved.update(operator)
    assert saved.written == {"head", "live/a/0", "rows/b/0"}
    assert len(saved.chunks["live/a/0"]) < 30
    saved.update(operator)
    assert saved.written == {"head"}
    restored = restore(operator.plan, saved.chunks)
    assert restored.metrics().streams["a"].held == 70
    saved.update(restored)
    assert saved.written == {"head"}


def test_what_is_no_longer_held_is_removed() -> None:
    operator, saved = Operator(make_plan(window=20)), Saved()
    for first in range(0, 2000, 10):
        operator.process({"a": rows(first, first + 10), "b": rows(first, first + 10)})
        saved.update(operator)
        assert len(saved.chunks) < 20
    operator.process({}, stream_progress=[progress_at(10**6)] * 2)
    saved.update(operator)
    assert set(saved.chunks) == {"head"}


def test_an_operator_that_has_seen_nothing_is_saved_and_restored() -> None:
    saved = Saved()
    saved.update(Operator(make_plan()))
    assert set(saved.chunks) == {"head"}
    restored = restore(make_plan(), saved.chunks)
    assert restored.process({"a": rows(0, 3), "b": rows(0, 3)}).num_rows == 3


def test_shards_are_restored_each_on_its_own() -> None:
    plan = make_plan()
    shards = [Operator(plan, shard=shard, shards=2) for shard in range(2)]
    results: Counter[tuple[str, ...]] = Counter()
    for shard, operator in enumerate(shards):
        saved = Saved()
        operator.process({"a": rows(10 * shard, 10 * shard + 10)})
        saved.update(operator)
        restored = restore(plan, saved.chunks, shard=shard, shards=2)
        results.update(canonical_rows(restored.process({"b": rows(0, 20)})))
    assert sum(results.values()) == 20

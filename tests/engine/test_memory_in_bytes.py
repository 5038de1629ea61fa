"""A budget in bytes is kept at every instant, whatever the rows' sizes do."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest

import penstock as ps
from penstock.engine.limits import Limits
from penstock.engine.operator import Operator
from penstock.engine.plan import bind
from penstock.engine.sharding import route
from penstock.engine.sizes import row_sizes
from penstock.engine.state import restore, save
from penstock.engine.stream_progress import progress_of_all
from penstock.testing import canonical_rows

if TYPE_CHECKING:
    from penstock.goals import Goal

GOALS = [
    *(ps.MaxSubset(strategy=name) for name in ("fifo", "random", "age", "prob", "best")),
    ps.Sample(),
    ps.Sample(strategy="eq-cluster"),
    *(ps.MaxImportance(of="value", strategy=name) for name in ("size", "greedy", "ijoin", "worth")),
]
ROWS = 6_000
MEMORY = 600_000


def _tables(*, jump: str) -> dict[str, pa.Table]:
    """Return rows of 30 bytes of text and then of 3,000, or the other way round."""
    tables = {}
    for number, name in enumerate("ab"):
        draws = np.random.default_rng(number)
        widths = np.where(np.arange(ROWS) < ROWS // 2, 30, 3_000)
        if jump == "down":
            widths = widths[::-1]
        tables[name] = pa.table(
            {
                "t": np.arange(ROWS),
                "k": draws.integers(0, 1_000, ROWS),
                "value": draws.integers(1, 100, ROWS).astype(float),
                "text": ["x" * width for width in widths.tolist()],
            }
        )
    return tables


def _join(goal: Goal, memory: int = MEMORY) -> ps.Join:
    return ps.Join(
        streams=dict.fromkeys("ab", ps.Stream(time="t", window=ROWS)),
        on=ps.Equal("k"),
        goal=goal,
        budget=ps.Budget(memory=memory),
    )


def _held(operator: Operator) -> int:
    """Return the bytes that are held, counted row by row."""
    total = 0
    for payload in operator.payloads:
        for number, window in payload.sub_windows.items():
            sizes = row_sizes(window.table)[payload.live(number)]
            total += int(sizes.sum()) + operator.store.row_overhead * sizes.size
    return total


@pytest.mark.parametrize("shards", [1, 3])
@pytest.mark.parametrize("jump", ["up", "down"])
@pytest.mark.parametrize("goal", GOALS, ids=repr)
def test_the_budget_is_kept_and_used(goal: Goal, jump: str, shards: int) -> None:
    tables = _tables(jump=jump)
    plan = bind(_join(goal), {name: table.schema for name, table in tables.items()})
    operators = [Operator(plan, shard=shard, shards=shards) for shard in range(shards)]
    step = 200
    for start in range(0, ROWS, step):
        batch = {name: table.slice(start, step) for name, table in tables.items()}
        progress = progress_of_all(plan, batch)
        held = 0
        for operator, part in zip(operators, route(plan, batch, shards), strict=True):
            operator.process(part, progress)
            held += _held(operator)
        assert held <= MEMORY
        # Enough has come for it to be full, and it has had time to fill again.
        if start >= ROWS // 4 and not 0 <= start - ROWS // 2 < ROWS // 4:
            assert held >= 0.9 * MEMORY
    for operator in operators:
        assert operator.metrics().bytes_most <= -(-MEMORY // shards)


@pytest.mark.parametrize("goal", GOALS, ids=repr)
def test_a_restart_changes_nothing(goal: Goal) -> None:
    tables = _tables(jump="up")
    plan = bind(_join(goal), {name: table.schema for name, table in tables.items()})
    one, other = Operator(plan), Operator(plan)
    stored: dict[str, bytes] = {}
    for start in range(0, ROWS, 1_000):
        batch = {name: table.slice(start, 1_000) for name, table in tables.items()}
        found = [canonical_rows(each.process(batch)) for each in (one, other)]
        assert found[0] == found[1]
        changes = save(other)
        stored = {n: d for n, d in stored.items() if n not in changes.removed} | dict(
            changes.written
        )
        other = restore(plan, stored)
    assert one.metrics() == other.metrics()


def test_a_row_larger_than_the_budget_pushes_nothing_out() -> None:
    small = pa.table({"t": range(100), "k": range(100), "text": ["x"] * 100})
    giant = pa.table({"t": [100], "k": [100], "text": ["x" * 100_000]})
    join = ps.Join(
        streams=dict.fromkeys("ab", ps.Stream(time="t", window=1_000)),
        on=ps.Equal("k"),
        budget=ps.Budget(memory=60_000),
    )
    done = join.replay({"a": [small, giant, small.slice(0, 0)], "b": [small.slice(0, 0)] * 3})
    assert done.metrics.streams["a"].held == 100
    assert done.metrics.streams["a"].dropped == 1


def test_costs_are_words_of_eight_bytes() -> None:
    rule = np.zeros(1, [(name, np.int64) for name in ("limit", "has_costs", "held", "taken")])
    limits = Limits(ps.Budget(memory=1000), rule, row_overhead=10, streams=2, shard=0, shards=2)
    assert rule["limit"][0] == 500 // 8
    assert limits.costs(np.array([0, 6, 7, 2**40])).tolist() == [2, 2, 3, 2**31 - 1]

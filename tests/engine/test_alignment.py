"""Streams out of step: rows that are ahead wait, and the order of delivery changes nothing."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest

import penstock as ps
from penstock.engine import spool
from penstock.engine.operator import Operator
from penstock.engine.plan import bind
from penstock.engine.sharding import route
from penstock.engine.state import is_spooled, restore, save
from penstock.engine.stream_progress import progress_of_all
from penstock.metrics import total
from penstock.testing import canonical_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from penstock.goals import Goal
    from penstock.metrics import Metrics

ROWS = 1_500
WINDOW = 200
GOALS = [
    ps.MaxSubset(strategy="fifo"),
    ps.MaxSubset(strategy="random"),
    ps.MaxSubset(),
    ps.Sample(),
    ps.MaxImportance(of="value"),
]
Batch = dict[str, pa.Table]


def _tables() -> Batch:
    tables = {}
    for number, name in enumerate("ab"):
        draws = np.random.default_rng(number)
        tables[name] = pa.table(
            {
                "t": np.sort(draws.integers(0, ROWS // 2, ROWS)),
                "k": draws.zipf(1.2, ROWS) % 500,
                "value": draws.integers(1, 100, ROWS).astype(float),
            }
        )
    return tables


def _join(goal: Goal | None = None, **settings: object) -> ps.Join:
    given = {"goal": goal or ps.MaxSubset(strategy="fifo"), "budget": ps.Budget(rows=100)}
    return ps.Join(
        streams=dict.fromkeys("ab", ps.Stream(time="t", window=WINDOW)),
        on=ps.Equal("k"),
        **given | settings,  # type: ignore[arg-type]
    )


def _cut(table: pa.Table, at: Sequence[int]) -> list[pa.Table]:
    return [table.slice(start, stop - start) for start, stop in pairwise([0, *at, table.num_rows])]


def _ahead(times: int, batches: int = 40) -> dict[str, list[pa.Table]]:
    """Return batches in which stream a is so many times as far as stream b."""
    tables = _tables()
    slow = [ROWS * n // batches for n in range(1, batches)]
    fast = [min(ROWS, times * n) for n in slow]
    return {"a": _cut(tables["a"], fast), "b": _cut(tables["b"], slow)}


def _at_random(seed: int) -> dict[str, list[pa.Table]]:
    draws = np.random.default_rng(seed)
    return {
        name: _cut(table, np.sort(draws.integers(0, ROWS, 15)).tolist())
        for name, table in _tables().items()
    }


def _run(
    join: ps.Join, batches: dict[str, list[pa.Table]], *, shards: int = 1, saving: bool = False
) -> tuple[list[tuple[str, ...]], Metrics]:
    """Take a join through batches; with `saving`, through a new operator for every batch."""
    plan = bind(join, {name: parts[0].schema for name, parts in batches.items()})
    operators = [
        Operator(plan, shard=shard, shards=shards, aligned=True) for shard in range(shards)
    ]
    stored: list[dict[str, bytes]] = [{} for _ in range(shards)]
    results = []
    count = len(batches["a"])
    for number in range(count):
        batch = {name: parts[number] for name, parts in batches.items()}
        progress = progress_of_all(plan, batch) if shards > 1 else None
        for shard, part in enumerate(route(plan, batch, shards)):
            last = number == count - 1
            results.append(operators[shard].process(part, progress, last=last))
            if saving:
                changes = save(operators[shard])
                for name in changes.removed:
                    del stored[shard][name]
                stored[shard].update(changes.written)
                kept = {n: d for n, d in stored[shard].items() if not is_spooled(n)}
                operators[shard] = restore(
                    plan,
                    kept,
                    shard=shard,
                    shards=shards,
                    aligned=True,
                    fetch=stored[shard].get,
                )
    metrics = total(operator.metrics() for operator in operators)
    return canonical_rows(pa.concat_tables(results)), metrics


@pytest.mark.parametrize("shards", [1, 3])
@pytest.mark.parametrize("goal", GOALS, ids=repr)
def test_the_order_of_delivery_changes_nothing(goal: Goal, shards: int) -> None:
    join = _join(goal)
    in_step = _run(join, _ahead(1), shards=shards)
    assert in_step[1].lost > 0
    for batches in (_ahead(4), _ahead(100), _at_random(1)):
        rows, metrics = _run(join, batches, shards=shards)
        assert rows == in_step[0]
        assert metrics == in_step[1]


@pytest.mark.parametrize("goal", GOALS, ids=repr)
def test_nor_do_restarts(goal: Goal) -> None:
    join = _join(goal)
    batches = _ahead(20, batches=12)
    assert _run(join, batches, saving=True) == _run(join, batches)


def test_much_that_has_waited_comes_back_step_by_step(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = _run(_join(), _ahead(100))
    monkeypatch.setattr(spool, "_CHUNK_BYTES", 1_000)
    monkeypatch.setattr(spool, "_STEP_BYTES", 3_000)
    assert _run(_join(), _ahead(100)) == whole
    assert _run(_join(), _ahead(100), saving=True) == whole


def test_without_waiting_rows_that_are_ahead_push_out_those_that_matter() -> None:
    in_step = _run(_join(), _ahead(1))[1].emitted
    assert _run(_join(), _ahead(20))[1].emitted == in_step
    assert _run(_join(align="off"), _ahead(20))[1].emitted < 0.8 * in_step


def test_rows_ahead_by_less_than_align_take_part_at_once() -> None:
    join = _join(budget=None, goal=ps.MaxSubset(), align=10)
    plan = bind(join, {name: table.schema for name, table in _tables().items()})
    operator = Operator(plan, aligned=True)
    ahead = pa.table({"t": [0, 9, 10, 30], "k": [0] * 4, "value": [1.0] * 4})
    behind = pa.table({"t": [0], "k": [0], "value": [1.0]})
    found = operator.process({"a": ahead, "b": behind})
    assert found["time"].to_pylist() == [0, 9]
    caught_up = pa.table({"t": [21], "k": [1], "value": [1.0]})
    assert operator.process({"b": caught_up})["time"].to_pylist() == [10, 30]


def test_the_exact_join_does_not_wait_unless_asked() -> None:
    plan = bind(
        _join(budget=None, goal=ps.MaxSubset()), {n: t.schema for n, t in _tables().items()}
    )
    operator = Operator(plan, aligned=True)
    rows = pa.table({"t": [0, 100], "k": [0, 0], "value": [1.0, 1.0]})
    assert operator.process({"a": rows, "b": rows.slice(0, 1)}).num_rows == 2


class TestSpool:
    def test_more_than_may_wait_is_an_error_that_says_what_to_do(self) -> None:
        tables = _tables()
        join = _join(spool=2_000)
        plan = bind(join, {name: table.schema for name, table in tables.items()})
        operator = Operator(plan, aligned=True)
        with pytest.raises(ps.PenstockError, match='rows of stream "a" that wait for stream "b"'):
            operator.process({"a": tables["a"]})

    def test_a_restart_may_have_a_larger_one(self) -> None:
        tables = _tables()
        schemas = {name: table.schema for name, table in tables.items()}
        operator = Operator(bind(_join(spool="1MB"), schemas), aligned=True)
        operator.process({"a": tables["a"]})
        stored = dict(save(operator).written)
        larger = bind(_join(spool="2MB", align="off"), schemas)
        restored = restore(larger, stored, aligned=True)
        assert restored.process({}).num_rows == 0
        assert not restored.alignment.spool  # they wait no longer

    @pytest.mark.parametrize("wrong", [0, -1, "much", "10", None, 1.5])
    def test_what_it_may_be(self, wrong: object) -> None:
        with pytest.raises(ps.SpecificationError, match="spool must be an amount of disk"):
            _join(spool=wrong)


class TestIdle:
    def _operator(self, idle: int | None) -> Operator:
        join = ps.Join(
            streams={
                "a": ps.Stream(time="t", window=50),
                "b": ps.Stream(time="t", window=50, idle=idle),
            },
            on=ps.Equal("k"),
        )
        schema = _tables()["a"].schema
        return Operator(bind(join, {"a": schema, "b": schema}), aligned=True)

    def _rows(self, *times: int) -> pa.Table:
        schema = _tables()["a"].schema
        return pa.table({"t": times, "k": [0] * len(times), "value": [1.0] * len(times)}, schema)

    def test_a_silent_stream_keeps_rows_in_memory(self) -> None:
        operator = self._operator(None)
        for start in range(0, 2_000, 100):
            operator.process({"a": self._rows(*range(start, start + 100))})
        assert operator.store.held == 2_000

    def test_unless_it_is_idle(self) -> None:
        operator = self._operator(200)
        for start in range(0, 2_000, 100):
            operator.process({"a": self._rows(*range(start, start + 100))})
        assert operator.store.held == 251  # of times 1749 to 1999
        assert operator.complete_until() == 1_799

    def test_rows_that_come_after_all_are_late(self) -> None:
        operator = self._operator(200)
        operator.process({"a": self._rows(*range(1_000)), "b": self._rows(0)})
        found = operator.process({"b": self._rows(700, 798, 799, 900)})
        assert operator.metrics().streams["b"].late == 2
        assert set(found["time"].to_pylist()) == {*range(799, 850), *range(900, 951)}

    def test_with_a_budget_it_no_longer_keeps_others_waiting(self) -> None:
        join = ps.Join(
            streams={
                "a": ps.Stream(time="t", window=50),
                "b": ps.Stream(time="t", window=50, idle=200),
            },
            on=ps.Equal("k"),
            budget=ps.Budget(rows=100),
        )
        schema = _tables()["a"].schema
        operator = Operator(bind(join, {"a": schema, "b": schema}), aligned=True)
        operator.process({"a": self._rows(*range(1_000)), "b": self._rows(0)})
        assert operator.alignment.spool.rows(0) == 201  # from 799, up to which b was passed


@pytest.mark.parametrize("wrong", [-1, "soon", "10", "5 minutes", float("nan")])
def test_what_align_may_be(wrong: object) -> None:
    with pytest.raises(ps.SpecificationError):
        _join(align=wrong)

"""Compiles the kernels ahead of time, so that no join has to wait for them.

Numba compiles a kernel when it is first called with arguments of new types, and keeps the code on
disk.
"""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from penstock.budget import Budget
from penstock.costs import Costs
from penstock.engine import state
from penstock.engine.operator import Operator
from penstock.engine.plan import bind
from penstock.engine.sharding import route
from penstock.engine.stream_progress import progress_of_all
from penstock.goals import Goal, MaxImportance, MaxSubset, Sample
from penstock.join import Join
from penstock.predicates import Compare, Equal, Predicate, Similar, Within
from penstock.spec import Stream

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["compile_for", "compile_kernels"]

# Kernels are compiled for each type of times and of values: whole numbers (timestamps too), floats.
_TYPES = {"whole": pa.int64(), "fraction": pa.float64()}

_SHARDS = 2
_ROWS = 200
# Where the second micro-batch begins, and importance and the size of rows change.
_CHANGE = 100
_CHANGING = [(None, 1.0), (_CHANGE, 2.0)]
# So little that rows are shed from the first review on.
_LITTLE_WORK = Budget(cpu=0.01, costs=Costs(insert=1.0, result=1.0))
_FEW_COMPARISONS = Budget(cpu=0.01, costs=Costs(compare=1.0))

# One goal for each order in which rows can be kept, and for each kind of statistics.
_GOALS: tuple[Goal, ...] = (
    MaxSubset(strategy="fifo"),
    MaxSubset(strategy="random"),
    MaxSubset(),
    MaxImportance(of=_CHANGING, strategy="ijoin"),
    MaxImportance(of=_CHANGING, strategy="greedy"),
    MaxImportance(of=1.0),
    Sample(),
    Sample(strategy="uniform"),
)


def compile_kernels(*, processes: int = 2, report: Callable[[str], object] = len) -> None:
    """Compile all kernels, as far as they are not on disk yet.

    Parameters
    ----------
    processes
        Number of processes that compile at a time, at most four.
    report
        Called with words on how far it is.
    """
    parts = list(product(_TYPES, _TYPES))
    report(f"0 of {len(parts)} parts done")
    with ProcessPoolExecutor(min(processes, len(parts))) as pool:
        running = [pool.submit(compile_for, *part) for part in parts]
        for number, done in enumerate(as_completed(running), start=1):
            done.result()
            report(f"{number} of {len(parts)} parts done")


def compile_for(time: str, value: str) -> None:
    """Compile the kernels for times and values of a type: "whole" or "fraction".

    They are compiled by use: small joins run as on Spark, in two shards and two micro-batches, and
    are restored from their state in between. Some rows of the first expire in the second.
    """
    table = _table(time, value)
    predicates: list[Predicate] = [Within(1, a="value", b="value")]
    if value == "whole":  # the type of values makes no difference to keys
        predicates += [Equal("number"), Equal("text", "number")]
    streams = {name: Stream(time="time", window=130) for name in ("a", "b")}
    cases = list(product(predicates, _GOALS))
    if value == "fraction":  # keys too, but of this predicate alone
        cases.append((Compare("=", a="value", b="value"), MaxSubset()))
    for on, goal in cases:
        join = Join(streams=streams, on=on, goal=goal, budget=Budget(rows=40))
        _run(join, table)
        if goal == MaxSubset():
            _run(replace(join, budget=None), table)
            if time == value == "whole":  # the usual join, restarted with half of its budget
                _run(join, table, replace(join, budget=Budget(rows=20)))
            _run(replace(join, budget=Budget(memory="40kB")), table)
        if goal in (MaxSubset(), Sample()):
            _run(replace(join, budget=_LITTLE_WORK), table)
    # Without a limit of memory: with one the first join of vectors waits.
    vectors = {"whole": "short", "fraction": "long"}[value]
    similar = Join(streams=streams, on=Similar(1.0, a=vectors, b=vectors))
    _run(similar, table)
    _run(replace(similar, budget=_FEW_COMPARISONS), table)


def _table(time: str, value: str) -> pa.Table:
    numbers = np.arange(_ROWS)
    return pa.table(
        {
            "time": pa.array(numbers).cast(_TYPES[time]),
            "value": pa.array(numbers % 7).cast(_TYPES[value]),
            "number": numbers % 7,
            # One is so long that the table of keys has to grow.
            "text": [f"key {i % 7}" * (5_000 if i == 0 else 1) for i in range(_ROWS)],
            "list": [[i, None] for i in range(_ROWS)],
            "short": pa.array([[i % 7.0] for i in range(_ROWS)], pa.list_(pa.float32())),
            "long": pa.array([[i % 7.0] for i in range(_ROWS)], pa.list_(pa.float64())),
            # Rows grow, so that a budget in bytes holds fewer of them.
            "padding": ["" if i < _CHANGE else "x" * 2_000 for i in range(_ROWS)],
        }
    )


def _run(join: Join, table: pa.Table, changed: Join | None = None) -> None:
    """Join a table with itself as on Spark: by shards, with state that is saved and restored.

    It may be restored by a join that has changed.
    """
    plan = bind(join, dict.fromkeys(join.names, table.schema))
    restored = bind(changed or join, dict.fromkeys(join.names, table.schema))
    saved: list[Mapping[str, bytes]] = [{}] * _SHARDS
    for half in (table.slice(0, _CHANGE), table.slice(_CHANGE)):
        batch = dict.fromkeys(join.names, half)
        progress = progress_of_all(plan, batch)
        for shard, part in enumerate(route(plan, batch, _SHARDS)):
            if saved[shard]:
                operator = state.restore(restored, saved[shard], shard=shard, shards=_SHARDS)
            else:
                operator = Operator(plan, shard=shard, shards=_SHARDS)
            for _ in operator.pieces(part, progress):
                pass
            saved[shard] = state.save(operator).written
            if operator.limits.most_rows is not None:
                operator.allot(operator.limits.amount // 2)  # as in a workload

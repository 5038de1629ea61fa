"""What the tests of the engine share: running twins side by side."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st

from penstock.engine.operator import Operator
from penstock.engine.plan import Plan, bind
from penstock.engine.stream_progress import StreamProgress
from tests.conftest import JIT_IS_OFF
from tests.engine.cases import seeded
from tests.engine.soundness import assert_sound
from tests.oracles.naive_operator import NaiveOperator

if TYPE_CHECKING:
    import pyarrow as pa

    from penstock.metrics import Metrics
    from tests.engine.cases import Case

# Returns a whole number from its first to its second argument, both included.
Pick: TypeAlias = Callable[[int, int], int]

COUNTERS = (
    "arrived",
    "late",
    "bad_times",
    "null_keys",
    "dropped",
    "evicted",
    "expired",
    "held_most",
)


def examples(number: int) -> settings:
    """Return settings for so many examples; a fifth of them with the JIT off, which is slower."""
    return settings(max_examples=max(1, number // 5) if JIT_IS_OFF else number)


@st.composite
def choices(draw: st.DrawFn) -> Pick:
    """Return a source of choices: made one by one by Hypothesis, which can shrink them, or seeded.

    Its own choices are often the least ones, so that little happens; a seed spreads them evenly.
    """
    seed = draw(st.integers(-1, 10**6))
    return seeded(seed) if seed >= 0 else lambda first, last: draw(st.integers(first, last))


def progress_at(*times: int) -> StreamProgress:
    """Return the progress of a stream with one row at each time."""
    return StreamProgress(
        np.array(times, np.int64), np.array(times, np.int64), np.ones(len(times), np.int64), 0
    )


def assert_twins(case: Case) -> Metrics:
    """Compare the operator with its naive twin: results and counters, batch by batch."""
    plan = bind(case.join, case.schemas)
    fast, slow = Operator(plan), NaiveOperator(plan)
    texts = [
        [[repr(row) for row in tables[name].to_pylist()] for name in plan.spec.names]
        for tables in case.batches
    ]
    for tables in case.batches:
        result = fast.process({n: table for n, table in tables.items() if table.num_rows})
        expected = slow.process(tables)
        assert _struct_rows(result, plan) == Counter(
            tuple(texts[batch][s][row] for s, (batch, row) in enumerate(members))
            for members in expected
        )
        assert_same_counts(fast, slow)
        assert_sound(fast)
    return fast.metrics()


def _struct_rows(result: pa.Table, plan: Plan) -> Counter[tuple[str, ...]]:
    columns: list[list[Any]] = [result.column(name).to_pylist() for name in plan.spec.names]
    rows = list(zip(*columns, strict=True))
    newest = [
        max(member[side.time] for member, side in zip(row, plan.sides, strict=True)) for row in rows
    ]
    assert result.column("time").to_pylist() == newest
    return Counter(tuple(map(repr, row)) for row in rows)


def assert_same_counts(fast: Operator, slow: NaiveOperator) -> None:
    metrics = fast.metrics()
    assert metrics.emitted == slow.emitted
    assert metrics.held_most == slow.held_most
    # What the monitored rows show, also where counts of keys show more.
    assert np.isclose(fast.store.memory.gauges["total"].sum(), slow.estimate)
    for s, (name, stream) in enumerate(metrics.streams.items()):
        counted = {counter: getattr(stream, counter) for counter in COUNTERS}
        assert counted == {counter: slow.counts[s][counter] for counter in COUNTERS}, name
        assert stream.held == len(slow.held[s]), name
        fates = (stream.late, stream.invalid, stream.dropped, stream.evicted, stream.expired)
        assert stream.arrived == sum(fates) + stream.held, name

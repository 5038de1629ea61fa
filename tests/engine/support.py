"""What the tests of the engine share: running twins side by side."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

from hypothesis import settings
from hypothesis import strategies as st

from penstock.engine.operator import Operator
from penstock.engine.plan import Plan, bind
from tests.conftest import JIT_IS_OFF
from tests.oracles.naive_operator import NaiveOperator

if TYPE_CHECKING:
    import pyarrow as pa

    from penstock.metrics import Metrics
    from tests.engine.cases import Case

# Gives a whole number from its first to its second argument, both included.
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
    """So many examples; a tenth of them with the JIT off, which is a hundred times slower."""
    return settings(max_examples=max(1, number // 10) if JIT_IS_OFF else number)


@st.composite
def choices(draw: st.DrawFn) -> Pick:
    """Give a source of choices that Hypothesis makes, and shrinks."""
    return lambda first, last: draw(st.integers(first, last))


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
        assert_same_counts(fast.metrics(), slow)
    return fast.metrics()


def _struct_rows(result: pa.Table, plan: Plan) -> Counter[tuple[str, ...]]:
    columns: list[list[Any]] = [result.column(name).to_pylist() for name in plan.spec.names]
    return Counter(tuple(map(repr, row)) for row in zip(*columns, strict=True))


def assert_same_counts(metrics: Metrics, slow: NaiveOperator) -> None:
    assert metrics.emitted == slow.emitted
    assert metrics.held_most == slow.held_most
    for s, (name, stream) in enumerate(metrics.streams.items()):
        counted = {counter: getattr(stream, counter) for counter in COUNTERS}
        assert counted == {counter: slow.counts[s][counter] for counter in COUNTERS}, name
        assert stream.held == len(slow.held[s]), name
        fates = (stream.late, stream.invalid, stream.dropped, stream.evicted, stream.expired)
        assert stream.arrived == sum(fates) + stream.held, name

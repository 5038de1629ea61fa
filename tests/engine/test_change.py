"""State that is restored by a join with another budget, strategy or definition of importance."""

from __future__ import annotations

from collections import Counter
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest

import penstock as ps
from penstock.engine.operator import Operator
from penstock.engine.plan import bind
from penstock.engine.state import restore, save
from penstock.errors import StateError
from penstock.testing import canonical_rows
from tests.engine.soundness import assert_sound

if TYPE_CHECKING:
    from collections.abc import Mapping

    from penstock.goals import Goal

WINDOW = 60
ENOUGH = ps.Budget(rows=10_000)
SMALL = ps.Budget(rows=40)
COSTS = ps.Costs(insert=1.0, result=1.0)


@cache
def batches() -> tuple[dict[str, pa.Table], ...]:
    """Return six micro-batches of two streams whose keys differ in frequency."""
    draw = np.random.default_rng(7)

    def table(start: int) -> pa.Table:
        rows = 90
        key = np.minimum(draw.geometric(0.25, rows) - 1, 12)
        return pa.table(
            {
                "t": np.sort(draw.integers(start, start + 40, rows)),
                "k": [f"key {each}" for each in key],
                "x": draw.integers(0, 50, rows),
                "y": draw.integers(0, 50, rows),
            }
        )

    return tuple({name: table(40 * i) for name in ("a", "b")} for i in range(6))


SCHEMAS = {name: table.schema for name, table in batches()[0].items()}


def join_of(goal: Goal, budget: ps.Budget | None, **changed: Any) -> ps.Join:  # noqa: ANN401
    streams = {name: ps.Stream(time="t", window=WINDOW) for name in ("a", "b")}
    settings: dict[str, Any] = {"streams": streams, "on": ps.Equal("k"), "seed": 5} | changed
    return ps.Join(goal=goal, budget=budget, **settings)


def rows_of(result: pa.Table) -> Counter[tuple[str, ...]]:
    """Return results without what a goal adds to them."""
    kept = [name for name in result.column_names if name in ("a", "b", "time")]
    return Counter(canonical_rows(result.select(kept)))


@cache
def exact() -> tuple[Counter[tuple[str, ...]], ...]:
    operator = Operator(bind(join_of(ps.MaxSubset(), None), SCHEMAS))
    return tuple(rows_of(operator.process(tables)) for tables in batches())


def saved_by(join: ps.Join, after: int = 3) -> tuple[dict[str, bytes], Operator]:
    """Run a join over the first micro-batches; return its state."""
    operator = Operator(bind(join, SCHEMAS), ordered=True)
    for tables in batches()[:after]:
        operator.process(tables)
    return dict(save(operator).written), operator


def changed_to(
    join: ps.Join, chunks: Mapping[str, bytes], before: Operator, *, after: int = 3
) -> Operator:
    """Restore a state with another join, go on, and check all that must hold."""
    plan = bind(join, SCHEMAS)
    operator = restore(plan, chunks)
    assert_sound(operator)
    limit = operator.limits.most_rows
    kept = dict(chunks)
    emitted, arrived = before.metrics().emitted, before.metrics().arrived
    assert operator.metrics().emitted == emitted
    assert operator.metrics().arrived == arrived
    for number, tables in enumerate(batches()[after:], start=after):
        # Saved and restored without a change, it goes on as it would have.
        changes = save(operator)
        assert set(changes.removed) <= kept.keys()
        kept = {n: c for n, c in kept.items() if n not in changes.removed} | dict(changes.written)
        assert kept.keys() == {"head", *operator.saved}
        twin = restore(plan, kept)
        assert twin.metrics() == operator.metrics()
        result = operator.process(tables)
        assert canonical_rows(twin.process(tables)) == canonical_rows(result)
        assert twin.metrics() == operator.metrics()
        assert_sound(operator)
        found = rows_of(result)
        assert found <= exact()[number]
        if limit is not None:
            assert operator.store.held <= limit
            assert operator.metrics().held_most <= limit
        if join.budget in (None, ENOUGH) and before.metrics().lost == 0:
            assert found == exact()[number]
    return operator


SUBSET = ("fifo", "random", "age", "prob", None)
IMPORTANCE = ("fifo", "greedy", "ijoin", "worth")
SAMPLES = ("eq-cluster", "pps-cluster")


def pairs(kind: type[Goal], strategies: tuple[str | None, ...], **said: Any) -> list[Any]:  # noqa: ANN401
    """Return each strategy with the next one, for the quick tests, and all others."""
    return [
        pytest.param(
            kind(strategy=a, **said),
            kind(strategy=b, **said),
            marks=[] if j in (i, (i + 1) % len(strategies)) else [pytest.mark.slow],
            id=f"{kind.__name__} {a} {b}",
        )
        for i, a in enumerate(strategies)
        for j, b in enumerate(strategies)
    ]


PAIRS = [
    *pairs(ps.MaxSubset, SUBSET),
    *pairs(ps.MaxImportance, IMPORTANCE, of="x"),
    *pairs(ps.Sample, SAMPLES),
    *pairs(ps.Sample, ("uniform",)),
]


@pytest.mark.parametrize(("old", "new"), PAIRS)
def test_another_strategy_and_half_of_the_budget(old: Goal, new: Goal) -> None:
    chunks, before = saved_by(join_of(old, ps.Budget(rows=80)))
    after = changed_to(join_of(new, SMALL), chunks, before)
    assert after.metrics().lost > before.metrics().lost
    assert after.metrics().recall is not None


@pytest.mark.parametrize("strategy", [None, "fifo", "random"])
def test_enough_again_is_exact_once_a_window_has_gone_by(strategy: str | None) -> None:
    goal = ps.MaxSubset(strategy=strategy)
    chunks, before = saved_by(join_of(goal, SMALL))
    after = restore(bind(join_of(goal, ENOUGH), SCHEMAS), chunks)
    found = [rows_of(after.process(tables)) for tables in batches()[3:]]
    assert found[0] < exact()[3]
    # Rows that had left are missed as long as they would have been in their window.
    assert found[2] == exact()[5]
    assert before.metrics().lost == after.metrics().lost


@pytest.mark.parametrize("goal", [ps.MaxSubset(), ps.MaxSubset(strategy="random")])
@pytest.mark.parametrize("budget", [SMALL, ENOUGH, ps.Budget(memory=12_000)])
def test_from_no_budget_to_one(goal: Goal, budget: ps.Budget) -> None:
    chunks, before = saved_by(join_of(ps.MaxSubset(), None))
    after = changed_to(join_of(goal, budget), chunks, before).metrics()
    truth = sum(sum(each.values()) for each in exact())
    assert after.true_size is not None
    if budget is ENOUGH:
        assert after.emitted == truth
        return
    assert after.lost
    # What came before the change is known for certain, and rows in memory are monitored at once.
    assert after.true_size.low <= truth <= after.true_size.high


@pytest.mark.parametrize("budget", [ENOUGH, ps.Budget(cpu=1.0, costs=ps.Costs(result=1e-9))])
def test_back_to_no_budget_if_nothing_was_lost(budget: ps.Budget) -> None:
    chunks, before = saved_by(join_of(ps.MaxSubset(), budget))
    assert before.metrics().lost == 0
    changed_to(join_of(ps.MaxSubset(), None), chunks, before)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (ps.Budget(rows=80), ps.Budget(memory=15_000)),
        (ps.Budget(memory=40_000), ps.Budget(rows=50)),
        (ps.Budget(rows=80), ps.Budget(rows=80, monitor=0.4)),
        (ps.Budget(rows=80), ps.Budget(rows=80, monitor=0.0)),
        (ps.Budget(rows=80), ps.Budget(rows=60, cpu=0.5, costs=COSTS)),
        (ps.Budget(rows=80, cpu=0.5, costs=COSTS), ps.Budget(rows=60)),
        (ps.Budget(cpu=0.9, costs=COSTS), ps.Budget(cpu=0.3, costs=COSTS)),
        (ps.Budget(cpu=0.9, costs=COSTS), ps.Budget(rows=60)),
        (None, ps.Budget(cpu=0.9, costs=COSTS)),
        (ENOUGH, ps.Budget(cpu=0.9, costs=COSTS)),
    ],
    ids=str,
)
def test_another_kind_of_budget(old: ps.Budget | None, new: ps.Budget) -> None:
    chunks, before = saved_by(join_of(ps.MaxSubset(), old))
    after = changed_to(join_of(ps.MaxSubset(), new), chunks, before)
    assert after.metrics().lost > before.metrics().lost
    if new.memory is not None:
        assert after.metrics().bytes_most <= 15_000


def test_what_was_learned_goes_on() -> None:
    chunks, before = saved_by(join_of(ps.MaxSubset(strategy="prob"), ps.Budget(rows=80)))
    after = restore(bind(join_of(ps.MaxSubset(strategy="expected"), SMALL), SCHEMAS), chunks)
    old, new = before.reviewer, after.reviewer
    assert old is not None and new is not None  # noqa: PT018
    assert old.observer is not None and new.observer is not None  # noqa: PT018
    assert [new.observer.rates.of(s) for s in (0, 1)] == [old.observer.rates.of(s) for s in (0, 1)]
    assert old.observer.likeliness is not None
    assert new.observer.likeliness is not None
    for s in (0, 1):
        ours, theirs = (
            each.values(s, 99) for each in (old.observer.likeliness, new.observer.likeliness)
        )
        assert ours is not None and theirs is not None  # noqa: PT018
        assert ours[0].tolist() == theirs[0].tolist()
    assert after.metrics().estimated == before.metrics().estimated


def test_rows_leave_by_the_choice_of_the_new_strategy() -> None:
    chunks, _ = saved_by(
        join_of(ps.MaxImportance(of="x", strategy="fifo"), ps.Budget(rows=80, monitor=0.0))
    )
    goal = ps.MaxImportance(of="y", strategy="greedy")
    after = restore(bind(join_of(goal, ps.Budget(rows=30, monitor=0.0)), SCHEMAS), chunks)
    unchanged = restore(
        bind(
            join_of(ps.MaxImportance(of="x", strategy="fifo"), ps.Budget(rows=80, monitor=0.0)),
            SCHEMAS,
        ),
        chunks,
    )

    def important(operator: Operator, s: int) -> list[int]:
        rows = operator.store.in_queue(s)
        refs = operator.store.memory.rows["ref"][rows]
        return sorted(operator.payloads[s].gather(refs).column("y").to_pylist(), reverse=True)

    for s in (0, 1):
        kept = important(after, s)
        assert kept == important(unchanged, s)[: len(kept)]


REFUSED: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "other goal": (
        {"goal": ps.MaxSubset(), "budget": SMALL},
        {"goal": ps.Sample(), "budget": SMALL},
        "goal must be a MaxSubset as in the saved state: MaxSubset(strategy=None); got Sample(",
    ),
    "matches, not rows": (
        {"goal": ps.Sample(strategy="eq-cluster"), "budget": SMALL},
        {"goal": ps.Sample(strategy="uniform"), "budget": SMALL},
        "goal must draw rows with all their matches, as the saved state has: Sample(strategy='eq-",
    ),
    "sample by cpu": (
        {"goal": ps.Sample(strategy="eq-cluster"), "budget": SMALL},
        {"goal": ps.Sample(strategy="eq-cluster"), "budget": ps.Budget(cpu=0.5, costs=COSTS)},
        "budget of a sample must limit memory, as in the saved state: Budget(rows=40",
    ),
    "no budget": (
        {"goal": ps.MaxSubset(), "budget": SMALL},
        {"goal": ps.MaxSubset(), "budget": None},
        "budget must limit rows or memory, because rows were lost with Budget(rows=40",
    ),
    "cpu instead of rows": (
        {"goal": ps.MaxSubset(), "budget": SMALL},
        {"goal": ps.MaxSubset(), "budget": ps.Budget(cpu=0.5, costs=COSTS)},
        "budget must limit rows or memory, because rows were lost with Budget(rows=40",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_change_is_refused_with_both_values(case: str) -> None:
    old, new, words = REFUSED[case]
    chunks, _ = saved_by(join_of(**old))
    with pytest.raises(StateError) as caught:
        restore(bind(join_of(**new), SCHEMAS), chunks)
    assert str(caught.value).startswith(words)
    assert str(caught.value).endswith("or start without the saved state")


@pytest.mark.parametrize("budget", [None, SMALL])
@pytest.mark.parametrize("place", [1, 4])
def test_an_added_column_is_null_in_earlier_rows(budget: ps.Budget | None, place: int) -> None:
    join = join_of(ps.MaxSubset(strategy="fifo"), budget)
    chunks, before = saved_by(join)
    noted = pa.field("note", pa.string())
    schemas = SCHEMAS | {"b": SCHEMAS["b"].insert(place, noted)}
    after = restore(bind(join, schemas), chunks)
    twin = restore(bind(join, SCHEMAS), chunks)
    assert after.store.held == twin.store.held == before.store.held
    for number, tables in enumerate(batches()[3:], start=3):
        notes = pa.array(["new"] * tables["b"].num_rows)
        wider = tables | {"b": tables["b"].add_column(place, noted, notes)}
        result, expected = after.process(wider), twin.process(tables)
        b = pa.Table.from_struct_array(result["b"].combine_chunks())
        times = np.array(b.column("t"))
        assert b.column("note").to_pylist() == [None if t < 120 else "new" for t in times]
        narrow = pa.StructArray.from_arrays(
            [b.column(f.name).combine_chunks() for f in SCHEMAS["b"]], fields=list(SCHEMAS["b"])
        )
        where = result.column_names.index("b")
        found = rows_of(result.set_column(where, "b", narrow))
        if budget is None:
            assert found == rows_of(expected)
        else:  # rows of the same time are in another order, which is by what they hold
            assert found <= exact()[number]


def test_an_added_column_must_be_nullable() -> None:
    join = join_of(ps.MaxSubset(), None)
    chunks, _ = saved_by(join)
    schemas = SCHEMAS | {"b": SCHEMAS["b"].append(pa.field("note", pa.string(), nullable=False))}
    with pytest.raises(
        StateError, match=r'columns added to stream "b" must be nullable, .* got note'
    ):
        restore(bind(join, schemas), chunks)


def test_several_changes_one_after_the_other() -> None:
    goals = [ps.MaxSubset(strategy=each) for each in ("random", None, "fifo", "prob", "random")]
    rows = (60, 20, 90, 45, 30)
    chunks: dict[str, bytes] = {}
    operator = Operator(bind(join_of(goals[0], ps.Budget(rows=rows[0])), SCHEMAS), ordered=True)
    for number, tables in enumerate(batches()):
        found = rows_of(operator.process(tables))
        assert found <= exact()[number]
        assert_sound(operator)
        assert operator.store.held <= rows[number % 5]
        at = (number + 1) % 5
        join = join_of(goals[at], ps.Budget(rows=rows[at]))
        chunks = _merged(chunks, operator)
        operator = restore(bind(join, SCHEMAS), chunks)
        assert operator.store.held <= rows[at]


def _merged(chunks: dict[str, bytes], operator: Operator) -> dict[str, bytes]:
    changes = save(operator)
    return {n: c for n, c in chunks.items() if n not in changes.removed} | dict(changes.written)

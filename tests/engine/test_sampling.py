"""Naive == fast: samples of a join against their twin."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from hypothesis import given

import penstock as ps
from penstock.engine.operator import Operator
from penstock.engine.plan import bind
from penstock.engine.retention import sample
from tests.engine.cases import KINDS, Case, Size, make_case
from tests.engine.soundness import assert_sound
from tests.engine.support import assert_same_counts, choices, examples
from tests.oracles.naive_sampler import NaiveSampler

if TYPE_CHECKING:
    from tests.engine.support import Pick

pytestmark = pytest.mark.nojit

STRATEGIES = ("eq-cluster", "uniform")
# Fewer rows than come between two reviews: nothing is learned.
SMALL = Size(batches=4, rows=8, times=8, window=20, budget=9)
LARGE = Size(batches=5, rows=24, times=20, window=60, budget=40, full=True)
# Numbers of matches that rows are said to have, rightly or not.
SAID = (None, 0, 1, 2, 3, 5, 8, 30)


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("name", ["equal whole", "equal text", "within float", "compare <="])
@given(pick=choices())
@examples(15)
def test_a_sample_is_that_of_its_naive_twin(name: str, strategy: str, pick: Pick) -> None:
    assert_twins(made(pick, name, strategy, SMALL), pick)


@pytest.mark.parametrize("strategy", STRATEGIES)
@given(pick=choices())
@examples(15)
def test_a_large_sample_is_that_of_its_naive_twin(strategy: str, pick: Pick) -> None:
    assert_twins(made(pick, "equal whole", strategy, LARGE), pick)


@pytest.mark.parametrize("strategy", STRATEGIES)
@given(pick=choices())
@examples(15)
def test_where_the_fraction_rises_again_so_does_the_twins(strategy: str, pick: Pick) -> None:
    assert_twins(made(pick, "equal whole", strategy, LARGE), pick, raising=True)


@pytest.mark.parametrize("strategy", STRATEGIES)
@given(pick=choices())
@examples(15)
def test_where_the_limit_falls_so_does_the_twins(strategy: str, pick: Pick) -> None:
    """A budget in bytes, with rows that grow."""
    assert_twins(made(pick, "equal whole", strategy, SMALL, in_bytes=True), pick, raising=True)


def made(pick: Pick, name: str, strategy: str, size: Size, *, in_bytes: bool = False) -> Case:
    """Make a join that is sampled, of rows that all differ."""
    case = make_case(pick, KINDS[name], strategy="eq-cluster", size=size, in_bytes=in_bytes)
    goal = ps.Sample(strategy=strategy, fraction=(None, None, 0.6)[pick(0, 2)])
    budget = case.join.budget
    assert budget is not None
    if strategy == "uniform":
        goal = replace(goal, matches=dict.fromkeys(case.join.names, "said"))
        budget = replace(budget, monitor=(None, 0.5)[pick(0, 1)])
    batches = [
        {name: numbered(table, number, pick) for name, table in tables.items()}
        for number, tables in enumerate(case.batches)
    ]
    return Case(replace(case.join, goal=goal, budget=budget), batches)


def numbered(table: pa.Table, batch: int, pick: Pick) -> pa.Table:
    """Number rows, and say how many matches each has."""
    numbers = [1000 * batch + row for row in range(table.num_rows)]
    said = [SAID[pick(0, len(SAID) - 1)] for _ in numbers]
    table = table.append_column("number", pa.array(numbers, pa.int64()))
    return table.append_column("said", pa.array(said, pa.int32()))


def assert_twins(case: Case, pick: Pick, *, raising: bool = False) -> None:
    """Compare results, weights, clusters, rows held, the fraction and all counters, by batch."""
    plan = bind(case.join, case.schemas)
    fast, slow = Operator(plan), NaiveSampler(plan)
    for tables in case.batches:
        slow.chosen = []
        result = fast.process({n: table for n, table in tables.items() if table.num_rows})
        slow.process(tables)
        assert found(result, by_match=slow.by_match) == expected(slow)
        assert_same_counts(fast, slow)
        assert_sound(fast)
        assert fast.metrics().forced == slow.forced
        settings = fast.store.memory.retained.sample.settings
        assert settings["fraction"][0] == pytest.approx(slow.fraction, rel=1e-12)
        for s, rows in enumerate(slow.held):
            assert arrival_numbers(fast, s) == sorted(row.arrival_number for row in rows)
        if raising and slow.fraction < 1 and pick(0, 1):
            raised = min(1.0, 3 * slow.fraction)
            sample.note_fraction(fast.store.memory)
            settings["fraction"] = raised
            slow.raise_to(raised)


Rows = list[tuple[int, int, float, int]]


def found(result: pa.Table, *, by_match: bool) -> Rows:
    """Return the results: of both members the numbers, the weight and the cluster.

    Where each result is a cluster of its own, these are their numbers in any order.
    """
    one, other = (result.column(s).combine_chunks().field("number").to_pylist() for s in (0, 1))
    weights = [float(f"{weight:.12g}") for weight in result["weight"].to_pylist()]
    clusters = result["cluster"].to_pylist()
    if by_match:
        assert len(set(clusters)) == len(clusters)
        clusters = [0] * len(clusters)
    return sorted(zip(one, other, weights, clusters, strict=True))


def expected(slow: NaiveSampler) -> Rows:
    rows = []
    for each in slow.chosen:
        one, other = (1000 * batch + row for batch, row in each.members)
        cluster = 0 if slow.by_match else each.cluster
        rows.append((one, other, float(f"{each.weight:.12g}"), cluster))
    return sorted(rows)


def arrival_numbers(operator: Operator, s: int) -> list[int]:
    """Return the arrival numbers of a stream's rows."""
    rows = operator.store.memory.rows
    live = rows[: int(operator.store.memory.rule["fresh_row"][0])]
    live = live[(live["ref"] >= 0) & (live["stream"] == s)]
    return sorted(live["arrival_number"].tolist())

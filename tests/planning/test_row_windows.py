"""Plans with windows by rows: the same rows as by definition, and which plans there are."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings

import penstock as ps
from penstock.errors import SpecificationError
from penstock.planning.all_plans import all_plans
from penstock.planning.estimate import Estimator
from penstock.planning.search import Search
from penstock.planning.tree import Pair, Read, Single, nodes_of, short, streams_below
from tests.planning.random_queries import cut, random_query
from tests.planning.support import models
from tests.planning.test_run_replay import ids

if TYPE_CHECKING:
    from penstock.planning.model import QueryModel


@pytest.mark.parametrize(
    ("seed", "count", "tables", "by_rows"),
    [
        (903, 2, 1, "ab"),
        (906, 2, 0, "ab"),
        (917, 4, 1, "b"),
        pytest.param(912, 2, 0, "b", marks=pytest.mark.slow),
        pytest.param(915, 2, 1, "ab", marks=pytest.mark.slow),
        pytest.param(916, 3, 0, "b", marks=pytest.mark.slow),
        pytest.param(921, 2, 1, "b", marks=pytest.mark.slow),
    ],
)
def test_all_plans_with_windows_by_rows_give_the_rows_of_the_definition(
    seed: int, count: int, tables: int, by_rows: str
) -> None:
    made = random_query(seed, count=count, tables=tables, by_rows=by_rows)
    assert made.expected
    stored = set(made.query.tables)
    batches = {
        name: [table] if name in stored else cut(table, 3, seed)
        for name, table in made.tables.items()
    }
    plans = list(made.plans())
    assert plans
    for plan in plans:
        assert ids(plan.replay(batches).result) == made.expected, plan


def test_one_operator_may_have_all_windows_by_rows() -> None:
    made = random_query(801, count=3, single=True, by_rows="abc")
    assert made.expected
    (plan,) = made.plans()
    assert isinstance(plan.tree, Single)
    assert ids(plan.replay(made.tables).result) == made.expected


def streams_with_windows_by_rows(seed: int) -> dict[str, pa.Table]:
    """Three streams, no two rows of which have the same time."""
    chance = np.random.default_rng(seed)
    times, streams = np.arange(120), chance.integers(0, 3, 120)
    keys, wanted = chance.integers(0, 4, 120), chance.integers(0, 3, 120)
    return {
        name: pa.table({column: values[streams == s] for column, values in columns})
        for s, name in enumerate("abc")
        for columns in [(("t", times), ("k", keys), ("w", wanted))]
    }


@pytest.mark.parametrize("seed", [1, 2])
def test_a_window_by_rows_at_the_last_join_has_the_last_rows_selected_or_not(seed: int) -> None:
    tables = streams_with_windows_by_rows(seed)
    query = ps.Query(
        "SELECT a.t AS x, b.t AS y, c.t AS z FROM a [RANGE 30], b [RANGE 20], c [ROWS 4] "
        "WHERE a.k = b.k AND b.k = c.k AND c.w > 0",
        streams=dict.fromkeys("abc", "t"),
    )
    a, b, c = (list(zip(*tables[name].to_pydict().values(), strict=True)) for name in "abc")
    expected: Counter[tuple[Any, ...]] = Counter()
    for x, y, z in ((x, y, z) for x in a for y in b for z in c):
        now = max(x[0], y[0], z[0])
        last = [each for each in c if each[0] <= now][-4:]
        in_time = now - x[0] <= 30 and now - y[0] <= 20
        if in_time and z in last and x[1] == y[1] == z[1] and z[2] > 0:
            expected[x[0], y[0], z[0]] += 1
    assert expected
    chosen = query.optimize(query.measure(tables))
    plan = replace(chosen, tree=Pair(Pair(Read(0), Read(1)), Read(2)))
    assert ids(plan.replay(tables).result) == expected
    batches = {name: cut(table, 4, seed) for name, table in tables.items()}
    assert ids(plan.replay(batches, shards=2).result) == expected


def test_a_window_by_rows_below_another_join_is_refused() -> None:
    tables = streams_with_windows_by_rows(1)
    query = ps.Query(
        "SELECT a.t FROM a [ROWS 5], b [RANGE 9], c [NOW] WHERE a.k = b.k AND b.k = c.k",
        streams=dict.fromkeys("abc", "t"),
    )
    chosen = query.optimize(query.measure(tables))
    plan = replace(chosen, tree=Pair(Pair(Read(0), Read(1)), Read(2)))
    words = r'window by rows of "a" must be at the last join of a plan; got .* joined last'
    with pytest.raises(SpecificationError, match=words):
        plan.replay(tables)


@settings(max_examples=25)
@given(models(least=3, most=5, selections=1))
def test_the_search_is_as_good_as_trying_all_that_join_a_stream_last(model: QueryModel) -> None:
    last = replace(model, joined_last=frozenset({"s0"}))
    plans = all_plans(last)
    everything = set(all_plans(model))
    assert plans
    assert set(plans) < everything
    estimator = Estimator(last)
    best = min(estimator.estimate(plan).cost for plan in plans)
    assert estimator.estimate(Search(last).best()).cost == pytest.approx(best)
    for plan in (*plans, *Search(last).by_split()):
        joins = [each for each in nodes_of(plan) if isinstance(each, Pair)]
        assert all(last.may_join(streams_below(each)) for each in joins)


STREAMS = dict.fromkeys("abc", "t")


def test_the_plan_that_is_chosen_can_be_run() -> None:
    # By cost alone a and b would be joined first.
    query = ps.Query(
        "SELECT a.t FROM a [ROWS 5], b [RANGE 9], c [RANGE 9] WHERE a.k = b.k AND b.w = c.w",
        streams=STREAMS,
    )
    rates = {"a": 0.1, "b": 0.1, "c": 9.0}
    statistics = ps.planning.QueryStatistics(
        rates=rates, selectivities={"a.k = b.k": 0.01, "b.w = c.w": 0.5}
    )
    plan = query.optimize(statistics)
    assert short(plan.tree, plan.model.names) == "a ⋈ (b ⋈ c)"
    assert [short(each.tree, each.model.names) for each in query.plans(statistics)] == [
        "a ⋈ (b ⋈ c)"
    ]
    tight = query.optimize(statistics, budget=ps.Budget(cpu=0.5 * plan.full.cost))
    assert tight.tree == plan.tree
    plan.replay(streams_with_windows_by_rows(1))
    free = replace(plan.model, joined_last=frozenset())
    assert short(ps.planning.plan_together([free], bound=1.0).trees[0], free.names) == "(a ⋈ b) ⋈ c"


def test_if_no_plan_can_be_run_they_are_compared_all_the_same() -> None:
    tables = streams_with_windows_by_rows(1)
    query = ps.Query(
        "SELECT a.t FROM a [ROWS 5], b [ROWS 5], c [NOW] WHERE a.k = b.k AND b.w = c.w",
        streams=STREAMS,
    )
    statistics = query.measure(tables)
    assert len(query.plans(statistics)) == 3
    with pytest.raises(SpecificationError, match="must be at the last join of a plan; got"):
        query.optimize(statistics).replay(tables)

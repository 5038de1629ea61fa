"""Plans with windows by rows: the same rows as by definition, and which plans there are."""

from __future__ import annotations

import re
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
    from penstock.planning.plan import Plan


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


SEVERAL_SHARDS = (
    r'shards of a plan with a window by rows of "c" must be 1; got 2; leave it out: a shard does '
    r"not know how many rows of a stream went to the others"
)


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
    assert ids(plan.replay(batches).result) == expected
    with pytest.raises(SpecificationError, match=SEVERAL_SHARDS):
        plan.replay(batches, shards=2)


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
    assert not plan.why_not_run
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
    words = 'cannot be run, since "[ab]" has a window by rows and is not joined last'
    for plan in query.plans(statistics):
        assert re.search(f"^feasible: .*; it {words}$", str(plan).splitlines()[0])
    with pytest.raises(SpecificationError, match="must be at the last join of a plan; got"):
        query.optimize(statistics).replay(tables)


def two_streams(rows: int) -> dict[str, pa.Table]:
    """Ten rows a second of each stream, of which one in 50 pairs matches."""
    tables = {}
    for seed, name in enumerate("ab"):
        chance = np.random.default_rng(seed)
        times = np.sort(chance.uniform(0, rows / 10, rows))
        tables[name] = pa.table({"t": times, "k": chance.integers(0, 50, rows)})
    return tables


class TestDropBoxes:
    """The knapsack shuts streams off; what runs has to fill its windows."""

    QUERY = ps.Query(
        "SELECT a.t FROM a [ROWS 20], b [ROWS 20] WHERE a.k = b.k",
        streams=dict.fromkeys("ab", "t"),
    )
    TABLES = two_streams(20_000)

    def plan(self, minimum: dict[str, float] | None = None) -> Plan:
        statistics = self.QUERY.measure(self.TABLES)
        half = ps.Budget(cpu=0.5 * self.QUERY.optimize(statistics).full.cost)
        return self.QUERY.optimize(statistics, budget=half, minimum=minimum)

    def test_the_output_is_that_of_the_model_once_windows_are_full(self) -> None:
        plan = self.plan()
        assert sorted(plan.kept.values()) == pytest.approx([0.01, 0.99], abs=1e-3)
        assert "drop box keeps 1%, full after 200 s" in str(plan)
        counts = []
        for seed in range(4):
            times = plan.replay(self.TABLES, time="now", seed=seed).result["now"].to_numpy()
            counts.append(np.count_nonzero(times > 300) / 1_700)
        assert np.mean(counts) == pytest.approx(plan.rate, rel=0.05)
        assert plan.recall == pytest.approx(0.5, abs=0.01)

    def test_a_stream_is_shut_off_only_if_asked_for(self) -> None:
        plan = self.plan(minimum={"a": 0, "b": 0})
        assert sorted(plan.kept.values()) == pytest.approx([0, 1], abs=1e-3)
        assert "[ROWS 20]  drop box keeps nothing, so that its window stays empty" in str(plan)
        assert plan.replay(self.TABLES).result.num_rows == 0

    def test_plans_that_are_ranked_fill_their_windows_too(self) -> None:
        statistics = self.QUERY.measure(self.TABLES)
        half = ps.Budget(cpu=0.5 * self.QUERY.optimize(statistics).full.cost)
        for plan in self.QUERY.plans(statistics, budget=half):
            assert min(plan.kept.values()) == pytest.approx(0.01)

    def test_a_small_budget_is_not_spent_on_filling_windows(self) -> None:
        statistics = self.QUERY.measure(self.TABLES)
        little = ps.Budget(cpu=0.001 * self.QUERY.optimize(statistics).full.cost)
        plan = self.QUERY.optimize(statistics, budget=little)
        assert plan.cost <= plan.bound * (1 + 1e-9)
        assert min(plan.kept.values()) == pytest.approx(0.0005, rel=0.01)

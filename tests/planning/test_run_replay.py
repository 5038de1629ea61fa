"""Plans in `replay`: the same rows as by definition, for any plan of a query."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest

import penstock as ps
from penstock.errors import SchemaError
from penstock.planning.all_plans import all_plans
from penstock.planning.drop_boxes import DropBoxes
from penstock.planning.operator_costs import OperatorCosts
from penstock.planning.tree import Filter, Pair, Read, Single, nodes_of, short
from tests.oracles.naive_query import NaiveRelation, naive_query
from tests.planning.random_queries import cut, random_query

if TYPE_CHECKING:
    from collections.abc import Mapping

    from penstock.planning.plan import Plan
    from tests.oracles.naive_query import Test


def ids(result: pa.Table) -> Counter[tuple[Any, ...]]:
    return Counter(tuple(row.values()) for row in result.to_pylist())


@pytest.mark.parametrize(("seed", "count"), [(207, 2), (300, 3), (308, 3), (315, 3)])
def test_all_plans_give_the_rows_of_the_definition(seed: int, count: int) -> None:
    made = random_query(seed, count=count)
    assert made.expected
    batches = {name: cut(table, 4, seed) for name, table in made.tables.items()}
    for at, plan in enumerate(made.plans()):
        assert ids(plan.replay(made.tables).result) == made.expected, plan
        assert ids(plan.replay(batches, shards=1 + at % 2).result) == made.expected, plan


@pytest.mark.parametrize("seed", [703, 708])
def test_stored_tables_filter_and_enrich(seed: int) -> None:
    made = random_query(seed, count=1 + seed % 3, tables=1 + seed % 2)
    assert made.expected
    for plan in made.plans():
        assert ids(plan.replay(made.tables).result) == made.expected, plan


@pytest.mark.parametrize("seed", [801, 805])
def test_one_operator_over_all_streams_is_a_plan_like_others(seed: int) -> None:
    made = random_query(seed, count=3, single=True)
    plans = list(made.plans())
    assert made.expected
    assert any(isinstance(plan.tree, Single) for plan in plans)
    for plan in plans:
        assert ids(plan.replay(made.tables).result) == made.expected, plan


@pytest.mark.parametrize(("seed", "by_rows"), [(832, ""), (836, ""), (834, "abc")])
def test_one_operator_over_all_streams_may_have_tables_above_it(seed: int, by_rows: str) -> None:
    made = random_query(seed, count=3, tables=1, single=True, by_rows=by_rows)
    plans = list(made.plans())
    assert made.expected
    single = [plan for plan in plans if any(isinstance(n, Single) for n in nodes_of(plan.tree))]
    assert single
    for plan in single if by_rows else plans:
        assert ids(plan.replay(made.tables).result) == made.expected, plan
        total = sum(node.modelled or 0.0 for node in plan.replay(made.tables).nodes)
        assert total == pytest.approx(plan.estimate.cost - plan.estimate.project)


def test_a_single_operator_with_tables_is_said_to_be_one() -> None:
    query = ps.Query(
        "SELECT a.t FROM a [RANGE 5], b [RANGE 5], c [ROWS 5], d [UNBOUNDED], e "
        "WHERE a.k = d.k AND b.k = d.k AND c.k = d.k AND d.z = e.z AND b.t > 2",
        streams=dict.fromkeys("abc", "t"),
        tables=["d", "e"],
    )
    statistics = ps.planning.QueryStatistics(
        rates=dict.fromkeys("abc", 1.0),
        selectivities={
            **{f"{name}.k = d.k": 0.5 for name in "abc"},
            "d.z = e.z": 0.1,
            "b.t > 2": 0.5,
        },
        cardinalities={"d": 2, "e": 10},
    )
    plans = all_plans(query.model(statistics))
    single = [
        short(plan, query.model(statistics).names)
        for plan in plans
        if "at once" in short(plan, query.model(statistics).names)
    ]
    assert sorted(single) == [
        "(all at once (a, select(b), c) ⋈ d) ⋈ e",
        "(all at once (a, select(b), c) ⋈ e) ⋈ d",
    ]
    chosen = query.optimize(statistics)
    tree = next(plan for plan in plans if any(isinstance(n, Single) for n in nodes_of(plan)))
    words = str(replace(chosen, tree=tree))
    assert "join all at once on a.k = b.k AND a.k = c.k  " in words


@pytest.mark.parametrize("parts", [1, 4])
def test_one_stream_under_two_names(parts: int) -> None:
    chance = np.random.default_rng(11)
    rows = [
        {"id": at, "t": int(time), "x": int(chance.integers(0, 3)), "y": int(chance.integers(0, 9))}
        for at, time in enumerate(np.sort(chance.integers(0, 60, 50)))
    ]
    other = [{"id": at, "t": 3 * at, "x": at % 3, "y": 0} for at in range(20)]
    tests: list[tuple[set[str], Test]] = [
        ({"a", "b"}, lambda members: members["a"]["x"] == members["b"]["x"]),
        ({"a", "b"}, lambda members: members["a"]["y"] < members["b"]["y"]),
        ({"b", "c"}, lambda members: members["b"]["x"] == members["c"]["x"]),
        ({"b"}, lambda members: members["b"]["y"] > 2),
    ]
    relations = [
        NaiveRelation("a", rows, 8),
        NaiveRelation("b", rows, 3),
        NaiveRelation("c", other, 5),
    ]
    expected = naive_query(relations, tests, "id")
    assert len(expected) > 50
    query = ps.Query(
        "SELECT a.id AS a, b.id AS b, c.id AS c FROM s a [RANGE 8], s b [RANGE 3], o c [RANGE 5] "
        "WHERE a.x = b.x AND a.y < b.y AND b.x = c.x AND b.y > 2",
        streams={"s": "t", "o": "t"},
    )
    tables = {"s": pa.Table.from_pylist(rows), "o": pa.Table.from_pylist(other)}
    chosen = query.optimize(query.measure(tables))
    batches = {name: cut(table, parts, 3) for name, table in tables.items()}
    for tree in all_plans(chosen.model):
        assert ids(replace(chosen, tree=tree).replay(batches).result) == expected, tree


@pytest.mark.slow
@pytest.mark.parametrize(
    ("seed", "count", "tables"),
    [
        *((seed, 2, 0) for seed in range(208, 216)),
        *((seed, 3, 0) for seed in (302, 303, 304, 306, 310, 313, 314, 321, 323)),
        *((seed, 4, 0) for seed in (402, 404, 408, 409, 412, 413, 419)),
        *((seed, 3, 2) for seed in (705, 711, 717)),
    ],
)
def test_all_plans_of_many_queries_give_the_rows_of_the_definition(
    seed: int, count: int, tables: int
) -> None:
    made = random_query(seed, count=count, tables=tables, single=count == 4 and seed % 4 == 0)
    stored = set(made.query.tables)
    batches: Mapping[str, Any] = {
        name: table if name in stored else cut(table, 5, seed)
        for name, table in made.tables.items()
    }
    for plan in made.plans():
        assert ids(plan.replay(batches).result) == made.expected, plan


@pytest.mark.slow
@pytest.mark.parametrize("seed", [504, 510, 511, 517, 519])
def test_plans_of_five_streams_give_the_rows_of_the_definition(seed: int) -> None:
    made = random_query(seed, count=5, single=seed % 4 == 0)
    assert made.expected
    plans = list(made.plans())
    assert len(plans) >= 105
    # Other plans for each query, in other micro-batches: all shapes are among them.
    for at, plan in enumerate(plans[seed % 5 :: 5]):
        batches = {name: cut(table, 1 + at % 4, at) for name, table in made.tables.items()}
        assert ids(plan.replay(batches, shards=1 + at % 2).result) == made.expected, plan


def three_streams(rows: int, *, sparse: bool = False) -> dict[str, pa.Table]:
    """Three streams in which a and b match at equal times; sparse ones only in the first rows."""
    time = np.arange(rows)
    key = np.where(time < 5, 0, time if sparse else 0)
    return {
        "a": pa.table({"t": time, "k": key}),
        "b": pa.table({"t": time, "k": np.where(time < 5, 0, -time if sparse else 0)}),
        "c": pa.table({"t": time, "k": np.zeros(rows, np.int64)}),
    }


def chain_of(tables: Mapping[str, pa.Table]) -> Plan:
    query = ps.Query(
        "SELECT a.t AS x, b.t AS y, c.t AS z FROM a [RANGE 2], b [RANGE 2], c [RANGE 2] "
        "WHERE a.k = b.k AND b.k = c.k",
        streams=dict.fromkeys("abc", "t"),
    )
    plan = query.optimize(query.measure(tables))
    return replace(plan, tree=Pair(Pair(Read(0), Read(1)), Read(2)))


def test_rows_expire_also_while_the_join_below_gives_nothing() -> None:
    tables = three_streams(400, sparse=True)
    batches = {
        name: [table.slice(at, 20) for at in range(0, 400, 20)] for name, table in tables.items()
    }
    replay = chain_of(tables).replay(batches)
    last = replay.nodes[-1].metrics
    assert last is not None
    assert last.streams["a+b"].arrived < 40
    # A window has 3 rows. What was told of the join below is used from the next batch on.
    assert last.streams["c"].held <= 3 + 2 * 20
    assert last.streams["c"].expired >= 400 - 3 - 2 * 20


def test_results_that_come_out_of_order_are_not_late() -> None:
    tables = three_streams(60)
    plan = chain_of(tables)
    early = {name: [table, table.slice(0, 0)] for name, table in tables.items()}
    # b and c come in two parts, so that the join below gives old results after new ones.
    out_of_step = early | {
        name: [tables[name].slice(0, 30), tables[name].slice(30)] for name in "bc"
    }
    expected = ids(plan.replay(tables).result)
    replay = plan.replay(out_of_step, shards=2)
    assert ids(replay.result) == expected
    last = replay.nodes[-1].metrics
    assert last is not None
    assert last.streams["a+b"].late == 0


def test_the_select_list_names_the_columns() -> None:
    tables = three_streams(6)
    streams = dict.fromkeys("ab", "t")
    where = "FROM a [RANGE 1], b [NOW] WHERE a.k = b.k"
    text = f"SELECT a.*, b.t * 2 AS twice, ABS(b.k) AS size, 1 AS one {where}"
    query = ps.Query(text, streams=streams)
    plan = query.optimize(query.measure(tables))
    result = plan.replay(tables, time="when").result
    assert result.column_names == ["t", "k", "twice", "size", "one", "when"]
    assert result.to_pylist()[0] == {"t": 0, "k": 0, "twice": 0, "size": 0, "one": 1, "when": 0}
    query = ps.Query(f"SELECT * {where}", streams=streams)
    with pytest.raises(SchemaError, match="columns of the result must be of different names; got"):
        query.optimize(query.measure(tables)).replay(tables)


def test_a_drop_box_keeps_its_share_and_always_the_same_rows() -> None:
    rows = 20_000
    table = pa.table({"t": np.arange(rows), "k": [f"key {at % 97}" for at in range(rows)]})
    query = ps.Query("SELECT a.t FROM a [RANGE 5]", streams={"a": "t"})
    full = query.optimize(query.measure({"a": table}))
    plan = replace(full, boxes=DropBoxes(kept={"a": 0.3}, rate=1.0, cost=1.0, value=1.0))
    kept = set(plan.replay({"a": table}).result["t"].to_pylist())
    assert abs(len(kept) - 0.3 * rows) < 5 * np.sqrt(rows * 0.3 * 0.7)
    parts = [table.slice(0, 7_000), table.slice(7_000)]
    assert set(plan.replay({"a": parts}).result["t"].to_pylist()) == kept
    other = set(plan.replay({"a": table}, seed=1).result["t"].to_pylist())
    assert abs(len(kept & other) - 0.09 * rows) < 5 * np.sqrt(rows * 0.09 * 0.91)
    none = replace(full, boxes=DropBoxes(kept={"a": 0.0}, rate=0.0, cost=0.0, value=0.0))
    assert none.replay({"a": table}).result.num_rows == 0


def test_functions_that_only_spark_has_are_named() -> None:
    tables = three_streams(6)
    query = ps.Query(
        "SELECT SOUNDEX(a.k) AS x FROM a [RANGE 1], b [NOW] WHERE a.k = b.k",
        streams=dict.fromkeys("ab", "t"),
    )
    with pytest.raises(SchemaError, match="must be one that runs without Spark"):
        query.optimize(query.measure(tables)).replay(tables)


def test_each_operator_says_what_it_took_gave_and_cost() -> None:
    chance = np.random.default_rng(5)
    tables = {
        name: pa.table(
            {"t": np.sort(chance.uniform(0, 1000, 1500)), "k": chance.integers(0, 25, 1500)}
        )
        for name in "abc"
    }
    query = ps.Query(
        "SELECT a.t AS x, b.t AS y, c.t AS z FROM a [RANGE 9], b [RANGE 9], c [RANGE 9] "
        "WHERE a.k = b.k AND b.k = c.k",
        streams=dict.fromkeys("abc", "t"),
    )
    # The model counts probes and comparisons of a single operator only roughly: results cost most.
    steps = ps.Costs(arrival=1e-6, insert=0.5e-6, compare=0.05e-6, result=3e-6)
    costs = OperatorCosts.measured(steps)
    chosen = query.optimize(query.measure(tables), costs=costs)
    replay = replace(chosen, tree=Pair(Pair(Read(0), Read(1)), Read(2))).replay(tables)
    nodes = {node.name: node for node in replay.nodes}
    assert [node.name for node in replay.nodes] == ["a", "b", "a+b", "c", "a+b+c"]
    assert nodes["a+b"].taken == {"a": 1500, "b": 1500}
    assert nodes["a+b+c"].taken == {"a+b": nodes["a+b"].given, "c": 1500}
    assert nodes["a+b+c"].given == replay.result.num_rows
    assert nodes["a+b"].cost == pytest.approx(nodes["a+b"].modelled, rel=0.1)
    # Results with a member that has left its window are found, and then left out.
    assert nodes["a+b+c"].cost == pytest.approx(nodes["a+b+c"].modelled, rel=0.2)
    joins = [nodes["a+b"], nodes["a+b+c"]]
    assert all(node.measured is not None and node.measured > 0 for node in joins)
    # What the join itself took is a part of it; then results are made rows of the next join.
    assert all(node.metrics is not None and node.metrics.seconds > 0 for node in joins)
    together = replace(chosen, tree=Single((Read(0), Read(1), Read(2)))).replay(tables)
    assert ids(together.result) == ids(replay.result)
    assert together.nodes[-1].cost == pytest.approx(together.nodes[-1].modelled, rel=0.1)


def test_the_modelled_costs_of_all_operators_are_that_of_the_plan() -> None:
    """Also with a selection above a join, and a stored table."""
    tables = three_streams(30) | {"d": pa.table({"k": [0, 1, 2]})}
    query = ps.Query(
        "SELECT a.t AS x, b.t AS y, d.k AS z FROM a [RANGE 3], b [RANGE 3], d "
        "WHERE a.k = b.k AND b.k = d.k AND a.t > 2",
        streams=dict.fromkeys("ab", "t"),
        tables=["d"],
    )
    tree = Pair(Filter(0, Pair(Read(0), Read(1))), Read(2))
    plan = replace(query.optimize(query.measure(tables)), tree=tree)
    nodes = plan.replay(tables).nodes
    total = sum(node.modelled or 0.0 for node in nodes)
    assert total == pytest.approx(plan.estimate.cost - plan.estimate.project)
    by_name = {node.name: node for node in nodes}
    assert by_name["a"].modelled == 0  # the plan tests its rows later
    assert all(node.measured is not None for node in nodes)


def test_a_join_with_a_table_says_what_it_took_and_gave() -> None:
    tables = three_streams(30) | {"d": pa.table({"k": [0, 0, 1]})}
    query = ps.Query(
        "SELECT a.t AS x, b.t AS y, c.t AS z FROM a [RANGE 3], b [RANGE 3], c [NOW], d "
        "WHERE a.k = b.k AND b.k = d.k AND b.k = c.k",
        streams=dict.fromkeys("abc", "t"),
        tables=["d"],
    )
    chosen = query.optimize(query.measure(tables))
    tree = Pair(Pair(Pair(Read(0), Read(1)), Read(3)), Read(2))
    nodes = {node.name: node for node in replace(chosen, tree=tree).replay(tables).nodes}
    assert list(nodes) == ["a", "b", "a+b", "d", "a+b+d", "c", "a+b+d+c"]
    pairs = nodes["a+b"].given
    assert pairs > 0
    assert nodes["a+b+d"].taken == {"a+b": pairs, "d": 3}
    assert nodes["a+b+d"].given == 2 * pairs
    assert nodes["a+b+d+c"].taken == {"a+b+d": 2 * pairs, "c": 30}
    assert nodes["a+b+d"].metrics is None

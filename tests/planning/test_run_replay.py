"""Plans in `replay`: the same rows as by definition, for any plan of a query."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from penstock.planning.tree import Single

from tests.planning.random_queries import cut, random_query

if TYPE_CHECKING:
    import pyarrow as pa


def ids(result: pa.Table) -> Counter[tuple[Any, ...]]:
    return Counter(tuple(row.values()) for row in result.to_pylist())


@pytest.mark.parametrize("count", [2, 3])
@pytest.mark.parametrize("seed", range(8))
def test_all_plans_give_the_rows_of_the_definition(seed: int, count: int) -> None:
    made = random_query(100 * count + seed, count=count)
    for plan in made.plans():
        assert ids(plan.replay(made.tables).result) == made.expected, plan
        batches = {name: cut(table, 4, seed) for name, table in made.tables.items()}
        assert ids(plan.replay(batches, shards=1 + seed % 2).result) == made.expected, plan


@pytest.mark.parametrize("seed", range(6))
def test_stored_tables_filter_and_enrich(seed: int) -> None:
    made = random_query(700 + seed, count=1 + seed % 3, tables=1 + seed % 2)
    for plan in made.plans():
        assert ids(plan.replay(made.tables).result) == made.expected, plan


@pytest.mark.parametrize("seed", range(4))
def test_one_operator_over_all_streams_is_a_plan_like_others(seed: int) -> None:
    made = random_query(800 + seed, count=3, single=True)
    plans = list(made.plans())
    assert any(isinstance(plan.tree, Single) for plan in plans)
    for plan in plans:
        assert ids(plan.replay(made.tables).result) == made.expected, plan


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
def test_all_plans_of_four_streams_give_the_rows_of_the_definition(seed: int) -> None:
    made = random_query(400 + seed, count=4, single=seed % 4 == 0)
    batches = {name: cut(table, 5, seed) for name, table in made.tables.items()}
    for plan in made.plans():
        assert ids(plan.replay(batches).result) == made.expected, plan

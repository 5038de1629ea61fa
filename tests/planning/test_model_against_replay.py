"""The model against what replay counts: which plan is cheapest, and what drop boxes leave."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow.compute as pc
import pytest

import penstock as ps
from benchmarks.plan_queries import LONGEST, make_query
from benchmarks.plans import compare, excess
from penstock.planning.all_plans import all_plans
from penstock.planning.drop_boxes import DropBoxes, keep_within

if TYPE_CHECKING:
    import pyarrow as pa

    from penstock.planning.plan import Plan

pytestmark = pytest.mark.slow

QUERIES = 10


def test_the_cheapest_plan_of_the_model_is_nearly_the_cheapest_that_is_counted() -> None:
    more = [excess(compare(seed)) for seed in range(QUERIES)]
    assert sum(each <= 0.1 for each in more) >= 9, more


def output(plan: Plan, tables: dict[str, pa.Table], seeds: int) -> float:
    """Return the results after the warm-up, on average: rows are kept by chance."""
    counts = []
    for seed in range(seeds):
        times = plan.replay(tables, time="now", seed=seed).result["now"]
        counts.append(pc.sum(pc.greater_equal(times, LONGEST)).as_py() or 0)
    return float(np.mean(counts))


# Queries with a thousand results or more: with few of them chance decides.
@pytest.mark.parametrize("seed", [2, 4, 8])
def test_with_drop_boxes_the_output_is_that_of_the_model_and_the_most_of_all_plans(
    seed: int,
) -> None:
    query, tables = make_query(seed, span=2_000.0)
    statistics = query.measure(tables)
    full = query.optimize(statistics)
    bound = 0.5 * full.full.cost
    plan = query.optimize(statistics, budget=ps.Budget(cpu=bound))
    assert 0 < plan.recall < 0.5
    whole = output(full, tables, 1)
    found = output(plan, tables, 8)
    assert found / whole == pytest.approx(plan.recall, rel=0.05)
    for tree in all_plans(full.model):
        other = replace(plan, tree=tree)
        other = replace(other, boxes=keep_within(other.full, other.model, bound))
        if tree != plan.tree:
            assert output(other, tables, 2) < found


def test_nothing_dropped_is_the_whole() -> None:
    query, tables = make_query(0)
    plan = query.optimize(query.measure(tables))
    boxes = DropBoxes(kept=dict.fromkeys("abc", 1.0), rate=1.0, cost=1.0, value=1.0)
    assert replace(plan, boxes=boxes).replay(tables).result.equals(plan.replay(tables).result)

"""The model against what replay counts: which plan is cheapest, and what drop boxes leave."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest

import penstock as ps
from penstock.planning.all_plans import all_plans
from penstock.planning.drop_boxes import DropBoxes

if TYPE_CHECKING:
    from penstock.planning.plan import Plan

pytestmark = pytest.mark.slow

QUERIES = 10
SPAN = 400.0


def make_query(seed: int) -> tuple[ps.Query, dict[str, pa.Table]]:
    """Return a query of three or four streams in a chain of equalities, and its streams."""
    chance = np.random.default_rng(seed)
    count = 3 + seed % 2
    names = "abcd"[:count]
    tables = {}
    windows = {}
    keys = [int(chance.integers(5, 120)) for _ in names]
    for at, name in enumerate(names):
        rows = int(SPAN * chance.uniform(0.5, 6.0))
        tables[name] = pa.table(
            {
                "t": np.sort(chance.uniform(0, SPAN, rows)),
                "left": chance.integers(0, keys[at - 1], rows),
                "right": chance.integers(0, keys[at], rows),
                "x": chance.uniform(0, 1, rows),
            }
        )
        windows[name] = round(float(chance.uniform(2, 20)), 1)
    on = [f"{one}.right = {two}.left" for one, two in pairwise(names)]
    on.append(f"{names[seed % count]}.x < {chance.uniform(0.2, 0.9):.2f}")
    output = ", ".join(f"{name}.t AS {name}" for name in names)
    read = ", ".join(f"{name} [RANGE {windows[name]}]" for name in names)
    text = f"SELECT {output} FROM {read} WHERE {' AND '.join(on)}"  # noqa: S608
    return ps.Query(text, streams=dict.fromkeys(names, "t")), tables


def counted(plan: Plan, tables: dict[str, pa.Table]) -> float:
    return sum(node.cost or 0.0 for node in plan.replay(tables).nodes)


def test_the_cheapest_plan_of_the_model_is_nearly_the_cheapest_that_is_counted() -> None:
    ratios = []
    for seed in range(QUERIES):
        query, tables = make_query(seed)
        chosen = query.optimize(query.measure(tables))
        costs = {
            tree: counted(replace(chosen, tree=tree), tables) for tree in all_plans(chosen.model)
        }
        ratios.append(costs[chosen.tree] / min(costs.values()))
    assert sum(ratio <= 1.1 for ratio in ratios) >= 9, ratios


def test_with_drop_boxes_the_output_is_that_of_the_model() -> None:
    query, tables = make_query(2)
    statistics = query.measure(tables)
    full = query.optimize(statistics)
    plan = query.optimize(statistics, budget=ps.Budget(cpu=0.5 * full.full.cost))
    assert 0 < plan.recall < 1
    # Over several seeds: which rows are kept is a matter of chance.
    found = [plan.replay(tables, seed=seed).result.num_rows for seed in range(40)]
    whole = full.replay(tables).result.num_rows
    assert np.mean(found) / whole == pytest.approx(plan.recall, rel=0.05)


def test_nothing_dropped_is_the_whole() -> None:
    query, tables = make_query(0)
    plan = query.optimize(query.measure(tables))
    boxes = DropBoxes(kept=dict.fromkeys("abc", 1.0), rate=1.0, cost=1.0, value=1.0)
    assert replace(plan, boxes=boxes).replay(tables).result.equals(plan.replay(tables).result)

"""A query of three streams and a table, its plans and its rows, for tests on Spark."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

import penstock as ps
from penstock.planning.all_plans import all_plans
from penstock.planning.plan import Plan
from penstock.planning.tree import short

SQL = """
    SELECT p.name, a.id AS auction, b.price * 2 AS twice, c.title
    FROM people p [RANGE 60 SECONDS], auctions a [RANGE 30 SECONDS], bids b [NOW], categories c
    WHERE p.id = a.seller AND a.id = b.auction AND a.category = c.id AND b.price > 20
"""
SECOND = 1_000_000
TIMES = {"people": "joined_at", "auctions": "opened_at", "bids": "at"}


def make_rows(seed: int = 1) -> dict[str, pa.Table]:
    chance = np.random.default_rng(seed)

    def times(count: int) -> pa.Array:
        micros = np.sort(chance.integers(0, 200 * SECOND, count))
        return pa.array(micros).cast(pa.timestamp("us", "UTC"))

    return {
        "people": pa.table(
            {
                "id": pa.array(np.arange(120) % 40),
                "name": [f"person {at}" for at in range(120)],
                "joined_at": times(120),
            }
        ),
        "auctions": pa.table(
            {
                "id": pa.array(np.arange(200) % 60),
                "seller": pa.array(chance.integers(0, 40, 200)),
                "category": pa.array(chance.integers(0, 5, 200)),
                "opened_at": times(200),
            }
        ),
        "bids": pa.table(
            {
                "auction": pa.array(chance.integers(0, 60, 600)),
                "price": pa.array(chance.integers(0, 100, 600)),
                "at": times(600),
            }
        ),
        "categories": pa.table({"id": [0, 1, 2, 3], "title": ["art", "books", "coins", "dolls"]}),
    }


ROWS = make_rows()
QUERY = ps.Query(
    SQL,
    streams=TIMES,
    tables=["categories"],
    schemas={name: table.schema for name, table in ROWS.items()},
)


def make_plans() -> list[Plan]:
    chosen = QUERY.optimize(QUERY.measure(ROWS))
    return [
        Plan(QUERY, chosen.model, tree, chosen.boxes, 1.0, None) for tree in all_plans(chosen.model)
    ]


PLANS = make_plans()


def in_batches(parts: int) -> dict[str, list[pa.Table]]:
    """Cut the streams into micro-batches out of step: bids come late, then all at once."""
    cut = {}
    for name in TIMES:
        table = ROWS[name]
        ends = [table.num_rows * (at + 1) // parts for at in range(parts)]
        if name == "bids":
            ends = [table.num_rows * (at + 1) ** 2 // parts**2 for at in range(parts)]
        starts = [0, *ends[:-1]]
        cut[name] = [table.slice(s, e - s) for s, e in zip(starts, ends, strict=True)]
    return cut


def plan_of(text: str) -> Plan:
    """Return the plan that is so in one line."""
    return next(plan for plan in PLANS if short(plan.tree, plan.model.names) == text)

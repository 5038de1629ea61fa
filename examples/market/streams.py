"""People who join an auction site, their auctions, and the bids."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import penstock as ps
from penstock.testing import market

SQL = """
SELECT p.name, p.city, a.id AS auction, b.price
FROM people p [RANGE 10 SECONDS], auctions a [RANGE 15 SECONDS], bids b [NOW]
WHERE p.id = a.seller AND a.id = b.auction_id AND b.price > 100
"""
CITIES = ("Aarhus", "Bergen", "Cork", "Delft", "Evora")


def tables(auctions: int, seed: int = 0) -> dict[str, pa.Table]:
    """Return a busy minute of the site, in which every seller joins at some time."""
    site = market(
        auctions=auctions,
        zipf=0.6,
        life=("5 seconds", "15 seconds"),
        over="1 minute",
        sellers=max(auctions // 4, 1),
        seed=seed,
    )
    chance = np.random.default_rng(seed)
    ids = pc.unique(site.auctions["seller"])
    times = site.auctions["opened_at"].cast(pa.int64()).to_numpy()
    joined = np.sort(chance.integers(times.min(), times.max() + 1, len(ids)))
    people = pa.table(
        {
            "id": ids.take(pa.array(chance.permutation(len(ids)))),
            "name": [f"person {at}" for at in range(len(ids))],
            "city": [CITIES[at % len(CITIES)] for at in range(len(ids))],
            "joined_at": pa.array(joined).cast(site.auctions.schema.field("opened_at").type),
        }
    )
    return {"people": people, "auctions": site.auctions, "bids": site.bids}


def query(given: dict[str, pa.Table]) -> ps.Query:
    """Return the query over these streams."""
    return ps.Query(
        SQL,
        streams={"people": "joined_at", "auctions": "opened_at", "bids": "at"},
        schemas=given,
    )

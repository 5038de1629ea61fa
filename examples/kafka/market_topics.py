"""The market as messages of two topics, and messages as rows again."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812  # as in Spark's documentation

from penstock.testing import market

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

SCHEMAS = {
    "auctions": "id BIGINT, seller STRING, category STRING, reserve DECIMAL(12, 2), "
    "opened_at TIMESTAMP, closes_at TIMESTAMP",
    "bids": "auction_id BIGINT, bidder STRING, price DECIMAL(12, 2), at TIMESTAMP",
}


def tables(auctions: int) -> dict[str, pa.Table]:
    """Generate both streams, each in the order of its times."""
    site = market(auctions=auctions, bids_per_auction=6, seed=7)
    return {
        "auctions": site.auctions.sort_by("opened_at"),
        "bids": site.bids.sort_by("at"),
    }


def messages(table: pa.Table) -> list[str]:
    """Return the rows as JSON, one message for each.

    >>> messages(tables(3)["bids"])[0]
    '{"auction_id": 2, "bidder": "bidder-0", "price": "...", "at": "2026-01-..."}'
    """
    return [json.dumps(row, default=str) for row in table.to_pylist()]


def rows(topic: DataFrame, name: str) -> DataFrame:
    """Read the messages of a topic; one that is no JSON gives a row of nulls, which is counted."""
    value = F.from_json(F.col("value").cast("string"), SCHEMAS[name])
    return topic.select(value.alias("row")).select("row.*")

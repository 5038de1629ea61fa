"""What is joined: the auctions and the bids of a site over 30 days."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from penstock.budget import Budget
from penstock.goals import MaxSubset
from penstock.join import Join
from penstock.predicates import Equal
from penstock.spec import Stream
from penstock.testing import market

__all__ = [
    "BIN",
    "DAYS",
    "FEWEST",
    "LIFE_DAYS",
    "ZIPF",
    "day_edges",
    "join",
    "source_options",
    "tables",
]

DAYS = 30
LIFE_DAYS = 7
ZIPF = 0.5
"""Skew of the bids: of 20,000 auctions, one gets about 1,700 bids, and half get at most 18."""

FEWEST = 100
"""With fewer auctions, most bins of time have too few bids for a meaningful recall."""

# More than a sixth of the bids come after the 30 days, for auctions that are still open then. So
# 20 for each auction remain.
_BIDS_PER_AUCTION = 24.0
_BINS_PER_DAY = 2
_START = datetime(2026, 1, 1, tzinfo=UTC)
_START_MICROSECONDS = int(_START.timestamp()) * 10**6
_MICROSECONDS_PER_BIN = 86_400 * 10**6 // _BINS_PER_DAY

BIN = f"(unix_micros(time) - {_START_MICROSECONDS}) div {_MICROSECONDS_PER_BIN}"
"""A result's bin of time, as Spark SQL."""


def tables(auctions: int, seed: int) -> dict[str, pa.Table]:
    """Return the two streams up to the opening of the last auction.

    Both end at the same moment, as if the site were still running. With the bids of the week
    after it, there would be no auctions to advance the watermark, and the join would have to hold
    all these bids: half of the figures would be about the end of the replay.

    Parameters
    ----------
    auctions
        How many open; some 20 times as many bids come in.
    seed
        Of the market.

    Examples
    --------
    >>> {name: table.num_rows for name, table in tables(1_000, seed=0).items()}
    {'auctions': 1000, 'bids': 20698}
    """
    site = market(
        auctions=auctions,
        bids_per_auction=_BIDS_PER_AUCTION,
        zipf=ZIPF,
        life=f"{LIFE_DAYS} days",
        over=f"{DAYS} days",
        start=_START,
        seed=seed,
    )
    end = site.auctions["opened_at"][-1]
    return {
        "auctions": site.auctions,
        "bids": site.bids.filter(pc.less_equal(site.bids["at"], end)),
    }


def source_options(auctions: int, seed: int) -> dict[str, str]:
    """Return the options for which Spark's source ``penstock-market`` has the rows of `tables`."""
    return {
        "auctions": str(auctions),
        "bidsPerAuction": str(_BIDS_PER_AUCTION),
        "zipf": str(ZIPF),
        "life": f"{LIFE_DAYS} days",
        "over": f"{DAYS} days",
        "seed": str(seed),
        "end": "last-auction",
    }


def join(*, seed: int, strategy: str | None = None, rows: int | None = None) -> Join:
    """Return the join of bids with their auctions.

    Parameters
    ----------
    seed
        Of its random draws.
    strategy
        Its name, if there is a budget.
    rows
        The budget; None for the exact join.
    """
    return Join(
        streams={
            "auctions": Stream(time="opened_at", window=f"{LIFE_DAYS} days"),
            "bids": Stream(time="at", window="0 seconds"),
        },
        on=Equal(auctions="id", bids="auction_id"),
        goal=MaxSubset(strategy=strategy),
        budget=None if rows is None else Budget(rows=rows),
        seed=seed,
        align="off",  # both come in step, and a query that ends would keep its last rows waiting
    )


def day_edges() -> npt.NDArray[np.float64]:
    """Return the edges of the bins of time, in days since the streams began."""
    return np.linspace(0.0, DAYS, DAYS * _BINS_PER_DAY + 1)

"""The rows of the market's two streams, generated once in each process."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from penstock.spark.market.options import TIME_COLUMNS
from penstock.testing import Market, market

if TYPE_CHECKING:
    from penstock.spark.market.options import MarketParameters, StreamName

__all__ = ["generate", "table_of", "times_of", "times_of_both"]

Integers = npt.NDArray[np.int64]


# Spark makes a new reader in every task. The process stays, and with it what it has generated.
# Two, so that a query on two markets does not generate them in turns.
@lru_cache(maxsize=2)
def generate(parameters: MarketParameters) -> Market:
    """Generate the market, up to where both of its streams end."""
    whole = market(
        auctions=parameters.auctions,
        bids_per_auction=parameters.bids_per_auction,
        zipf=parameters.zipf,
        life=parameters.life,
        over=parameters.over,
        seed=parameters.seed,
    )
    if parameters.end == "last-bid":
        return whole
    last = times_of(whole, "auctions")[-1]
    bids = np.searchsorted(times_of(whole, "bids"), last, side="right")
    return Market(auctions=whole.auctions, bids=whole.bids.slice(0, int(bids)))


@lru_cache(maxsize=2)
def times_of_both(parameters: MarketParameters) -> Integers:
    """Return the times of the rows of both streams together, in order."""
    generated = generate(parameters)
    return np.sort(np.concatenate([times_of(generated, stream) for stream in TIME_COLUMNS]))


def times_of(generated: Market, stream: StreamName) -> Integers:
    """Return the times of one stream's rows, in microseconds since 1970."""
    times: Integers = table_of(generated, stream)[TIME_COLUMNS[stream]].cast(pa.int64()).to_numpy()
    return times


def table_of(generated: Market, stream: StreamName) -> pa.Table:
    """Return one stream's rows."""
    return generated.auctions if stream == "auctions" else generated.bids

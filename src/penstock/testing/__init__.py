"""Generators, an exact join and helpers for tests of joins.

================================================  ================================================
name                                              what it returns
================================================  ================================================
`market`                                          auctions and bids, most bids near the end
`news`                                            two agencies that report the same stories
`age_model`, `frequency_model`                    the synthetic streams of Srivastava and Widom
`lagged_streams`                                  the synthetic streams of GrubJoin, with lags
`key_streams`                                     few, very unequal keys: steady, or in bursts
`exact_join`, `expected_rows`, `canonical_rows`   expected results, in a comparable form
`cut`, `cut_rows`                                 tables cut into micro-batches
`FakeClock`                                       a clock that a test moves
================================================  ================================================

Everything random depends only on a `seed`. Nothing here imports the engine.

Examples
--------
>>> site = market(auctions=50, seed=1)
>>> site.bids.num_rows
1000
"""

from __future__ import annotations

from penstock.testing.age_curves import AGE_CURVES, AgeShape, bell, decreasing, increasing
from penstock.testing.age_model import AgeModel, age_model
from penstock.testing.arrivals import ArrivalLaw, arrival_times
from penstock.testing.clock import FakeClock
from penstock.testing.exact import exact_join
from penstock.testing.frequency_model import Correlation, FrequencyModel, frequency_model
from penstock.testing.key_streams import KeyPattern, KeyStreams, key_streams
from penstock.testing.lagged_streams import LaggedStreams, lagged_streams
from penstock.testing.market import BID_RUSH, Market, market
from penstock.testing.news import NEWS_HOURS, News, news
from penstock.testing.rows import canonical_rows, expected_rows
from penstock.testing.streams import cut, cut_rows
from penstock.testing.zipf import zipf_weights

__all__ = [
    "AGE_CURVES",
    "BID_RUSH",
    "NEWS_HOURS",
    "AgeModel",
    "AgeShape",
    "ArrivalLaw",
    "Correlation",
    "FakeClock",
    "FrequencyModel",
    "KeyPattern",
    "KeyStreams",
    "LaggedStreams",
    "Market",
    "News",
    "age_model",
    "arrival_times",
    "bell",
    "canonical_rows",
    "cut",
    "cut_rows",
    "decreasing",
    "exact_join",
    "expected_rows",
    "frequency_model",
    "increasing",
    "key_streams",
    "lagged_streams",
    "market",
    "news",
    "zipf_weights",
]

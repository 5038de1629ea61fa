from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from penstock.errors import SpecificationError
from penstock.testing import BID_RUSH, Market, market

WEEK = 7 * 86_400 * 10**6


def ages_and_lives(site: Market) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    opened = site.auctions["opened_at"].cast(pa.int64()).to_numpy()
    closes = site.auctions["closes_at"].cast(pa.int64()).to_numpy()
    auction = site.bids["auction_id"].to_numpy()
    age = site.bids["at"].cast(pa.int64()).to_numpy() - opened[auction]
    return age, (closes - opened)[auction]


def test_schemas() -> None:
    site = market(auctions=10)
    money, time = pa.decimal128(12, 2), pa.timestamp("us", tz="UTC")
    assert site.auctions.schema == pa.schema(
        [
            ("id", pa.int64()),
            ("seller", pa.string()),
            ("category", pa.string()),
            ("reserve", money),
            ("opened_at", time),
            ("closes_at", time),
        ]
    )
    assert site.bids.schema == pa.schema(
        [("auction_id", pa.int64()), ("bidder", pa.string()), ("price", money), ("at", time)]
    )
    site.auctions.validate(full=True)
    site.bids.validate(full=True)


def test_the_same_seed_gives_the_same_market() -> None:
    one, same, other = (market(auctions=100, seed=seed) for seed in (5, 5, 6))
    assert one.auctions.equals(same.auctions)
    assert one.bids.equals(same.bids)
    assert not one.bids.equals(other.bids)


def test_both_tables_are_in_order_of_time_and_ids_are_unique() -> None:
    site = market(auctions=2_000, zipf=1.0, seed=1)
    for column in (site.auctions["opened_at"], site.bids["at"]):
        assert (np.diff(column.cast(pa.int64()).to_numpy()) >= 0).all()
    assert pc.count_distinct(site.auctions["id"]).as_py() == 2_000
    assert site.bids.num_rows == 40_000


@pytest.mark.parametrize("life", ["7 days", ("1 hour", "10 days"), "1 microsecond"])
def test_every_bid_is_within_the_life_of_its_auction(life: str | tuple[str, str]) -> None:
    age, lives = ages_and_lives(market(auctions=3_000, life=life, zipf=0.5, seed=2))
    assert (age > 0).all()
    assert (age <= lives).all()


def test_lives_are_fixed_by_default_and_random_on_demand() -> None:
    _, lives = ages_and_lives(market(auctions=500))
    assert (lives == WEEK).all()
    _, lives = ages_and_lives(market(auctions=500, life=(timedelta(days=1), "7 days")))
    assert lives.min() < 1.2 * WEEK / 7
    assert lives.min() >= WEEK / 7
    assert lives.max() <= WEEK
    assert lives.max() > 0.97 * WEEK


def test_auctions_open_evenly_over_the_given_time() -> None:
    start = datetime(2026, 3, 1, tzinfo=UTC)
    site = market(auctions=10_000, over="10 days", start=start, seed=3)
    opened = site.auctions["opened_at"].to_pylist()
    assert start <= opened[0] < opened[-1] < start + timedelta(days=10)
    early = sum(time < start + timedelta(days=5) for time in opened)
    assert abs(early - 5_000) < 5 * 50  # five standard deviations of a fair coin


def test_a_start_without_zone_is_utc() -> None:
    naive = datetime(2026, 3, 1)  # noqa: DTZ001 -- that is the case
    site = market(auctions=5, start=naive)
    assert site.auctions.equals(market(auctions=5, start=naive.replace(tzinfo=UTC)).auctions)


def test_bids_fall_in_the_tenths_of_a_life_as_bid_rush_says() -> None:
    assert sum(BID_RUSH) == pytest.approx(1.0)
    age, lives = ages_and_lives(market(auctions=10_000, seed=4))
    tenths = np.bincount(np.ceil(10 * age / lives).astype(int) - 1, minlength=10) / len(age)
    shares = np.array(BID_RUSH)
    bound = 5 * np.sqrt(shares * (1 - shares) / len(age))  # five standard deviations
    assert (np.abs(tenths - shares) < bound).all()


def test_bids_are_even_within_a_tenth() -> None:
    age, lives = ages_and_lives(market(auctions=10_000, seed=4))
    last = 10 * age / lives - 9
    last = last[last > 0]
    assert abs(last.mean() - 0.5) < 5 / np.sqrt(12 * len(last))


def test_prices_rise_within_each_auction() -> None:
    site = market(auctions=300, zipf=1.0, seed=5)
    highest: dict[int, Any] = {}
    for bid in site.bids.select(["auction_id", "price"]).to_pylist():
        assert bid["price"] > highest.get(bid["auction_id"], 0)
        highest[bid["auction_id"]] = bid["price"]


def test_bids_go_to_hot_auctions_by_zipf() -> None:
    site = market(auctions=1_000, bids_per_auction=200, zipf=1.0, seed=6)
    counts = np.bincount(site.bids["auction_id"].to_numpy(), minlength=1_000)
    hottest = np.sort(counts)[::-1]
    expected = 200_000 / np.arange(1, 1_001) / np.sum(1 / np.arange(1, 1_001))
    for rank in (1, 2, 5, 10):
        bound = 6 * np.sqrt(expected[rank - 1])
        assert abs(hottest[rank - 1] - expected[rank - 1]) < bound
    # Heat has nothing to do with when an auction opens.
    assert abs(np.corrcoef(np.arange(1_000), counts)[0, 1]) < 5 / np.sqrt(1_000)


def test_without_zipf_all_auctions_are_alike() -> None:
    site = market(auctions=1_000, seed=7)
    counts = np.bincount(site.bids["auction_id"].to_numpy(), minlength=1_000)
    # Poisson of mean 20: the variance is 20, known from 1,000 counts to about 5 %.
    assert abs(counts.var() - 20) < 5 * 20 * np.sqrt(2 / 1_000)


def test_names_are_of_the_given_number() -> None:
    site = market(auctions=500, sellers=3, bidders=11, categories=("x", "y"), seed=8)
    assert set(site.auctions["seller"].to_pylist()) == {"seller-0", "seller-1", "seller-2"}
    assert pc.count_distinct(site.bids["bidder"]).as_py() == 11
    assert set(site.auctions["category"].to_pylist()) == {"x", "y"}


def test_a_market_may_have_no_bids() -> None:
    site = market(auctions=5, bids_per_auction=0)
    assert site.bids.num_rows == 0
    assert site.bids.schema == market(auctions=5).bids.schema


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"auctions": 0}, "auctions must be a whole number, at least 1; got 0"),
        ({"sellers": 0}, "number of sellers must be a whole number, at least 1; got 0"),
        ({"categories": ()}, "number of categories must be a whole number"),
        ({"bids_per_auction": -1}, "bids_per_auction must be a finite number, at least 0; got -1"),
        ({"zipf": float("nan")}, "zipf must be a finite number, at least 0; got nan"),
        ({"life": "0 seconds"}, "life must be a duration of at least a microsecond"),
        ({"life": ("2 days", "1 day")}, r"life must be \(shortest, longest\); got .* exchange"),
        ({"over": "fortnight"}, "over must be a duration"),
    ],
)
def test_wrong_arguments_are_refused(arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(SpecificationError, match=words):
        market(**arguments)

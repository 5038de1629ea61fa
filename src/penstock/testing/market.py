"""An auction site: auctions that open and close, and bids, most of them near the end."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from penstock.durations import to_units
from penstock.errors import SpecificationError, must
from penstock.testing._arguments import check_at_least, check_count
from penstock.testing.zipf import zipf_weights

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["BID_RUSH", "CATEGORIES", "Market", "market"]

Integers = npt.NDArray[np.int64]
Duration = str | timedelta

BID_RUSH: tuple[float, ...] = (0.09, 0.07, 0.06, 0.05, 0.04, 0.04, 0.06, 0.07, 0.11, 0.41)
"""The share of an auction's bids that falls in each tenth of its life."""

CATEGORIES: tuple[str, ...] = (
    "art", "books", "cameras", "clothing", "coins", "computers",
    "furniture", "instruments", "jewellery", "stamps", "tools", "toys",
)  # fmt: skip

_MICROSECONDS = 1_000_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_TIME = pa.timestamp("us", tz="UTC")
_MONEY = pa.decimal128(12, 2)


@dataclass(frozen=True, slots=True, eq=False)
class Market:
    """The two streams of an auction site, each in order of time.

    Attributes
    ----------
    auctions
        Columns ``id`` (int64), ``seller``, ``category`` (string), ``reserve`` (decimal128(12, 2)),
        ``opened_at`` and ``closes_at`` (timestamp[us, UTC]); in order of ``opened_at``.
    bids
        Columns ``auction_id`` (int64), ``bidder`` (string), ``price`` (decimal128(12, 2)) and
        ``at`` (timestamp[us, UTC]); in order of ``at``.
    """

    auctions: pa.Table
    bids: pa.Table


def market(
    *,
    auctions: int = 1_000,
    bids_per_auction: float = 20.0,
    zipf: float = 0.0,
    life: Duration | tuple[Duration, Duration] = "7 days",
    over: Duration = "30 days",
    start: datetime = datetime(2026, 1, 1, tzinfo=UTC),
    sellers: int | None = None,
    bidders: int | None = None,
    categories: Sequence[str] = CATEGORIES,
    seed: int = 0,
) -> Market:
    """Generate the auctions and bids of a site.

    Each bid is for one auction. It is strictly after the opening, not after the closing, and
    higher than the bid before it on the same auction. So in a join on the auction's id, with a
    window of `life` (the longer one, if there are two) on the auctions and 0 on the bids, every
    bid is in exactly one result.

    Parameters
    ----------
    auctions
        Number of auctions; at least 1.
    bids_per_auction
        Mean number of bids; the total is `auctions` times this, rounded.
    zipf
        Skew of the bids: the auction of rank k gets bids in proportion to k ** -zipf. With 0, the
        default, all get the same. The ranks are given to auctions at random.
    life
        From opening to closing: one duration for all, or (shortest, longest) of a uniform
        distribution.
    over
        Auctions open at uniformly distributed times in this period. With the defaults about a
        quarter of them are open at a time.
    start
        Start of this period. Without a time zone it is taken as UTC.
    sellers, bidders
        Numbers of different ones; None for one seller per 5 auctions and one bidder per 10 bids.
    categories
        Names of the categories.
    seed
        The same seed and parameters give the same market.

    Returns
    -------
    Market
        The tables of auctions and bids.

    Examples
    --------
    >>> site = market(auctions=3, bids_per_auction=2, seed=4)
    >>> site.auctions.num_rows, site.bids.num_rows
    (3, 6)
    >>> site.bids.column_names
    ['auction_id', 'bidder', 'price', 'at']
    >>> site.auctions.schema.field("reserve").type
    Decimal128Type(decimal128(12, 2))

    References
    ----------
    The scenario is that of Srivastava and Widom, Memory-Limited Execution of Windowed Stream Joins
    (VLDB 2004), section 2.2: most bids are made shortly before an auction closes. The shares in
    `BID_RUSH` are ours.
    """
    check_count("auctions", auctions)
    check_at_least("bids_per_auction", bids_per_auction, 0)
    bids = round(auctions * bids_per_auction)
    sellers = max(1, auctions // 5) if sellers is None else sellers
    bidders = max(1, bids // 10) if bidders is None else bidders
    counts = (("sellers", sellers), ("bidders", bidders), ("categories", len(categories)))
    for name, count in counts:
        check_count(f"number of {name}", count)
    shortest, longest = (
        _microseconds("life", part) for part in (life if isinstance(life, tuple) else (life, life))
    )
    if shortest > longest:
        raise SpecificationError(must("life", "(shortest, longest)", life, "exchange the two"))
    opening, closing, bidding, naming, pricing = np.random.default_rng(seed).spawn(5)

    begin = start if start.tzinfo else start.replace(tzinfo=UTC)
    first = (begin - _EPOCH) // timedelta(microseconds=1)
    opened = first + np.sort(opening.integers(_microseconds("over", over), size=auctions))
    lives = closing.integers(shortest, longest, size=auctions, endpoint=True)
    # In cents. Half of the reserves lie between 25 and 100, and the few above 10,000 are clipped.
    worth = np.clip(pricing.lognormal(np.log(5_000), 1.0, size=auctions), 100, 1_000_000)
    reserve = worth.astype(np.int64)

    auction, offset = _bids(bids, zipf, lives, bidding)
    price = _rising_prices(auction, reserve, pricing)
    at = opened[auction] + offset
    order = np.argsort(at, kind="stable")

    return Market(
        auctions=pa.table(
            {
                "id": np.arange(auctions),
                "seller": _names("seller", sellers, auctions, naming),
                "category": pa.array(list(categories), pa.string()).take(
                    pa.array(naming.integers(len(categories), size=auctions))
                ),
                "reserve": _money(reserve),
                "opened_at": _times(opened),
                "closes_at": _times(opened + lives),
            }
        ),
        bids=pa.table(
            {
                "auction_id": auction[order],
                "bidder": _names("bidder", bidders, len(order), naming),
                "price": _money(price[order]),
                "at": _times(at[order]),
            }
        ),
    )


def _bids(
    bids: int, zipf: float, lives: Integers, generator: np.random.Generator
) -> tuple[Integers, Integers]:
    """Draw the auction of each bid and its time since the opening, ordered by these two."""
    heat = generator.permutation(zipf_weights(len(lives), zipf))
    auction = np.repeat(np.arange(len(lives)), generator.multinomial(bids, heat))
    tenth = generator.choice(len(BID_RUSH), size=len(auction), p=BID_RUSH)
    # 1 - random() is in (0, 1]: rounded up, so no bid is at the opening or after the closing.
    share = (tenth + 1.0 - generator.random(len(auction))) / len(BID_RUSH)
    offset = np.ceil(share * lives[auction]).astype(np.int64)
    order = np.lexsort((offset, auction))
    return auction, offset[order]


def _rising_prices(
    auction: Integers, reserve: Integers, generator: np.random.Generator
) -> Integers:
    """Draw prices in cents that rise within each auction; bids are in order of auction and time."""
    # A bid is higher than the last one by 4 % of the reserve on average, and by at least a cent:
    # an auction of 20 bids that starts at half of its reserve ends somewhat above the reserve.
    step = 1 + (generator.exponential(0.04, size=len(auction)) * reserve[auction]).astype(np.int64)
    total = np.cumsum(step)
    new = np.flatnonzero(np.diff(auction, prepend=-1))
    before = np.repeat(total[new] - step[new], np.diff(new, append=len(auction)))
    return reserve[auction] // 2 + total - before


def _names(kind: str, many: int, size: int, generator: np.random.Generator) -> pa.StringArray:
    digits = len(str(many - 1))
    names = pa.array([f"{kind}-{number:0{digits}}" for number in range(many)])
    return names.take(pa.array(generator.integers(many, size=size)))


def _money(cents: Integers) -> pa.Decimal128Array:
    # A decimal128 is a 16-byte integer; prices are far below 2 ** 63, so its upper half is 0.
    halves = np.zeros((len(cents), 2), dtype="<i8")
    halves[:, 0] = cents
    return pa.Array.from_buffers(_MONEY, len(cents), [None, pa.py_buffer(halves)])


def _times(microseconds: Integers) -> pa.TimestampArray:
    return pa.array(microseconds).cast(_TIME)


def _microseconds(name: str, value: Duration) -> int:
    length = to_units(value, _MICROSECONDS, name, "the times of a market are timestamps")
    if length < 1:
        requirement = "a duration of at least a microsecond"
        raise SpecificationError(must(name, requirement, value, "give a longer one"))
    return length

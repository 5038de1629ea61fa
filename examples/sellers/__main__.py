"""Estimate the bids per auction of each seller from a sample, and compare with the truth."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import penstock as ps
from examples.sellers.picture import save_sellers
from penstock.spark import session
from penstock.testing import market

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import SparkSession

STREAMS = {
    "auctions": ps.Stream(time="opened_at", window="7 days"),
    "bids": ps.Stream(time="at", window="0 seconds"),
}
SELLERS = 12
SHARE = 0.1


@dataclass(frozen=True)
class Seller:
    """One seller's bids per auction: the truth, and what two joins with less memory say.

    Attributes
    ----------
    name
        The seller.
    auctions
        How many there were: known without any join.
    true
        By the exact join.
    estimate, low, high
        From a sample; no interval if it has too few clusters for one.
    scaled
        From a maximum subset, divided by the share of all bids that it found.
    """

    name: str
    auctions: int
    true: float
    estimate: float
    low: float | None
    high: float | None
    scaled: float


def join(goal: ps.Sample | ps.MaxSubset, rows: int | None) -> ps.Join:
    """Make the join of auctions with their bids."""
    return ps.Join(
        streams=STREAMS,
        on=ps.Equal(auctions="id", bids="auction_id"),
        goal=goal,
        budget=None if rows is None else ps.Budget(rows=rows),
    )


def tables(auctions: int) -> dict[str, pa.Table]:
    """Make a market, until its last auction opens, in which some sellers draw more bids.

    Auctions are given to sellers by how hot they are, with much chance in it.
    """
    site = market(auctions=auctions, zipf=0.4, seed=4)
    number = np.argsort(site.auctions["id"].to_numpy())
    bids = np.searchsorted(site.auctions["id"].to_numpy()[number], site.bids["auction_id"])
    hot = np.bincount(number[bids], minlength=auctions) + 1
    fame = hot * np.random.default_rng(4).lognormal(0, 0.5, auctions)
    place = np.argsort(np.argsort(-fame)) * SELLERS // auctions
    names = pa.array([f"seller-{each:02}" for each in place])
    column = site.auctions.schema.get_field_index("seller")
    last = pc.max(site.auctions["opened_at"])
    return {
        "auctions": site.auctions.set_column(column, "seller", names),
        "bids": site.bids.filter(pc.field("at") < last),
    }


def bids_of(result: pa.Table) -> dict[str, int]:
    """Count the bids of each seller in a result."""
    sellers = pc.value_counts(pc.struct_field(result["auctions"].combine_chunks(), "seller"))
    return {each["values"]: each["counts"] for each in sellers.to_pylist()}


def sellers(spark: SparkSession, streams: dict[str, pa.Table], share: float) -> list[Seller]:
    """Return all sellers, the one with the most bids per auction first."""
    exact = join(ps.MaxSubset(), None).replay(streams)
    rows = round(share * exact.metrics.streams["auctions"].held_most)

    frames = {name: spark.createDataFrame(table) for name, table in streams.items()}
    sample = join(ps.Sample(), rows).batch(frames, shards=2)
    estimates = {row.seller: row for row in ps.estimate(sample, by="auctions.seller").collect()}

    subset = join(ps.MaxSubset(), rows).replay(streams)
    found = subset.metrics.emitted / exact.metrics.emitted

    opened = pc.value_counts(streams["auctions"]["seller"].combine_chunks()).to_pylist()
    auctions = {each["values"]: each["counts"] for each in opened}
    truth, kept = bids_of(exact.result), bids_of(subset.result)
    listed = [
        Seller(
            name=name,
            auctions=number,
            true=truth[name] / number,
            estimate=estimates[name]["count"] / number,
            low=_per(estimates[name]["count_low"], number),
            high=_per(estimates[name]["count_high"], number),
            scaled=kept.get(name, 0) / found / number,
        )
        for name, number in auctions.items()
    ]
    return sorted(listed, key=lambda seller: -seller.true)


def _per(total: float | None, number: int) -> float | None:
    return None if total is None else total / number


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the sellers, and draw them."""
    options = _parser().parse_args(arguments)
    listed = sellers(session(), tables(options.auctions), SHARE)
    print("bids per auction, with a tenth of the memory")
    print(f"{'seller':<12}{'true':>8}{'sample':>10}{'95 % interval':>20}{'maximum subset':>18}")
    for each in listed:
        interval = "too few clusters"
        if each.low is not None and each.high is not None:
            interval = f"{each.low:.2f} to {each.high:.2f}"
        print(
            f"{each.name:<12}{each.true:>8.2f}{each.estimate:>10.2f}{interval:>20}"
            f"{each.scaled:>18.2f}"
        )
    known = [(e.low, e.true, e.high) for e in listed if e.low is not None and e.high is not None]
    inside = sum(low <= true <= high for low, true, high in known)
    print(f"\nInside the interval: {inside} of {len(known)}.")
    for name, found in (("sample", "estimate"), ("maximum subset", "scaled")):
        errors = [abs(getattr(each, found) / each.true - 1) for each in listed]
        print(f"Mean error of the {name}: {sum(errors) / len(errors):.1%}")
    save_sellers(options.plot, listed)
    print(f"The picture: {options.plot}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m examples.sellers", description=__doc__)
    parser.add_argument("--auctions", type=int, default=40_000, help="in a month; 40,000")
    plot = Path("sellers.png")
    parser.add_argument("--plot", type=Path, default=plot, metavar="FILE", help="for the picture")
    return parser


if __name__ == "__main__":
    main()

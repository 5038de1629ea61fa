"""A minute and a half at a stock exchange, and the join of its trades with its quotes."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import pyarrow as pa

import penstock as ps
from penstock.testing import cut, zipf_weights

__all__ = [
    "BUDGET", "BURST", "FACTOR", "SECONDS", "START", "exchange", "in_seconds", "join", "sampled",
]  # fmt: skip

SECONDS = 100
BURST = range(40, 60)
"""Seconds in which there is news, and more rows come."""
FACTOR = 5
"""How many times as many."""

BUDGET = ps.Budget(cpu=0.3, costs=ps.Costs(arrival=10e-6, insert=40e-6, result=10e-6))
"""Costs are given, so that every machine decides the same."""

START = datetime(2026, 1, 5, 10, tzinfo=UTC)

_RATES = {"quotes": 1_000, "trades": 100}
# Quotes are made for most symbols, and trades are in a few.
_SKEWS = {"quotes": 0.3, "trades": 1.0}
_SYMBOLS = 200


def exchange(seed: int = 1) -> dict[str, pa.Table]:
    """Make quotes and trades: steady, five times as many for a while, and steady again."""
    draw = np.random.default_rng(seed)
    return {name: _table(name, rate, draw) for name, rate in _RATES.items()}


def _table(name: str, rate: int, draw: np.random.Generator) -> pa.Table:
    expected = [rate * (FACTOR if second in BURST else 1) for second in range(SECONDS)]
    second = np.repeat(np.arange(SECONDS), draw.poisson(expected))
    at = np.sort(second * 1_000_000 + draw.integers(1_000_000, size=second.size))
    begin = int(START.timestamp()) * 1_000_000
    symbols = draw.choice(_SYMBOLS, at.size, p=zipf_weights(_SYMBOLS, _SKEWS[name]))
    return pa.table(
        {
            "at": pa.array(begin + at, pa.timestamp("us", tz="UTC")),
            "symbol": symbols,
            "price": 100.0 + draw.normal(0.0, 1.0, at.size).round(2),
        }
    )


def join(budget: ps.Budget | None = None) -> ps.Join:
    """Make the join of each trade with the quotes of its symbol in the two seconds before it."""
    return ps.Join(
        streams={
            "quotes": ps.Stream(time="at", window="2 seconds"),
            "trades": ps.Stream(time="at", window="0 seconds"),
        },
        on=ps.Equal("symbol"),
        budget=budget,
        align="0 seconds",  # as with a budget, so that all results are of the same seconds
    )


def sampled(streams: dict[str, pa.Table], fraction: float, seed: int = 2) -> dict[str, pa.Table]:
    """Take a random sample of the rows of each stream."""
    draw = np.random.default_rng(seed)
    return {
        name: table.filter(pa.array(draw.random(len(table)) < fraction))
        for name, table in streams.items()
    }


def in_seconds(streams: dict[str, pa.Table], each: int = 1) -> dict[str, list[pa.Table]]:
    """Cut the streams into micro-batches of some seconds each."""
    at = [START + timedelta(seconds=second) for second in range(each, SECONDS, each)]
    batches = cut(join(), streams, at)
    return {name: [batch[name] for batch in batches] for name in streams}

"""Small replays whose true size is known, and what each says of it: is the truth in its interval?

Streams have 1,200 rows each, in windows of 200 of them, and 120 rows may be held.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

import penstock as ps
from penstock.testing import key_streams, market, zipf_weights

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.statistics.recall import Estimate
    from penstock.testing import KeyPattern

Tables = dict[str, pa.Table]
Times = npt.NDArray[np.float64]
Keys = npt.NDArray[np.int64]

LENGTH, WINDOW, ROWS = 1200, 200.0, 120
KEYS = 300


@dataclass(frozen=True)
class Said:
    """An estimate, and what is true."""

    estimate: Estimate
    truth: float

    @property
    def holds(self) -> bool:
        """Whether the truth is in the interval, within the rounding of sums."""
        noise = 1e-9 * self.truth
        return self.estimate.low - noise <= self.truth <= self.estimate.high + noise

    @property
    def half_width(self) -> float:
        """Half the length of the interval, as a share of the value."""
        return (self.estimate.high - self.estimate.low) / 2 / self.estimate.value


def zipf(seed: int, skew: float, names: str = "ab", *, drifts: bool = False) -> Tables:
    """Return streams of Zipf's law; with a drift all keys are others from the middle on."""
    draw = np.random.default_rng(seed)
    renamed = KEYS + draw.permutation(KEYS)
    tables = {}
    for name in names:
        times = np.sort(draw.uniform(0.0, LENGTH, LENGTH))
        keys = draw.choice(KEYS, LENGTH, p=zipf_weights(KEYS, skew))
        if drifts:
            keys = np.where(times > LENGTH / 2, renamed[keys], keys)
        tables[name] = pa.table({"time": times, "key": keys})
    return tables


def unequal(seed: int, pattern: KeyPattern) -> Tables:
    """Return streams of 51 keys, one of which has a quarter of the rows at a time."""
    made = key_streams(
        pattern=pattern,
        rates=(1.0, 1.0),
        duration=float(LENGTH),
        spell=WINDOW / 2,
        seed=seed,
    )
    return {"a": made.s1, "b": made.s2}


def out_of_order(tables: Tables, seed: int, late: float) -> Tables:
    """Deliver each row late by up to so much."""
    draw = np.random.default_rng([seed, 1])
    return {
        name: table.take(
            np.argsort(table["time"].to_numpy() + draw.uniform(0.0, late, table.num_rows))
        )
        for name, table in tables.items()
    }


def true_size(tables: Tables, window: float = WINDOW) -> int:
    """Count the results of the exact join: a row completes those of earlier rows of the others."""
    columns = [(each["key"].to_numpy(), each["time"].to_numpy()) for each in tables.values()]
    total = 0
    for keys, times in columns:
        found = np.ones(times.size, np.int64)
        for others in columns:
            if others[0] is not keys:
                found *= _before(keys, times, *others, window)
        total += int(found.sum())
    return total


def _before(keys: Keys, times: Times, others: Keys, theirs: Times, window: float) -> Keys:
    """Return how many rows of another stream each row finds in the window."""
    step = 2.0 * LENGTH
    ordered = np.sort(others * step + theirs)
    newest = np.searchsorted(ordered, keys * step + times)
    oldest = np.searchsorted(ordered, keys * step + np.maximum(times - window, 0.0))
    found: Keys = newest - oldest
    return found


def join(seed: int, names: str = "ab", *, window: float = WINDOW, lateness: float = 0.0) -> ps.Join:
    """Join streams on their keys, in 60 rows for each."""
    stream = ps.Stream(time="time", window=window, lateness=lateness)
    return ps.Join(
        streams=dict.fromkeys(names, stream),
        on=ps.Equal("key"),
        goal=ps.MaxSubset(strategy="fifo"),
        budget=ps.Budget(rows=ROWS // 2 * len(names)),
        seed=seed,
    )


def said(metrics: ps.Metrics, truth: float) -> Said:
    """Return what metrics say of the size of the exact join."""
    assert metrics.lost > 0
    assert metrics.true_size is not None
    return Said(metrics.true_size, truth)


def by_zipf(skew: float) -> Callable[[int], Said]:
    """Return the case of a skew."""

    def run(seed: int) -> Said:
        tables = zipf(seed, skew)
        return said(join(seed).replay(tables).metrics, true_size(tables))

    return run


def by_pattern(pattern: KeyPattern) -> Callable[[int], Said]:
    """Return the case of few, unequal keys."""

    def run(seed: int) -> Said:
        tables = unequal(seed, pattern)
        return said(join(seed).replay(tables).metrics, true_size(tables))

    return run


def drift(seed: int) -> Said:
    """All keys are others from the middle on."""
    tables = zipf(seed, 1.0, drifts=True)
    return said(join(seed).replay(tables).metrics, true_size(tables))


def late(seed: int) -> Said:
    """Rows are late by up to 30 s, and out of order."""
    tables = zipf(seed, 1.0)
    delivered = out_of_order(tables, seed, 30.0)
    return said(join(seed, lateness=30.0).replay(delivered).metrics, true_size(tables))


def shards(seed: int) -> Said:
    """Four shards, each with entries of its own."""
    tables = zipf(seed, 1.0)
    return said(join(seed).replay(tables, shards=4).metrics, true_size(tables))


def last_batch(seed: int) -> Said:
    """Of the last of three micro-batches, `Metrics.batch_recall`."""
    tables = zipf(seed, 1.0)
    third = LENGTH // 3
    parts = {
        name: [table.slice(at, third) for at in range(0, LENGTH, third)]
        for name, table in tables.items()
    }
    before = true_size({name: table.slice(0, 2 * third) for name, table in tables.items()})
    metrics = replace(join(seed), align="off").replay(parts).metrics
    assert metrics.batch_recall is not None
    return Said(metrics.batch_recall, metrics.batch_emitted / (true_size(tables) - before))


def auctions(skew: float) -> Callable[[int], Said]:
    """Return the case of the demo's market, in which each bid has its auction."""

    def run(seed: int) -> Said:
        site = market(auctions=600, zipf=skew, seed=seed)
        found = ps.Join(
            streams={
                "auctions": ps.Stream(time="opened_at", window="7 days"),
                "bids": ps.Stream(time="at", window="0 seconds"),
            },
            on=ps.Equal(auctions="id", bids="auction_id"),
            goal=ps.MaxSubset(strategy="fifo"),
            budget=ps.Budget(rows=80),
            seed=seed,
        ).replay({"auctions": site.auctions, "bids": site.bids})
        return said(found.metrics, site.bids.num_rows)

    return run


def three_streams(seed: int) -> Said:
    """Three streams, in windows of 100 rows of each."""
    tables = zipf(seed, 1.0, "abc")
    metrics = join(seed, "abc", window=100.0).replay(tables).metrics
    return said(metrics, true_size(tables, 100.0))


def importance(combined: Literal["product", "sum"]) -> Callable[[int], Said]:
    """Return the case of importance that is combined so, of rows that differ much."""

    def run(seed: int) -> Said:
        draw = np.random.default_rng([seed, 2])
        tables = {
            name: table.append_column("votes", pa.array(draw.lognormal(0.0, 1.0, LENGTH)))
            for name, table in zipf(seed, 1.0).items()
        }
        goal = ps.MaxImportance(of="votes", result=combined, strategy="fifo")
        limited = replace(join(seed), goal=goal)
        truth = replace(limited, budget=None, goal=goal).replay(tables).metrics.importance
        metrics = limited.replay(tables).metrics
        assert metrics.lost > 0
        assert metrics.importance_recall is not None
        return Said(metrics.importance_recall, metrics.importance / truth)

    return run


CASES: dict[str, Callable[[int], Said]] = {
    "Zipf 0": by_zipf(0.0),
    "Zipf 0.5": by_zipf(0.5),
    "Zipf 1": by_zipf(1.0),
    "Zipf 2": by_zipf(2.0),
    "51 keys": by_pattern("steady"),
    "bursts": by_pattern("bursts"),
    "dominant": by_pattern("dominant"),
    "drift": drift,
    "late": late,
    "shards": shards,
    "last batch": last_batch,
    "market": auctions(0.0),
    "three streams": three_streams,
    "importance, product": importance("product"),
    "importance, sum": importance("sum"),
}
"""By name; each makes a replay of a seed."""

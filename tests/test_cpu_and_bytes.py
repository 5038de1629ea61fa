"""A limit of work and one of bytes at once: neither is ever exceeded, and little more is lost."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pyarrow as pa
import pytest

import penstock as ps
from penstock.engine.operator import Operator
from penstock.engine.plan import bind
from penstock.engine.sizes import row_sizes
from penstock.testing import canonical_rows, market

DAY = 86_400
COSTS = ps.Costs(insert=1.0, result=5.0)


@dataclass(frozen=True)
class Site:
    """Auctions with texts of very different lengths, and the bids on them."""

    seed: int = 5

    @cached_property
    def tables(self) -> dict[str, pa.Table]:
        site = market(
            auctions=2_000, bids_per_auction=8, life="7 days", over="21 days", seed=self.seed
        )
        draws = np.random.default_rng(self.seed)
        lengths = draws.integers(20, 600, site.auctions.num_rows)
        texts = pa.array(["x" * length for length in lengths.tolist()])
        return {"auctions": site.auctions.append_column("text", texts), "bids": site.bids}

    @property
    def exact(self) -> ps.Join:
        return ps.Join(
            streams={
                "auctions": ps.Stream(time="opened_at", window="7 days"),
                "bids": ps.Stream(time="at", window="0 seconds"),
            },
            on=ps.Equal(auctions="id", bids="auction_id"),
        )

    def budget(self, memory: float, work: float) -> ps.Budget:
        """Return shares of the bytes and of the work of the exact join."""
        metrics = self.exact.replay(self.tables).metrics
        full = COSTS.of(arrivals=0, inserted=metrics.inserted, compared=0, results=metrics.emitted)
        return ps.Budget(
            memory=int(memory * metrics.bytes_most),
            cpu=0.5,
            costs=COSTS.times(0.5 / work * 28 * DAY / full),
            burst="12 hours",
        )

    def batches(self, hours: int) -> dict[str, list[pa.Table]]:
        """Return the rows of so many hours at a time."""
        step = hours * 3600
        seconds = {
            name: np.array([at.timestamp() for at in self.tables[name][column].to_pylist()])
            for name, column in (("auctions", "opened_at"), ("bids", "at"))
        }
        first = min(times.min() for times in seconds.values())
        parts = {name: ((times - first) // step).astype(int) for name, times in seconds.items()}
        last = max(part.max() for part in parts.values())
        return {
            name: [table.filter(pa.array(parts[name] == number)) for number in range(last + 1)]
            for name, table in self.tables.items()
        }


def held_bytes(operator: Operator) -> int:
    """Return the bytes that are held, counted row by row."""
    total = 0
    for payload in operator.payloads:
        for number, window in payload.sub_windows.items():
            sizes = row_sizes(window.table)[payload.live(number)]
            total += int(sizes.sum()) + operator.store.row_overhead * sizes.size
    return total


@pytest.mark.parametrize("cpu", [None, "coin-flip", "max-subset"])
def test_neither_limit_is_ever_exceeded(cpu: str | None) -> None:
    site = Site()
    budget = site.budget(0.1, 0.2)
    goal = ps.MaxSubset(strategy=None if cpu is None else {"cpu": cpu})
    join = replace(site.exact, budget=budget, goal=goal)
    operator = Operator(bind(join, {name: each.schema for name, each in site.tables.items()}))
    assert operator.work is not None
    batches = site.batches(12)
    held, work = [], []
    for number in range(len(batches["bids"])):
        operator.process({name: each[number] for name, each in batches.items()})
        held.append(held_bytes(operator))
        work.append(operator.work.ledger.account.spent + operator.work.ledger.not_booked)
    memory = budget.memory_bytes
    assert memory is not None
    assert 0.8 * memory < max(held) <= memory
    metrics = operator.metrics()
    assert metrics.bytes_most <= memory
    # In seven days, the window, what was kept from before is 1/14 of what is allowed.
    half_days = np.diff(work, prepend=0.0) / (
        operator.work.ledger.account.share * operator.work.ledger.unit
    )
    weeks = np.convolve(half_days, np.ones(14), "valid") / (7.5 * DAY)
    assert np.all(weeks <= 1.02)
    assert weeks.max() > 0.9
    streams = metrics.streams.values()
    assert sum(each.not_admitted + each.not_inserted for each in streams) > 0
    assert sum(each.evicted + each.dropped for each in streams) > 0


@pytest.mark.parametrize("seed", [5, 6])
def test_both_together_lose_little_more_than_one_after_the_other(seed: int) -> None:
    site = Site(seed)
    budget = site.budget(0.1, 0.5)
    exact = site.exact.replay(site.tables).metrics.emitted
    alone = ps.Budget(memory=budget.memory), replace(budget, memory=None)
    both, memory, cpu = (
        replace(site.exact, budget=each).replay(site.tables).metrics for each in (budget, *alone)
    )
    found = [each.emitted / exact for each in (both, memory, cpu)]
    assert found[0] >= 0.95 * found[1] * found[2]
    assert both.recall is not None
    assert both.recall.low <= found[0] <= both.recall.high


@pytest.mark.parametrize("seed", [5, 6])
def test_with_enough_of_both_it_is_the_exact_join(seed: int) -> None:
    site = Site(seed)
    join = replace(site.exact, budget=site.budget(1.1, 50.0))
    replay = join.replay(site.tables)
    assert canonical_rows(replay.result) == canonical_rows(site.exact.replay(site.tables).result)
    assert replay.metrics.lost == 0

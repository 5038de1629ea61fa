"""True recall lies in the interval where work is shed, as often as it says: 95 times in 100."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import pytest

import penstock as ps
from penstock.testing import zipf_weights

WINDOWS = {"l": 3.0, "r": 5.0, "m": 4.0}
SECONDS = 8.0
VALUES = 20
COSTS = ps.Costs(insert=0.001, result=0.0002)


def draw(rates: tuple[int, ...], seed: int, *, skewed: bool) -> dict[str, pa.Table]:
    """Return streams of some hundred rows, with a few frequent values or none."""
    draws = np.random.default_rng(10_000 + seed)
    weights = zipf_weights(VALUES, 1.0) if skewed else np.full(VALUES, 1 / VALUES)
    tables = {}
    for name, rate in zip(WINDOWS, rates, strict=False):
        rows = int(rate * SECONDS)
        times = np.sort(draws.uniform(0, SECONDS, rows))
        tables[name] = pa.table({"time": times, "key": draws.choice(VALUES, rows, p=weights)})
    return tables


def true_size(tables: dict[str, pa.Table]) -> int:
    """Return the number of results of the exact join, by comparing all rows with all."""
    columns = {
        name: (table["time"].to_numpy(), table["key"].to_numpy()) for name, table in tables.items()
    }
    total = 0
    for name, (times, keys) in columns.items():
        found = np.ones(times.size, np.int64)
        for other, (before, theirs) in columns.items():
            if other != name:
                age = times[:, None] - before[None, :]
                in_window = (age > 0) & (age <= WINDOWS[other])
                found *= np.sum(in_window & (keys[:, None] == theirs[None, :]), axis=1)
        total += int(found.sum())
    return total


@dataclass(frozen=True)
class Setting:
    """Small replays of one strategy with a share of the work of the exact join."""

    strategy: str
    share: float
    rates: tuple[int, ...]
    skewed: bool

    @cached_property
    def budget(self) -> ps.Budget:
        tables = draw(self.rates, 0, skewed=self.skewed)
        rows = sum(table.num_rows for table in tables.values())
        work = COSTS.of(
            arrivals=rows, inserted=rows, compared=0.0, results=float(true_size(tables))
        )
        return ps.Budget(cpu=self.share * work / SECONDS, costs=COSTS, burst=1.0)

    def is_covered(self, seed: int) -> bool:
        """Return whether a replay's true recall is in its own interval."""
        tables = draw(self.rates, seed, skewed=self.skewed)
        join = ps.Join(
            streams={name: ps.Stream(time="time", window=WINDOWS[name]) for name in tables},
            on=ps.Equal("key"),
            goal=ps.MaxSubset(strategy=self.strategy),
            budget=self.budget,
            seed=seed,
        )
        metrics = join.replay(tables).metrics
        assert metrics.lost > 0
        assert metrics.recall is not None
        true = metrics.emitted / true_size(tables)
        return metrics.recall.low <= true <= metrics.recall.high


TWO, THREE = (25, 35), (15, 18, 17)


# The seeds are fixed, so chance decides nothing: 95 % of 1,000 have a standard error of 0.7 %.
# Sizes are counted, and exactly in runs as small as these: the interval is a point.
@pytest.mark.slow
@pytest.mark.parametrize(
    "setting",
    [
        pytest.param(Setting("coin-flip", 0.5, TWO, skewed=True), id="two streams"),
        pytest.param(Setting("coin-flip", 0.5, THREE, skewed=False), id="three streams"),
    ],
)
def test_where_keys_are_counted_recall_is_exact(setting: Setting) -> None:
    assert all(setting.is_covered(seed) for seed in range(100))


# --- Without keys, and with a limit of memory as well


def numbers(seed: int, rates: tuple[int, ...] = TWO) -> dict[str, pa.Table]:
    """Return streams of numbers, of which no two are the same."""
    draws = np.random.default_rng(10_000 + seed)
    tables = {}
    for name, rate in zip(WINDOWS, rates, strict=False):
        times = np.sort(draws.uniform(0, SECONDS, int(rate * SECONDS)))
        tables[name] = pa.table({"time": times, "key": draws.uniform(0, 20, times.size)})
    return tables


@dataclass(frozen=True)
class Numbers:
    """Small replays by distance of one strategy, with half of the work of the exact join."""

    strategy: str | None
    rows: int | None = None
    rates: tuple[int, ...] = TWO
    distance: float = 0.5

    def join(self, budget: ps.Budget | None = None, seed: int = 0) -> ps.Join:
        names = list(WINDOWS)[: len(self.rates)]
        return ps.Join(
            streams={name: ps.Stream(time="time", window=WINDOWS[name]) for name in names},
            on=ps.Within(self.distance, **dict.fromkeys(names, "key")),
            goal=ps.MaxSubset(strategy=None if budget is None else self.strategy),
            budget=budget,
            seed=seed,
        )

    @cached_property
    def budget(self) -> ps.Budget:
        exact = self.join().replay(numbers(0, self.rates)).metrics
        work = COSTS.of(arrivals=0.0, inserted=exact.inserted, compared=0.0, results=exact.emitted)
        return ps.Budget(cpu=0.5 * work / SECONDS, costs=COSTS, burst=1.0, rows=self.rows)

    def is_covered(self, seed: int) -> bool:
        """Return whether a replay's true recall is in its own interval."""
        tables = numbers(seed, self.rates)
        metrics = self.join(self.budget, seed).replay(tables).metrics
        true = metrics.emitted / self.join().replay(tables).metrics.emitted
        recall = metrics.recall
        return recall is not None and recall.low <= true <= recall.high


# Few rows show what is lost: most estimates are a little low, and a few much too high.
@pytest.mark.slow
@pytest.mark.parametrize(
    ("setting", "replays", "most"),
    [
        # It was .963, .951 and, of three streams, .957 and .947.
        pytest.param(Numbers("probe-no-insert"), 1000, 0.975, id="by lot"),
        pytest.param(Numbers(None), 1000, 0.975, id="by value"),
        pytest.param(Numbers("coin-flip", None, THREE, 1.0), 300, 0.975, id="three streams"),
        pytest.param(Numbers(None, None, THREE, 1.0), 300, 0.975, id="three streams, no name"),
        # With two monitored rows or so most estimates are half of the truth, and one in twenty is
        # twice the truth and more. An interval that is the same factor in both directions has the
        # truth too often. It was .986 of 1,000.
        pytest.param(Numbers(None, 40), 200, 1.0, id="both limits"),
    ],
)
def test_without_keys_true_recall_is_in_the_interval(
    setting: Numbers, replays: int, most: float
) -> None:
    covered = sum(setting.is_covered(seed) for seed in range(3000, 3000 + replays))
    assert 0.93 <= covered / replays <= most

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
@pytest.mark.slow
@pytest.mark.parametrize(
    ("setting", "most"),
    [
        # Of two streams the size is counted, exactly in runs as small as these: it was 1 here.
        pytest.param(Setting("coin-flip", 0.5, TWO, skewed=True), 1.0, id="two streams"),
        # It was 0.949.
        pytest.param(Setting("coin-flip", 0.5, THREE, skewed=False), 1.0, id="three streams"),
    ],
)
def test_true_recall_is_in_the_interval_in_a_thousand_replays(
    setting: Setting, most: float
) -> None:
    covered = sum(setting.is_covered(seed) for seed in range(1000))
    assert 0.93 <= covered / 1000 <= most


# --- Without keys, and with a limit of memory as well


def numbers(seed: int) -> dict[str, pa.Table]:
    """Return streams of numbers, of which no two are the same."""
    draws = np.random.default_rng(10_000 + seed)
    tables = {}
    for name, rate in zip(WINDOWS, TWO, strict=False):
        times = np.sort(draws.uniform(0, SECONDS, int(rate * SECONDS)))
        tables[name] = pa.table({"time": times, "key": draws.uniform(0, 20, times.size)})
    return tables


def true_pairs(tables: dict[str, pa.Table]) -> int:
    """Return the number of pairs that are at most 0.5 apart, by comparing all rows with all."""
    (l_times, l_keys), (r_times, r_keys) = (
        (table["time"].to_numpy(), table["key"].to_numpy()) for table in tables.values()
    )
    later = r_times[None, :] - l_times[:, None]
    in_window = ((later > 0) & (later <= WINDOWS["l"])) | ((later < 0) & (-later <= WINDOWS["r"]))
    return int(np.sum(in_window & (np.abs(l_keys[:, None] - r_keys[None, :]) <= 0.5)))


def covers(strategy: str | None, seed: int, rows: int | None) -> bool:
    """Return whether a replay's true recall is in its own interval."""
    first, tables = numbers(0), numbers(seed)
    count = sum(table.num_rows for table in first.values())
    work = COSTS.of(arrivals=count, inserted=count, compared=0.0, results=float(true_pairs(first)))
    join = ps.Join(
        streams={name: ps.Stream(time="time", window=WINDOWS[name]) for name in tables},
        on=ps.Within(0.5, l="key", r="key"),
        goal=ps.MaxSubset(strategy=strategy),
        budget=ps.Budget(cpu=0.5 * work / SECONDS, costs=COSTS, burst=1.0, rows=rows),
        seed=seed,
    )
    metrics = join.replay(tables).metrics
    recall = metrics.recall
    return recall is not None and recall.low <= metrics.emitted / true_pairs(tables) <= recall.high


# Few rows show what is lost: most estimates are a little low, and a few much too high. Intervals
# that hold for both are rather too wide than too narrow.
@pytest.mark.slow
@pytest.mark.parametrize(
    ("strategy", "rows"),
    [
        pytest.param("probe-no-insert", None, id="by lot"),
        pytest.param(None, None, id="by value"),
        pytest.param(None, 40, id="both limits"),
    ],
)
def test_without_keys_true_recall_is_in_the_interval(
    strategy: str | None, rows: int | None
) -> None:
    covered = sum(covers(strategy, seed, rows) for seed in range(3000, 3200))
    assert covered / 200 >= 0.93

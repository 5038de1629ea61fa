"""True recall lies in the interval that is reported, as often as it says: 95 times in 100."""

from __future__ import annotations

import numpy as np
import pytest

import penstock as ps
from penstock.engine.size_meter import SizeMeter
from penstock.testing import age_model
from tests.strategies.recall_cases import CASES, Said


def is_covered(strategy: str | None, seed: int) -> bool:
    """Return whether a small replay's true recall is in its own interval.

    A thousand rows in a window, of which 200 are held and 10 monitored.
    """
    model = age_model(rate_1=2, rate_2=10, duration=3000, arrivals="mean-rate", seed=seed)
    join = ps.Join(
        streams={
            "s1": ps.Stream(time="time", window=model.window),
            "s2": ps.Stream(time="time", window=0.0),
        },
        on=ps.Within(0, s1="id", s2="id"),  # with `Equal` sizes would be counted, and no row asked
        goal=ps.MaxSubset(strategy=strategy),
        budget=ps.Budget(rows=200),
        seed=seed,
    )
    metrics = join.replay({"s1": model.s1, "s2": model.s2}).metrics
    # Each row of s2 that refers to a row gives one result.
    true = metrics.emitted / int((model.s2["id"].to_numpy() >= 0).sum())
    assert metrics.recall is not None
    return metrics.recall.low <= true <= metrics.recall.high


def test_true_recall_is_in_the_interval() -> None:
    """Of 100 replays each: 95 % with a standard error of 2.2 %, of which three are allowed."""
    for strategy in (None, "age"):
        covered = sum(is_covered(strategy, seed) for seed in range(100))
        assert 0.885 <= covered / 100 <= 1


# A thousand replays of `age` would take three minutes, and of the join's own choice eight.
@pytest.mark.slow
def test_true_recall_is_in_the_interval_in_a_thousand_replays() -> None:
    covered = sum(is_covered("fifo", seed) for seed in range(1000))
    assert 0.93 <= covered / 1000 <= 0.97


@pytest.fixture
def few_entries(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have 100 entries for windows of 400 to 800 rows; with all 2,048 the count is exact."""
    allow = SizeMeter.allow
    monkeypatch.setattr(SizeMeter, "allow", lambda self: allow(self, 100))


def share_that_holds(found: list[Said]) -> float:
    """Return the share of the intervals with the truth in them."""
    return float(np.mean([each.holds for each in found]))


def usual_half_width(found: list[Said]) -> float:
    """Return the median of the half-widths, as a share of the value."""
    return float(np.median([each.half_width for each in found]))


@pytest.mark.usefixtures("few_entries")
def test_counts_of_keys_hold_the_true_size() -> None:
    """Of 100 replays: 95 % with a standard error of 2.2 %, of which three are allowed."""
    found = [CASES["Zipf 1"](seed) for seed in range(100)]
    assert share_that_holds(found) >= 0.885
    assert usual_half_width(found) < 0.05


# Where keys are nearly unique, counts are a sample of rows; the market has a key for each auction.
HALF_WIDTHS = {"Zipf 0": 0.14, "Zipf 0.5": 0.12, "market": 0.14, "importance, product": 0.06}


@pytest.mark.slow
@pytest.mark.usefixtures("few_entries")
@pytest.mark.parametrize("case", CASES)
def test_counts_of_keys_hold_the_true_size_in_a_thousand_replays(case: str) -> None:
    found = [CASES[case](seed) for seed in range(1000)]
    assert 0.93 <= share_that_holds(found) <= 0.97
    assert usual_half_width(found) <= HALF_WIDTHS.get(case, 0.05)

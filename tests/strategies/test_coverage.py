"""True recall lies in the interval that is reported, as often as it says: 95 times in 100."""

from __future__ import annotations

import pytest

import penstock as ps
from penstock.testing import age_model


def is_covered(strategy: str | None, seed: int) -> bool:
    """Say whether a small replay's true recall is in its own interval.

    A thousand rows in a window, of which 200 are held and 10 monitored.
    """
    model = age_model(rate_1=2, rate_2=10, duration=3000, arrivals="mean-rate", seed=seed)
    join = ps.Join(
        streams={
            "s1": ps.Stream(time="time", window=model.window),
            "s2": ps.Stream(time="time", window=0.0),
        },
        on=ps.Equal("id"),
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

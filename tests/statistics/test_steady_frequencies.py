"""Shares of keys that are remembered while they stay the same."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.statistics.frequencies import Frequencies
from penstock.statistics.key_prior import KeyPrior
from penstock.statistics.steady_frequencies import SteadyFrequencies
from penstock.testing import zipf_weights

KEYS = np.arange(50)
OWN = np.ones(KEYS.size)  # all keys have as many rows in the other stream
NO_PRIOR = KeyPrior(np.full(1, 1e-9), np.ones(1))


def observed(*weights: np.ndarray, reviews: int = 200, rows: int = 50) -> SteadyFrequencies:
    """Return what is known after some reviews of each of the given shares."""
    draw = np.random.default_rng(1)
    recent, steady = Frequencies(), SteadyFrequencies()
    for each in weights:
        for _ in range(reviews):
            keys = draw.choice(KEYS, rows, p=each)
            steady.add(keys, recent, factor=0.9)
            recent.fade(0.9)
            recent.add(keys)
    return steady


def test_all_that_has_come_is_remembered_while_shares_stay() -> None:
    weights = zipf_weights(KEYS.size, 1.0)
    shares = observed(weights).share_of(KEYS, OWN, NO_PRIOR)
    # Of about 10,000 rows the rarest key has 44: a standard deviation of 15 %. The recent counts
    # remember 500 rows, of which that key has 2.
    assert shares == pytest.approx(weights, rel=0.6)
    assert float(np.abs(shares - weights).sum()) < 0.08


def test_what_came_before_a_change_is_forgotten() -> None:
    weights = zipf_weights(KEYS.size, 1.0)
    shares = observed(weights, weights[::-1]).share_of(KEYS, OWN, NO_PRIOR)
    assert float(np.abs(shares - weights[::-1]).sum()) < 0.12


def test_keys_that_differ_by_chance_only_are_taken_to_be_alike() -> None:
    steady = observed(np.full(KEYS.size, 1 / KEYS.size), reviews=2)
    prior = steady.prior_of(KEYS, OWN, OWN)
    assert steady.share_of(KEYS, OWN, prior) == pytest.approx(1 / KEYS.size, rel=0.1)


def test_a_saved_state_goes_on() -> None:
    weights = zipf_weights(KEYS.size, 1.0)
    steady, restored = observed(weights), SteadyFrequencies()
    restored.restore(steady.save())
    prior = restored.prior_of(KEYS, OWN, OWN)
    assert prior.save().tolist() == steady.prior_of(KEYS, OWN, OWN).save().tolist()
    assert (
        restored.share_of(KEYS, OWN, prior).tolist() == steady.share_of(KEYS, OWN, prior).tolist()
    )

"""What is known of a key in one stream from how often it comes in the other."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.statistics.key_prior import KeyPrior
from penstock.testing import zipf_weights

ROWS = 2_000.0
WEIGHTS = zipf_weights(100, 1.0)


def counted(seed: int, shares: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows of each key in its own stream, and in the other one."""
    draw = np.random.default_rng(seed)
    own, counts = (draw.poisson(ROWS * each).astype(np.float64) for each in (WEIGHTS, shares))
    return own, counts


def error(expected: np.ndarray, shares: np.ndarray) -> float:
    """Return how far off shares are in proportion, of the keys that are frequent here."""
    frequent = slice(0, 20)
    apart = np.abs(np.log(np.maximum(expected, 0.1) / (ROWS * shares)))
    return float(apart[frequent].mean())


def test_keys_that_are_as_frequent_here_tell_of_one_that_is_rare_there() -> None:
    shares = WEIGHTS[::-1]  # those that are frequent here are rare there, all about as rare
    with_prior, counts_alone = [], []
    for seed in range(20):
        own, counts = counted(seed, shares)
        prior = KeyPrior.of(counts, own, own)
        with_prior.append(error(prior.expected(counts, own), shares))
        counts_alone.append(error(counts, shares))
    assert np.mean(with_prior) < 0.6 * np.mean(counts_alone)


def test_counts_are_believed_where_keys_of_a_class_differ() -> None:
    shares = np.random.default_rng(7).permutation(WEIGHTS)
    own, counts = counted(1, shares)
    expected = KeyPrior.of(counts, own, own).expected(counts, own)
    frequent = counts > 30
    assert frequent.sum() > 10
    assert expected[frequent] == pytest.approx(counts[frequent], rel=0.1)


def test_a_class_of_which_nothing_is_known_has_what_the_next_one_has() -> None:
    own, counts = np.array([100.0, 100.0, 100.0]), np.array([2.0, 3.0, 4.0])
    prior = KeyPrior.of(counts, own, own)
    seen, below, above = prior.expected(np.full(3, 3.0), np.array([100.0, 0.0, 1e9]))
    assert seen == below == above == pytest.approx(3.0, rel=0.01)


def test_a_key_alone_has_the_rows_that_have_come() -> None:
    own, counts = np.array([1000.0]), np.array([40.0])
    prior = KeyPrior.of(counts, own, own)
    assert prior.expected(np.array([80.0]), own)[0] == pytest.approx(80.0, rel=0.03)


def test_one_class_as_saved_by_earlier_versions_is_for_all_keys() -> None:
    prior = KeyPrior.restored(np.array([2.0, 4.0]))
    assert prior.expected(np.array([1.0, 1.0]), np.array([0.0, 1e6])).tolist() == [2.0, 2.0]


def test_where_nothing_has_come_all_keys_are_alike() -> None:
    nothing = np.zeros(0)
    assert KeyPrior.of(nothing, nothing, nothing).shapes.tolist() == [1.0]

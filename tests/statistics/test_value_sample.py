"""The sample of values: fair, forgetful, and the same however it is fed."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.engine.likeliness import _spread
from penstock.statistics.value_sample import ValueSample

EDGES = np.linspace(0, 1, 11)


def shares(sample: ValueSample) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Return the share of each tenth of 0 to 1."""
    found: np.ndarray[tuple[int], np.dtype[np.float64]] = sample.share_between(
        EDGES[:-1], EDGES[1:]
    )
    return found


def test_every_value_is_as_likely_to_be_in_the_sample() -> None:
    values = np.linspace(0.001, 0.999, 1000) ** 2  # most of them small
    means = []
    for seed in range(300):
        sample = ValueSample(size=50)
        sample.add(values, np.random.default_rng(seed).random(1000), age=0.0)
        means.append(shares(sample))
    true = np.histogram(values, EDGES)[0] / 1000
    # Drawn without replacement: a binomial's deviation is more than theirs. Ten tenths are
    # looked at together, hence four standard errors.
    allowed = 4 * np.sqrt(true * (1 - true) / 50 / 300)
    assert (np.abs(np.mean(means, axis=0) - true) < allowed).all()


def test_what_came_a_half_life_ago_is_half_as_likely() -> None:
    found = []
    for seed in range(200):
        generator = np.random.default_rng(seed)
        sample = ValueSample(size=60)
        for age in (0.0, 1.0, 2.0):
            sample.add(np.full(2000, age), generator.random(2000), age)
        found.append([sample.share_between(np.array([a]), np.array([a]))[0] for a in (0, 1, 2)])
    # 1 : 2 : 4, as a sample is small beside what it is of; 4 standard errors.
    expected = np.array([1, 2, 4]) / 7
    allowed = 4 * np.sqrt(expected * (1 - expected) / 60 / 200)
    assert (np.abs(np.mean(found, axis=0) - expected) < allowed).all()


@pytest.mark.parametrize("per_review", [128, 4096])
@pytest.mark.parametrize("reviews", [40, 400])
def test_as_the_engine_feeds_it_the_sample_is_like_the_stream(
    per_review: int, reviews: int
) -> None:
    """The draws follow from the values, and yet no quantile is drawn more often than others."""
    generator = np.random.default_rng(per_review + reviews)
    sample = ValueSample(size=2048)
    for review in range(reviews):
        age = 2 * review / reviews
        values = generator.random(per_review)
        sample.add(values, _spread(values, age), age)
    # Each tenth within 4 standard deviations of a tenth.
    assert np.abs(shares(sample) - 0.1).max() < 4 * np.sqrt(0.1 * 0.9 / 2048)


def test_the_draws_follow_from_the_values_whatever_their_order() -> None:
    generator = np.random.default_rng(3)
    values = generator.integers(0, 20, 200).astype(np.float64)
    mixed = generator.permutation(values)
    one = sorted(zip(values.tolist(), _spread(values, 0.5).tolist(), strict=True))
    other = sorted(zip(mixed.tolist(), _spread(mixed, 0.5).tolist(), strict=True))
    assert one == other
    assert len({draw for _, draw in one}) == 200  # equal values have draws of their own
    assert set(_spread(values, 0.75)).isdisjoint(_spread(values, 0.5))


def test_all_are_there_while_there_is_room() -> None:
    sample = ValueSample(size=10)
    sample.add(np.array([0.5, 0.1]), np.array([0.0, 0.9]), age=0.0)
    sample.add(np.zeros(0), np.zeros(0), age=1.0)
    sample.add(np.array([0.95]), np.array([0.4]), age=1e6)  # no overflow
    assert shares(sample) == pytest.approx([1 / 3, 1 / 3, 0, 0, 1 / 3, 1 / 3, 0, 0, 0, 1 / 3])
    nothing = ValueSample().share_between(np.array([0.0]), np.array([1.0]))
    assert nothing.tolist() == [0.0]
    backwards = sample.share_between(np.array([1.0]), np.array([0.0]))
    assert backwards.tolist() == [0.0]


def test_saved_and_restored_is_uninterrupted() -> None:
    whole, resumed = ValueSample(size=20), ValueSample(size=20)
    generator = np.random.default_rng(1)
    for age in np.linspace(0, 3, 30):
        values, draws = generator.random((2, 15))
        for sample in (whole, resumed):
            sample.add(values, draws, float(age))
        after = ValueSample(size=20)
        after.restore(resumed.save())
        resumed = after
        assert shares(resumed).tolist() == shares(whole).tolist()
    for name, array in whole.save().items():
        assert (array == resumed.save()[name]).all()

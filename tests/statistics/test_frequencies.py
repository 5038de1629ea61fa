"""Counts of keys against `collections.Counter`."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.statistics.frequencies import Frequencies
from tests.engine.support import examples

pytestmark = pytest.mark.nojit

# Also keys that differ in their highest bits only, and neighbours.
KEYS = st.sampled_from([*range(-3, 40), *(n << 56 for n in range(-5, 6)), -(2**63), 2**63 - 1])
ADDS = st.lists(KEYS, max_size=200)


def keys(numbers: list[int]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.array(numbers, np.int64)


def counts(frequencies: Frequencies, numbers: list[int]) -> dict[int, float]:
    return dict(zip(numbers, frequencies.of(keys(numbers)).tolist(), strict=True))


@given(ADDS)
@examples(100)
def test_counts_are_those_of_a_counter(added: list[int]) -> None:
    frequencies = Frequencies()
    frequencies.add(keys(added))
    asked = sorted({*added, 41, -9})
    assert counts(frequencies, asked) == {key: Counter(added)[key] for key in asked}
    assert frequencies.total == len(added)


@given(st.lists(st.tuples(ADDS, st.floats(0.1, 1)), max_size=5))
@examples(60)
def test_any_order_and_cut_of_what_comes_between_two_reviews_gives_the_same(
    reviews: list[tuple[list[int], float]],
) -> None:
    once, often = Frequencies(limit=16), Frequencies(limit=16)
    generator = np.random.default_rng(len(reviews))
    for added, factor in reviews:
        for each in (once, often):
            each.fade(factor)
        once.add(keys(added))
        shuffled = generator.permutation(keys(added))
        for part in np.array_split(shuffled, 3):
            often.add(part)
        for each in (once, often):
            each.forget()
    asked = [*range(-3, 40), *(n << 56 for n in range(-5, 6))]
    assert counts(once, asked) == counts(often, asked)
    assert once.save()["keys"].tolist() == often.save()["keys"].tolist()
    assert once.total == pytest.approx(often.total)


@given(st.lists(st.tuples(ADDS, st.floats(0.01, 1)), max_size=6))
@examples(60)
def test_what_came_fades(reviews: list[tuple[list[int], float]]) -> None:
    frequencies = Frequencies()
    expected: Counter[int] = Counter()
    known: dict[int, float] = {}
    for added, factor in reviews:
        frequencies.fade(factor)
        frequencies.add(keys(added))
        expected.update(added)
        known = {key: known.get(key, 0.0) * factor + added.count(key) for key in expected}
    assert counts(frequencies, list(known)) == pytest.approx(known)
    assert frequencies.total == pytest.approx(sum(known.values()))


@given(ADDS, st.integers(2, 20).map(lambda half: 2 * half))
@examples(60)
def test_the_heaviest_are_remembered_and_no_more_than_the_limit(
    added: list[int], limit: int
) -> None:
    frequencies = Frequencies(limit=limit)
    frequencies.add(keys(added))
    frequencies.forget()
    exact = Counter(added)
    kept = frequencies.save()["keys"].tolist()
    assert counts(frequencies, kept) == {key: exact[key] for key in kept}
    if len(exact) <= limit:
        assert kept == sorted(exact)
        return
    # About half of the limit, and none that is rarer than one that is forgotten.
    assert limit // 2 - 1 <= len(kept) <= limit // 2
    forgotten = [exact[key] for key in exact if key not in kept]
    assert min((exact[key] for key in kept), default=len(added)) >= max(forgotten)


def test_a_heavy_hitter_is_not_lost_among_ever_new_keys() -> None:
    frequencies = Frequencies(limit=100)
    for review in range(50):
        fresh = np.arange(1000) + 1000 * (review + 1)
        frequencies.fade(0.9)
        frequencies.add(np.concatenate([fresh, np.full(20, 7)]))
        frequencies.forget()
    # 20 + 20 * 0.9 + 20 * 0.81 + ...: nearly 200.
    assert frequencies.of(keys([7]))[0] == pytest.approx(200 * (1 - 0.9**50))
    assert frequencies.save()["keys"].size <= 100


@given(ADDS, ADDS, st.floats(0.1, 1))
@examples(40)
def test_saved_and_restored_is_uninterrupted(
    before: list[int], after: list[int], factor: float
) -> None:
    whole, stopped, resumed = (Frequencies(limit=16) for _ in range(3))
    for each in (whole, stopped):
        each.add(keys(before))
        each.fade(factor)
        each.forget()
    resumed.restore(stopped.save())
    for each in (whole, resumed):
        each.add(keys(after))
        each.forget()
    expected, found = whole.save(), resumed.save()
    assert list(expected) == list(found)
    assert all((expected[name] == found[name]).all() for name in expected)
    assert whole.total == resumed.total


def test_what_has_faded_to_nothing_hides_no_other_key() -> None:
    """A key that was not seen for thousands of half-lives leaves no hole in the table."""
    frequencies = Frequencies()
    stayed, gone = np.random.default_rng(0).integers(0, 2**62, (2, 500))
    frequencies.add(gone)
    for _ in range(1200):
        frequencies.fade(0.5)
        frequencies.add(stayed)
    assert frequencies.of(stayed) == pytest.approx(np.full(500, 2.0))
    assert frequencies.of(gone) == pytest.approx(np.zeros(500))
    assert frequencies.save()["keys"].tolist() == sorted(stayed.tolist())


def test_a_sample_of_keys_stands_for_all_arrivals() -> None:
    rng = np.random.default_rng(7)
    keys = rng.permutation(200_000)[:5_000] * 977
    arrivals = np.repeat(keys, rng.integers(1, 4, keys.size))
    heavy = np.full(20_000, 123_456_789)
    counts = Frequencies()
    counts.add(np.concatenate([arrivals, heavy]))
    sampled, stands_for = counts.sample(1_000)
    assert 200 < sampled.size < 1_000
    assert stands_for[sampled == heavy[0]].tolist() == [heavy.size]
    # 10,000 arrivals of light keys, each of which stands for 30: within 3 standard errors.
    light = stands_for[sampled != heavy[0]]
    assert abs(light.sum() - arrivals.size) < 3 * np.sqrt(30 * arrivals.size)

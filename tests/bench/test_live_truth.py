from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from penstock.bench.live.truth import Rows, count_combinations, count_pairs

SECOND = 1_000_000


def naive(left: Rows, right: Rows, window: int, until_left: int, until_right: int) -> int:
    """The results of the first seconds of each stream, pair by pair."""
    return sum(
        one_key == other_key and abs(int(one) - int(other)) <= window * SECOND
        for one, one_key in zip(left.at, left.keys, strict=True)
        if one < until_left * SECOND
        for other, other_key in zip(right.at, right.keys, strict=True)
        if other < until_right * SECOND
    )


def rows(generator: np.random.Generator, count: int, seconds: int, keys: int) -> Rows:
    # Times on a grid, so that many are equal, or apart by exactly the window.
    at = generator.integers(0, seconds * 10, count) * (SECOND // 10)
    return Rows(np.sort(at), generator.integers(0, keys, count))


@pytest.mark.parametrize("window", [1, 2, 3])
@pytest.mark.parametrize("seed", range(3))
def test_counts_are_those_of_a_nested_loop(window: int, seed: int) -> None:
    generator = np.random.default_rng(seed)
    seconds = 6
    left, right = (rows(generator, 60, seconds, 3) for _ in range(2))
    found = count_pairs(left, right, window=window, seconds=seconds)
    for until in [(6, 6), (0, 0), (3, 3), (2, 4), (5, 4), (1, 6)]:
        assert found.until(*until) == naive(left, right, window, *until)


def test_a_result_belongs_to_the_second_of_its_later_row() -> None:
    left = Rows(np.array([100_000, 2_900_000]), np.array([0, 0]))
    right = Rows(np.array([1_000_000, 1_100_000]), np.array([0, 0]))
    found = count_pairs(left, right, window=2, seconds=4)
    assert found.in_each_second().tolist() == [0, 2, 2, 0]


def test_keys_do_not_mix_at_the_ends_of_the_streams() -> None:
    left = Rows(np.array([0, 2_999_999]), np.array([1, 1]))
    right = Rows(np.array([2_999_999, 0]), np.array([0, 2]))
    assert not count_pairs(left, right, window=2, seconds=3).counts.any()


def test_combinations_are_those_of_a_look_at_all() -> None:
    generator = np.random.default_rng(5)
    streams = [rows(generator, 40, 9, 8) for _ in range(3)]
    expected = sorted(
        tuple(int(stream.at[i]) // SECOND for stream, i in zip(streams, chosen, strict=True))
        for chosen in product(range(40), repeat=3)
        if len({int(stream.keys[i]) for stream, i in zip(streams, chosen, strict=True)}) == 1
        and np.ptp([stream.at[i] for stream, i in zip(streams, chosen, strict=True)]) <= 3 * SECOND
    )
    found = count_combinations(streams, window=3, seconds=9)
    assert found.in_each_second().sum() == len(expected) > 100
    for read in [(9, 9, 9), (9, 4, 9), (0, 9, 9), (5, 5, 5), (3, 8, 2)]:
        within = sum(all(np.array(each) < read) for each in expected)
        assert found.until(*read) == within
    latest = [max(each) for each in expected]
    assert found.in_each_second().tolist() == np.bincount(latest, minlength=9).tolist()


def test_both_ways_of_counting_agree() -> None:
    generator = np.random.default_rng(6)
    left, right = (rows(generator, 80, 6, 3) for _ in range(2))
    found = count_combinations([left, right], window=2, seconds=6)
    assert (found.counts == count_pairs(left, right, window=2, seconds=6).counts).all()


def test_without_results_nothing_is_counted() -> None:
    streams = [Rows(np.array([5]), np.array([key])) for key in (1, 2)]
    found = count_combinations(streams, window=1, seconds=2)
    assert found.until(2, 2) == 0
    assert found.in_each_second().tolist() == [0, 0]

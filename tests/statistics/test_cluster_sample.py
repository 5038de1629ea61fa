"""Estimates from a sample by cluster: unbiased, with intervals that hold what they say."""

from __future__ import annotations

import math
from collections import defaultdict
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.statistics.cluster_sample import (
    LEAST_CLUSTERS,
    STUDENT,
    TOO_ALIKE,
    TOO_FEW,
    SampleEstimate,
    average_of,
    total_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    Numbers = npt.NDArray[np.float64]
    Estimator = Callable[[Numbers, Numbers, Numbers], SampleEstimate]

BOTH = pytest.mark.parametrize("estimator", [total_of, average_of])


class Population:
    """Rows in clusters, of which a sample is drawn by one lot for each cluster.

    Parameters
    ----------
    sizes
        Rows of each cluster.
    chances
        Of each cluster, at first.
    fall
        Part of its chance that a cluster's last row has left.
    """

    def __init__(self, sizes: Numbers, chances: Numbers, seed: int, fall: float = 1.0) -> None:
        generator = np.random.default_rng(seed)
        self.clusters = np.repeat(np.arange(len(sizes)), sizes.astype(int))
        price = np.exp(0.3 * generator.standard_normal(len(sizes)))
        self.prices = 10 * price[self.clusters] * generator.uniform(0.8, 1.2, len(self.clusters))
        self.chances = chances[self.clusters] * fall ** generator.random(len(self.clusters))
        self.many = len(sizes)

    def sample(self, generator: np.random.Generator) -> tuple[Numbers, Numbers, Numbers]:
        """Return prices, weights and clusters of the rows that were kept."""
        kept = generator.random(self.many)[self.clusters] < self.chances
        return self.prices[kept], 1 / self.chances[kept], self.clusters[kept].astype(np.float64)


def sizes_of(kind: str, many: int) -> Numbers:
    generator = np.random.default_rng(5)
    made: dict[str, Numbers] = {
        "equal": np.full(many, 3.0),
        "geometric": generator.geometric(0.2, many).astype(np.float64),
        "lognormal": np.ceil(3 * np.exp(generator.standard_normal(many))),
        "zipf": np.ceil(many / np.arange(1, many + 1)),
    }
    return made[kind]


def by_size(sizes: Numbers, expected: float) -> Numbers:
    chances: Numbers = np.minimum(1, expected * sizes / sizes.sum())
    for _ in range(50):
        chances = np.minimum(1, chances * expected / chances.sum())
    return chances


def populations() -> dict[str, Population]:
    made = {}
    for kind in ("equal", "geometric", "lognormal", "zipf"):
        sizes = sizes_of(kind, 1600)
        made[f"{kind}, by size"] = Population(sizes, by_size(sizes, 400), seed=1)
        if kind != "zipf":  # a sample that misses the largest cluster says little about it
            made[f"{kind}, one chance"] = Population(sizes, np.full(1600, 0.25), seed=2)
    sizes = sizes_of("equal", 1600)
    made["chances that fall"] = Population(sizes, np.full(1600, 0.5), seed=3, fall=0.4)
    return made


POPULATIONS = populations()


@pytest.mark.parametrize("name", POPULATIONS)
def test_totals_are_unbiased_and_intervals_hold_what_they_say(name: str) -> None:
    population = POPULATIONS[name]
    true = {
        "count": len(population.prices),
        "sum": population.prices.sum(),
        "average": population.prices.mean(),
    }
    generator = np.random.default_rng(7)
    found = defaultdict(list)
    for _ in range(1000):
        prices, weights, clusters = population.sample(generator)
        found["count"].append(total_of(np.ones(len(prices)), weights, clusters))
        found["sum"].append(total_of(prices, weights, clusters))
        found["average"].append(average_of(prices, weights, clusters))
    for what, estimates in found.items():
        values = np.array([each.value for each in estimates])
        # 4 standard errors; a ratio is biased, by less than a tenth of its deviation here.
        allowed = (4 / math.sqrt(1000) + 0.1 * (what == "average")) * values.std()
        assert abs(values.mean() - true[what]) < allowed, what
        bounds = [(e.low, e.high) for e in estimates if e.low is not None and e.high is not None]
        if len(bounds) < 500:
            continue  # whoever rarely has enough clusters has them by luck
        held = np.mean([low <= true[what] <= high for low, high in bounds])
        # 93 to 97 %, and 3 standard errors of so many samples. Where chances fall, the variance
        # is a bound from above.
        slack = 3 * math.sqrt(0.95 * 0.05 / len(bounds))
        assert 0.93 - slack < held, what
        assert held < 0.97 + slack or name == "chances that fall", what


def test_intervals_are_given_where_there_is_enough() -> None:
    for name in ("equal, by size", "zipf, by size", "chances that fall"):
        sample = POPULATIONS[name].sample(np.random.default_rng(1))
        assert total_of(*sample).note is None
        assert average_of(*sample).note is None


def naive(values: Numbers, weights: Numbers, clusters: Numbers, shift: float) -> list[float]:
    """Compute each cluster's part of the variance, by loops over rows."""
    kept: dict[float, float] = defaultdict(float)
    drawn: dict[float, float] = defaultdict(float)
    for value, weight, cluster in zip(values, weights, clusters, strict=True):
        kept[cluster] += weight * (value - shift)
        drawn[cluster] += math.sqrt(weight) * (value - shift)
    return [kept[cluster] ** 2 - drawn[cluster] ** 2 for cluster in kept]


def naive_freedom(parts: list[float]) -> float:
    return sum(parts) ** 2 / sum(part**2 for part in parts)


def naive_deviations(freedom: float) -> float:
    return sum(term * freedom**-power for power, term in enumerate(STUDENT))


@pytest.mark.parametrize("name", ["lognormal, by size", "chances that fall"])
def test_equals_the_naive_twin(name: str) -> None:
    sample = POPULATIONS[name].sample(np.random.default_rng(2))
    prices, weights, clusters = sample
    total = sum(w * y for w, y in zip(weights, prices, strict=True))
    parts = naive(*sample, 0.0)
    deviation = naive_deviations(naive_freedom(parts))
    spread = math.exp(deviation * math.sqrt(math.log(1 + sum(parts) / total**2)))
    fast = total_of(*sample)
    assert (fast.value, fast.low, fast.high) == pytest.approx(
        (total, total / spread, total * spread)
    )
    assert fast.clusters == len(set(clusters))

    signed = np.where(clusters % 2 == 0, prices, -prices)
    parts = naive(signed, weights, clusters, 0.0)
    reach = naive_deviations(naive_freedom(parts)) * math.sqrt(sum(parts))
    fast = total_of(signed, weights, clusters)
    assert (fast.low, fast.high) == pytest.approx((fast.value - reach, fast.value + reach))

    average = total / sum(weights)
    parts = naive(*sample, average)
    ones = naive(np.ones(len(prices)), weights, clusters, 0.0)
    freedom = min(naive_freedom(parts), naive_freedom(ones))
    reach = naive_deviations(freedom) * math.sqrt(sum(parts)) / sum(weights)
    fast = average_of(*sample)
    assert (fast.value, fast.low, fast.high) == pytest.approx(
        (average, average - reach, average + reach)
    )


def test_the_variance_is_no_less_than_that_of_all_pairs() -> None:
    prices, weights, clusters = POPULATIONS["chances that fall"].sample(np.random.default_rng(3))
    exact = 0.0
    for cluster in set(clusters):
        rows = list(zip(weights[clusters == cluster], prices[clusters == cluster], strict=True))
        exact += sum((v * w - max(v, w)) * x * y for (v, x), (w, y) in product(rows, rows))
    bound = sum(naive(prices, weights, clusters, 0.0))
    assert exact <= bound < 1.1 * exact  # and close to it


def test_student_is_student() -> None:
    # From tables of Student's distribution.
    for freedom, deviations in ((20, 2.0860), (25, 2.0595), (60, 2.0003), (1e9, 1.9600)):
        assert naive_deviations(freedom) == pytest.approx(deviations, abs=5e-5)


def test_the_limit_is_one_of_effective_clusters() -> None:
    many = int(LEAST_CLUSTERS)
    weights, clusters = np.full(many, 4.0), np.arange(many)  # whose roots are exact
    values = np.ones(many)
    assert total_of(values, weights, clusters).note is None
    assert total_of(values[1:], weights[1:], clusters[1:]).note == TOO_FEW
    values[0] = 1.5  # the same clusters, but one counts for more
    assert total_of(values, weights, clusters).note == TOO_FEW


@BOTH
def test_nothing_sampled(estimator: Estimator) -> None:
    empty = np.zeros(0)
    found = estimator(empty, empty, empty)
    assert (found.low, found.high, found.clusters, found.note) == (None, None, 0, TOO_FEW)


@pytest.mark.parametrize("value", [0.0, 0.1, -3e9])
def test_values_that_are_all_the_same_tell_nothing_of_their_spread(value: float) -> None:
    values, weights = np.full(300, value), 2 + np.arange(300) % 3.0
    found = average_of(values, weights, np.arange(300) // 2)
    assert found.value == pytest.approx(value)
    assert (found.low, found.high, found.note) == (None, None, TOO_ALIKE)


def test_zeros_alone_have_no_interval() -> None:
    found = total_of(np.zeros(300), np.full(300, 2.0), np.arange(300))
    assert (found.value, found.low, found.note) == (0.0, None, TOO_FEW)


samples = st.integers(1, 2**32 - 1).map(
    lambda seed: POPULATIONS["equal, by size"].sample(np.random.default_rng(seed))
)


def numbers(found: SampleEstimate) -> tuple[float, ...]:
    assert found.low is not None
    assert found.high is not None
    return found.value, found.low, found.high


@BOTH
@given(sample=samples, factor=st.floats(1e-6, 1e6))
def test_values_in_other_units(
    estimator: Estimator, sample: tuple[Numbers, Numbers, Numbers], factor: float
) -> None:
    prices, weights, clusters = sample
    scaled = estimator(prices * factor, weights, clusters)
    assert numbers(scaled) == pytest.approx([factor * x for x in numbers(estimator(*sample))])


@BOTH
@given(sample=samples, seed=st.integers(0, 1000))
def test_neither_order_nor_names_of_clusters_matter(
    estimator: Estimator, sample: tuple[Numbers, Numbers, Numbers], seed: int
) -> None:
    order = np.random.default_rng(seed).permutation(len(sample[0]))
    prices, weights, clusters = (column[order] for column in sample)
    mixed = estimator(prices, weights, -7 * clusters)
    assert numbers(mixed) == pytest.approx(numbers(estimator(*sample)))


@given(sample=samples, share=st.floats(0.1, 0.9))
def test_rows_may_be_split(sample: tuple[Numbers, Numbers, Numbers], share: float) -> None:
    prices, weights, clusters = sample
    parts = np.concatenate([share * prices, (1 - share) * prices])
    split = total_of(parts, np.tile(weights, 2), np.tile(clusters, 2))
    assert numbers(split) == pytest.approx(numbers(total_of(*sample)))
    # As averages go it is halves that make no difference: each row twice, and half the value.
    halves = average_of(np.tile(prices / 2, 2), np.tile(weights, 2), np.tile(clusters, 2))
    expected = [x / 2 for x in numbers(average_of(*sample))]
    assert numbers(halves) == pytest.approx(expected)


@BOTH
@given(values=st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=40))
def test_weights_of_one_are_exact(estimator: Estimator, values: list[float]) -> None:
    everything = np.array(values)
    found = estimator(everything, np.ones(len(values)), (np.arange(len(values)) // 3).astype(float))
    expected = everything.sum() if estimator is total_of else everything.mean()
    assert (found.value, found.low, found.high) == (found.value,) * 3
    assert found.value == pytest.approx(expected, abs=1e-6)
    assert found.note is None


@given(sample=samples)
def test_a_count_is_no_less_than_what_was_seen(sample: tuple[Numbers, Numbers, Numbers]) -> None:
    _, weights, clusters = sample
    found = total_of(np.ones(len(weights)), np.full(len(weights), 1.001), clusters)
    assert found.low is not None
    assert found.low >= len(weights)

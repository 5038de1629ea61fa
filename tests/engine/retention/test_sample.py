"""Rows of a random sample, one kernel at a time."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest

from penstock.engine.kernels import insertion, layout
from penstock.engine.kernels.layout import NOTHING
from penstock.engine.kernels.results import make_results
from penstock.engine.retention.sample import NO_MATCH, OUT
from penstock.strategies import SampleThreshold
from tests.conftest import JIT_IS_OFF
from tests.engine.kernels.compiled import all_of, compiled
from tests.engine.kernels.memories import make_store
from tests.oracles.naive_sampler import skip

if TYPE_CHECKING:
    from penstock.engine.arrays import Array
    from penstock.engine.kernels.layout import Memory
    from penstock.engine.kernels.results import Results

pytestmark = pytest.mark.nojit

fast = all_of("retention.sample")
thinning = all_of("retention.thinning")
insert = compiled(insertion.insert)


def make_memory(
    *, by_match: bool = False, by_size: bool = False, fraction: float = math.inf
) -> Memory:
    order = SampleThreshold(fraction, by_match, by_size)
    store = make_store(order=order)
    store.make_places([np.arange(32), np.arange(32)])
    store.retention.apply(store.memory, order, ())
    store.memory.rule["notes"] = 1
    return store.memory


def settings(memory: Memory) -> Array:
    """Return what holds for the whole sample."""
    found: Array = memory.retained.sample.settings
    return found


def arriving(draw: float, expected: float = 1.0, stream: int = 0, place: int = 0) -> Array:
    arrivals = np.zeros(1, layout.arrival_type(np.dtype("i8"), np.dtype("i8")))
    arrivals["draw"], arrivals["rating"] = draw, expected
    arrivals["stream"], arrivals["place"], arrivals["time"] = stream, place, place
    arrivals["key_word"] = 7
    return arrivals


def put(memory: Memory, draw: float, expected: float = 1.0, stream: int = 0) -> int:
    """Insert a row, with what it has drawn; return its place in memory."""
    place = int(memory.rule["arrivals"][0])
    memory.rule["arrivals"] += 1
    arrival = arriving(draw, expected, stream, place)[0]
    lot = fast.draw(memory, arrival)
    key = OUT if fast.is_out(memory, lot) else -lot.ratio
    row = int(insert(memory, arrival, NOTHING, place, False, key))
    fast.note_lot(memory, row, lot)
    return row


def found(memory: Memory, rows: list[int]) -> Results:
    """Return results as a probe leaves them, one for each row that waited."""
    results = make_results(2, np.dtype("i8"))
    for at, row in enumerate(rows):
        results.refs[at] = row, 100 + row
        results.times[at] = 50
        results.members[at, 0] = row
    results.produced[0] = len(rows)
    memory.rule["produced"] += len(rows)
    return results


def kept(results: Results) -> list[tuple[int, float, int]]:
    """Return what is left of results: the row that waited, the weight and the cluster."""
    count = int(results.produced[0])
    return [
        (int(results.refs[at, 0]), float(results.weights[at]), int(results.clusters[at]))
        for at in range(count)
    ]


# --- Skips


@pytest.mark.parametrize("fraction", [0.9, 0.5, 0.2, 0.03])
def test_skips_are_geometric_and_ratios_even(fraction: float) -> None:
    """X ~ G(p): counts of X = 1, 2, ..., and of all beyond, against n p (1 - p)^(x - 1).

    Chi-square of up to 30 cells stays below its mean plus 4 deviations, d + 4 sqrt(2 d), which it
    exceeds with a chance below 0.1 %; so does that of the ratios, in ten equal parts of [0, p), and
    of pairs of them, as what follows must have nothing to do with what came before.
    """
    number = 2_000 if JIT_IS_OFF else 20_000
    draws = [fast.skip(np.int64(key << 20), fraction) for key in range(number)]
    again = [fast.skip(key, fraction) for _, _, key in draws]
    for drawn in (draws, again):
        steps = np.array([step for step, _, _ in drawn])
        cells = min(30, int(math.log(20 / number) / math.log1p(-fraction)) + 1)
        expected = number * fraction * (1 - fraction) ** np.arange(cells)
        expected = np.append(expected, number - expected.sum())
        assert_near(np.bincount(np.minimum(steps, cells + 1), minlength=cells + 2)[1:], expected)
        ratios = np.array([ratio for _, ratio, _ in drawn])
        assert ratios.min() >= 0
        assert ratios.max() < fraction
        counts, _ = np.histogram(ratios, bins=10, range=(0, fraction))
        assert_near(counts, np.full(10, number / 10))
    one, other = (np.array([ratio for _, ratio, _ in each]) for each in (draws, again))
    pairs, _, _ = np.histogram2d(one, other, bins=5, range=[(0, fraction), (0, fraction)])
    assert_near(pairs.ravel(), np.full(25, number / 25))


def assert_near(counts: Array, expected: Array) -> None:
    """Check that counts are likely: chi-square below d + 4 sqrt(2 d)."""
    some = expected > 0
    chi_square = float(np.sum((counts[some] - expected[some]) ** 2 / expected[some]))
    freedom = int(some.sum()) - 1
    assert chi_square < freedom + 4 * math.sqrt(2 * freedom)


@pytest.mark.parametrize("fraction", [1.0, 2.0, 0.7, 0.01, 1e-9, 1e-300])
def test_a_skip_is_that_of_the_naive_twin(fraction: float) -> None:
    for key in (0, 1, 2**53 - 1, 123_456_789_012_345):
        steps, ratio, after = fast.skip(np.int64(key), fraction)
        expected = skip(key, fraction)
        assert (int(steps), int(after) % 2**64) == (expected[0], expected[2])
        assert ratio == expected[1]
        assert 1 <= steps <= NO_MATCH


def test_all_matches_are_next_while_all_are_wanted() -> None:
    assert {int(fast.skip(np.int64(key), 1.0)[0]) for key in range(50)} == {1}


# --- Rows that arrive


def test_an_arriving_row_draws_its_ratio() -> None:
    memory = make_memory(fraction=0.5)
    lot = fast.draw(memory, arriving(0.3, expected=4.0)[0])
    assert (lot.ratio, lot.size, lot.expected) == (0.3, 1.0, 4.0)
    assert not fast.is_out(memory, lot)
    assert fast.is_out(memory, fast.draw(memory, arriving(0.5)[0]))
    assert fast.is_out(memory, fast.draw(memory, arriving(0.7)[0]))


def test_by_size_a_ratio_is_the_smaller_the_more_is_expected() -> None:
    memory = make_memory(fraction=0.5, by_size=True)
    lot = fast.draw(memory, arriving(0.8, expected=4.0)[0])
    assert (lot.ratio, lot.size) == (0.2, 4.0)
    assert not fast.is_out(memory, lot)
    assert fast.is_out(memory, fast.draw(memory, arriving(0.3, expected=0.5)[0]))


def test_by_match_a_row_is_out_if_its_first_match_is_beyond_those_it_has() -> None:
    memory = make_memory(fraction=0.1, by_match=True)
    for draw in np.linspace(0, 0.999, 20):
        lot = fast.draw(memory, arriving(draw, expected=5.9)[0])
        steps, ratio, _ = skip(int(draw * 2**53), 0.1)
        assert (int(lot.next), lot.ratio, int(lot.limit)) == (steps, ratio, 5)
        assert fast.is_out(memory, lot) == (steps > 5)
    unbounded = fast.draw(memory, arriving(0.3, expected=math.inf)[0])
    assert unbounded.limit == NO_MATCH - 1
    assert not fast.is_out(memory, unbounded)


def test_while_all_matches_are_wanted_no_row_is_out() -> None:
    memory = make_memory(fraction=1.0, by_match=True)
    assert not fast.is_out(memory, fast.draw(memory, arriving(0.3, expected=0.0)[0]))


def test_to_draw_again_is_to_be_out_of_a_sample_of_clusters() -> None:
    memory = make_memory(fraction=0.5)
    lot = fast.draw_again(memory, fast.draw(memory, arriving(0.3)[0]))
    assert fast.is_out(memory, lot)
    assert settings(memory)["fraction"][0] == 0.3
    assert settings(memory)["forced"][0] == 1


def test_to_draw_again_is_to_skip_on_by_match() -> None:
    memory = make_memory(fraction=0.5, by_match=True)
    first = fast.draw(memory, arriving(0.3, expected=1000.0)[0])
    lot = fast.draw_again(memory, first)
    assert settings(memory)["fraction"][0] == first.ratio
    steps, ratio, _ = skip(int(first.key) % 2**64, first.ratio)
    assert (lot.next, lot.ratio) == (first.next + steps, ratio)
    assert not fast.is_out(memory, lot)


# --- The fraction falls, and rises


def test_the_first_to_go_has_the_greatest_ratio_of_all_streams() -> None:
    memory = make_memory()
    assert fast.first_to_go(memory) == NOTHING
    rows = [put(memory, draw, stream=stream) for draw, stream in ((0.2, 0), (0.9, 1), (0.4, 0))]
    assert fast.first_to_go(memory) == rows[1]
    thinning.lower(memory, rows[1])
    assert settings(memory)["fraction"][0] == 0.9
    assert fast.first_to_go(memory) == rows[2]
    thinning.lower(memory, rows[2])
    assert settings(memory)["fraction"][0] == 0.4
    assert settings(memory)["forced"][0] == 2
    assert memory.streams["evicted"].tolist() == [1, 1]
    assert memory.rule["held"][0] == 1


def test_by_match_the_row_with_the_greatest_ratio_skips_on_or_leaves() -> None:
    memory = make_memory(fraction=1.0, by_match=True)
    patient = put(memory, 0.2, expected=10_000.0)
    ratio = -float(memory.retained.heap.keys[patient])
    thinning.lower(memory, patient)
    assert settings(memory)["fraction"][0] == ratio
    assert memory.retained.sample.odds["next"][patient] > 1
    assert memory.retained.sample.odds["least"][patient] == ratio
    assert -memory.retained.heap.keys[patient] < ratio
    assert fast.first_to_go(memory) == patient
    for _ in range(200):
        if memory.rule["held"][0] == 0:
            break
        thinning.lower(memory, patient)
    assert memory.rule["held"][0] == 0
    assert settings(memory)["fraction"][0] < 1e-2  # so far that not one of 10,000 was chosen


def test_a_row_that_is_out_leaves_and_the_fraction_stays() -> None:
    memory = make_memory(fraction=0.5, by_match=True)
    row = put(memory, 0.2, expected=0.0)
    assert memory.retained.heap.keys[row] == OUT
    assert memory.retained.sample.odds["next"][row] == NO_MATCH
    thinning.lower(memory, row)
    assert memory.rule["held"][0] == 0
    assert settings(memory)["fraction"][0] == 0.5
    assert settings(memory)["forced"][0] == 0


def test_a_raised_fraction_holds_for_rows_to_come() -> None:
    memory = make_memory()
    rows = [put(memory, 0.1), put(memory, 0.3)]
    thinning.lower(memory, rows[1])
    fast.note_fraction(memory)
    settings(memory)["fraction"] = 0.8
    later = put(memory, 0.5)
    assert [float(memory.retained.sample.odds["least"][row]) for row in (rows[0], later)] == [
        0.3,
        0.8,
    ]
    results = found(memory, [rows[0], later])
    thinning.sift(memory, results, 0)
    assert kept(results) == [(rows[0], 1 / 0.3, 0), (later, 1 / 0.8, 2)]


# --- Results


def test_results_of_clusters_weigh_one_over_their_chance() -> None:
    memory = make_memory(by_size=True)
    rows = [put(memory, 0.1, expected=0.5), put(memory, 0.9, expected=9.0)]
    settings(memory)["fraction"] = 0.25
    results = found(memory, rows)
    thinning.sift(memory, results, 0)
    assert kept(results) == [(rows[0], 8.0, 0), (rows[1], 1.0, 1)]
    assert memory.gauges["total"].sum() == 9.0
    assert memory.gauges["variance"].sum() == 8.0 * 7.0


def test_the_variance_of_a_cluster_is_that_of_its_sum() -> None:
    """For p = 1/4 and m results it is m^2 (1/p - 1), estimated by (1/p) times that."""
    memory = make_memory(fraction=0.25)
    row = put(memory, 0.1)
    for _ in range(3):
        thinning.sift(memory, found(memory, [row]), 0)
    assert memory.gauges["total"].sum() == 12.0
    assert memory.gauges["variance"].sum() == 4.0 * 3.0 * 9


def test_only_the_latest_results_are_sifted() -> None:
    memory = make_memory(fraction=0.5)
    row = put(memory, 0.1)
    results = found(memory, [row, row])
    results.weights[0] = 77.0
    thinning.sift(memory, results, 1)
    assert kept(results)[0][1] == 77.0
    assert kept(results)[1] == (row, 2.0, 0)


def test_by_match_only_chosen_matches_stay() -> None:
    memory = make_memory(fraction=0.4, by_match=True)
    row = put(memory, 0.3, expected=1_000.0)
    chosen, key, at = [], int(0.3 * 2**53), 0
    while at < 60:
        steps, _, key = skip(key, 0.4)
        at += steps
        chosen.append(at)
    numbers: list[int] = []
    for number in range(1, 61):
        results = found(memory, [row])
        thinning.sift(memory, results, 0)
        assert kept(results) in ([], [(row, 2.5, len(numbers))])
        numbers += [number] * int(results.produced[0])
    assert numbers == [number for number in chosen if number <= 60]
    assert memory.rule["produced"][0] == len(numbers)


def test_by_match_a_row_leaves_with_its_last_match() -> None:
    memory = make_memory(fraction=0.4, by_match=True)
    draw = next(d for d in np.linspace(0.01, 0.99, 50) if skip(int(d * 2**53), 0.4)[0] == 1)
    row = put(memory, float(draw), expected=1.0)
    results = found(memory, [row])
    thinning.sift(memory, results, 0)
    assert kept(results) == [(row, 2.5, 0)]
    assert memory.rule["held"][0] == 0

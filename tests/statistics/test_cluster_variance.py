"""The variance of a design: against samples drawn by it; and the choice by it."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.statistics.cluster_variance import ClusterVariance, variances_of_designs
from penstock.statistics.sampling_fraction import cluster_chances, fraction_by_size

NAMES = ["pps-cluster", "eq-cluster"]


@pytest.mark.parametrize("drawn_by", [0, 1])
def test_a_sample_tells_the_variance_of_either_design(drawn_by: int) -> None:
    draw = np.random.default_rng(1)
    expected = draw.lognormal(0.0, 1.0, 400)
    totals = draw.poisson(5 * expected).astype(float)
    designs = [expected, np.ones(400)]
    chances = [cluster_chances(fraction_by_size(80, each, np.ones(400)), each) for each in designs]
    # What samples really do.
    drawn = draw.random((4_000, 400))
    true = [float(np.var(((drawn < each) * totals / each).sum(axis=1), ddof=1)) for each in chances]
    # What each of some samples says.
    said = []
    for row in drawn[:300]:
        taken = row < chances[drawn_by]
        weights = 1.0 / chances[drawn_by][taken]
        sizes = [each[taken] for each in designs]
        said.append(variances_of_designs(totals[taken], weights, sizes, 80.0)[0])
    assert np.mean(said, axis=0) == pytest.approx(true, rel=0.1)


def test_it_changes_only_for_a_clear_difference_and_goes_on_after_a_restart() -> None:
    totals, weights = np.repeat([2.0, 8.0], 30), np.full(60, 10.0)
    choice = ClusterVariance(NAMES)
    assert not choice.is_decided
    assert not choice.compare(totals[:5], weights[:5], [totals[:5], np.ones(5)], 5.0)
    assert not choice.is_decided
    # By size is better if it tells the totals, worse if it tells the opposite.
    assert not choice.compare(totals, weights, [totals, np.ones(60)], 60.0)
    assert choice.is_decided
    assert choice.by_name()[0] == {"pps-cluster": 1, "eq-cluster": 0}
    assert choice.compare(totals, weights, [totals[::-1], np.ones(60)], 60.0)
    again = ClusterVariance(NAMES)
    again.restore(choice.save())
    assert (again.followed, again.is_decided) == (1, True)
    assert again.leads().tolist() == choice.leads().tolist()
    slight = totals**-0.02
    assert not again.compare(totals, weights, [totals**0.02, np.ones(60)], 60.0)
    assert not again.compare(totals, weights, [slight, np.ones(60)], 60.0)
    assert again.by_name()[0] == {"pps-cluster": 0, "eq-cluster": 1}


def test_nothing_is_chosen_if_all_fits() -> None:
    choice = ClusterVariance(NAMES)
    totals = np.full(60, 5.0)
    assert not choice.compare(totals, np.ones(60), [totals, np.ones(60)], 60.0)
    assert not choice.is_decided

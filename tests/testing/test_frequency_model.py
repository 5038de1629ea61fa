from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from penstock.errors import SpecificationError
from penstock.testing import Correlation, frequency_model, zipf_weights

Floats = npt.NDArray[np.float64]


def rank_correlation(x: Floats, y: Floats) -> float:
    """Spearman's, for values without ties."""
    return float(np.corrcoef(np.argsort(np.argsort(x)), np.argsort(np.argsort(y)))[0, 1])


@pytest.mark.parametrize("zipf", [0.0, 1.0, 2.0])
@pytest.mark.parametrize("correlation", ["DC", "IC", "UC"])
def test_keys_have_the_true_frequencies(zipf: float, correlation: Correlation) -> None:
    streams = frequency_model(zipf=zipf, correlation=correlation, duration=20_000.0, seed=1)
    for table, truth in (
        (streams.s1, streams.frequencies_1),
        (streams.s2, streams.frequencies_2),
    ):
        assert truth.sum() == pytest.approx(1.0)
        share = np.bincount(table["key"].to_numpy(), minlength=50) / table.num_rows
        # Five standard deviations, and room for a single row where they are less.
        bound = 5 * np.sqrt(truth * (1 - truth) / table.num_rows) + 1 / table.num_rows
        assert (np.abs(share - truth) < bound).all()


def test_ranks_are_correlated_as_said() -> None:
    for correlation, expected in (("DC", 1.0), ("IC", -1.0)):
        streams = frequency_model(correlation=correlation, duration=10.0)  # type: ignore[arg-type]
        found = rank_correlation(streams.frequencies_1, streams.frequencies_2)
        assert found == pytest.approx(expected)


def test_uncorrelated_ranks_are_so_over_seeds() -> None:
    found = []
    for seed in range(100):
        streams = frequency_model(correlation="UC", duration=10.0, seed=seed)
        found.append(rank_correlation(streams.frequencies_1, streams.frequencies_2))
    # For 50 keys its standard deviation is 1/7, so 1/70 for the mean of 100.
    assert abs(np.mean(found)) < 5 / 70
    assert abs(np.std(found) - 1 / 7) < 0.06


def test_streams_may_differ_in_skew() -> None:
    streams = frequency_model(zipf=2.0, zipf_2=0.0, duration=10.0)
    np.testing.assert_allclose(streams.frequencies_1, zipf_weights(50, 2.0))
    np.testing.assert_allclose(streams.frequencies_2, 1 / 50)


def test_zipf_weights_fall_with_the_power_of_the_rank() -> None:
    weights = zipf_weights(100, 1.5)
    np.testing.assert_allclose(weights[0] / weights, np.arange(1, 101) ** 1.5)
    assert zipf_weights(1, 3.0).tolist() == [1.0]


def test_streams_are_in_order_and_seeded() -> None:
    one, same, other = (frequency_model(duration=1_000.0, seed=seed) for seed in (5, 5, 6))
    assert one.s1.equals(same.s1)
    assert one.s2.equals(same.s2)
    assert not one.s2.equals(other.s2)
    for table in (one.s1, one.s2):
        assert (np.diff(table["time"].to_numpy()) > 0).all()


def test_rates_are_the_paper_s_or_exact() -> None:
    paper = frequency_model(duration=20_000.0)
    exact = frequency_model(duration=20_000.0, arrivals="mean-rate")
    assert abs(paper.s2.num_rows / 20_000 - 4.0) < 0.05
    assert abs(exact.s2.num_rows / 20_000 - 5.0) < 0.05


def test_values_do_not_depend_on_keys() -> None:
    streams = frequency_model(zipf=0.0, duration=20_000.0, seed=2)
    keys, values = streams.s2["key"].to_numpy(), streams.s2["value"].to_numpy()
    assert abs(np.corrcoef(keys, values)[0, 1]) < 5 / np.sqrt(len(keys))


def test_frequencies_cannot_be_written_to() -> None:
    streams = frequency_model(duration=10.0)
    for truth in (streams.frequencies_1, streams.frequencies_2):
        with pytest.raises(ValueError, match="read-only"):
            truth[0] = 1.0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"correlation": "XC"}, 'correlation must be one of "DC", "IC", "UC"; got \'XC\''),
        ({"domain": 0}, "domain must be a whole number, at least 1; got 0"),
        ({"zipf": -1.0}, "zipf must be a finite number, at least 0; got -1.0"),
        ({"rate_2": -1}, "rate_2 must be a finite number above 0; got -1"),
        ({"arrivals": "even"}, 'arrivals must be one of "paper", "mean-rate"'),
    ],
)
def test_wrong_arguments_are_refused(arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(SpecificationError, match=words):
        frequency_model(**arguments)

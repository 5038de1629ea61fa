from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from penstock.errors import SpecificationError
from penstock.testing import (
    AGE_CURVES,
    AgeModel,
    ArrivalLaw,
    age_model,
    bell,
    decreasing,
    increasing,
)
from penstock.testing.age_model import _occupants


def ages(streams: AgeModel) -> npt.NDArray[np.float64]:
    """Age of the row referred to, for each row of s2 that has one and sees a full window."""
    ids, times = streams.s2["id"].to_numpy(), streams.s2["time"].to_numpy()
    seen = (times >= streams.window) & (ids >= 0)
    age: npt.NDArray[np.float64] = times[seen] - streams.s1["time"].to_numpy()[ids[seen]]
    return age


def test_curves_have_the_paper_s_shapes() -> None:
    k = np.arange(1, 21)
    np.testing.assert_allclose(increasing(20) / increasing(20)[0], k**2)
    np.testing.assert_allclose(decreasing(20) / decreasing(20)[18], (20 - k) ** 2)
    np.testing.assert_allclose(bell(20)[:10] / bell(20)[0], k[:10] ** 2)
    np.testing.assert_allclose(bell(20)[10:] / bell(20)[0], (20 - k[10:]) ** 2)
    for curve in AGE_CURVES.values():
        assert curve(20).sum() == pytest.approx(1.0)


@pytest.mark.parametrize("name", AGE_CURVES)
@pytest.mark.parametrize("arrivals", ["paper", "mean-rate"])
def test_ages_follow_the_curve(name: str, arrivals: ArrivalLaw) -> None:
    streams = age_model(curve=name, duration=20_000.0, arrivals=arrivals, seed=1)
    age = ages(streams)
    assert len(age) > 70_000
    share = np.histogram(age, bins=20, range=(0.0, 500.0))[0] / len(age)
    expected = streams.curve / 5
    # Five standard deviations.
    bound = 5 * np.sqrt(expected * (1 - expected) / len(age))
    assert (np.abs(share - expected) <= bound).all()
    assert streams.curve.sum() == pytest.approx(5.0)


def test_rows_of_a_bucket_are_chosen_evenly() -> None:
    streams = age_model(curve="INC", duration=20_000.0, seed=2)
    within = ages(streams) % 25.0 / 25.0
    assert abs(within.mean() - 0.5) < 0.01


def test_each_row_takes_part_in_n1_results() -> None:
    streams = age_model(curve="BELL", duration=20_000.0, seed=3)
    born = streams.s1["time"].to_numpy()
    ids = streams.s2["id"].to_numpy()
    counts = np.bincount(ids[ids >= 0], minlength=len(born))[(born > 500) & (born < 19_500)]
    assert abs(counts.mean() - 5.0) < 0.1


def test_fewer_results_leave_rows_that_refer_to_nothing() -> None:
    streams = age_model(results_per_row=1.0, duration=10_000.0, seed=4)
    ids = streams.s2["id"].to_numpy()
    strangers = ids[ids < 0]
    assert abs(len(strangers) / len(ids) - 0.8) < 5 * np.sqrt(0.16 / len(ids))
    assert len(np.unique(strangers)) == len(strangers)
    assert streams.curve.sum() == pytest.approx(1.0)


def test_ids_are_unique_and_both_streams_in_order() -> None:
    streams = age_model(seed=5)
    assert streams.s1["id"].to_pylist() == list(range(streams.s1.num_rows))
    for table in (streams.s1, streams.s2):
        times = table["time"].to_numpy()
        assert (np.diff(times) > 0).all()
        assert times[-1] <= 5_000.0


def test_references_are_inside_the_window_from_the_first_row_on() -> None:
    streams = age_model(curve="INC", seed=6)
    ids, times = streams.s2["id"].to_numpy(), streams.s2["time"].to_numpy()
    born = streams.s1["time"].to_numpy()
    age = times[ids >= 0] - born[ids[ids >= 0]]
    assert (age >= 0).all()
    assert (age <= 500.0).all()
    # Only before the first row of s1 is there nothing to refer to.
    assert ((ids < 0) == (times < born[0])).all()


def test_empty_buckets_are_passed_over() -> None:
    # About one row of s1 in 4 buckets, and long times without any.
    streams = age_model(
        curve="DEC", rate_1=0.01, rate_2=1.0, results_per_row=100.0, duration=50_000.0, seed=7
    )
    ids, times = streams.s2["id"].to_numpy(), streams.s2["time"].to_numpy()
    born = streams.s1["time"].to_numpy()
    # DEC gives the oldest bucket nothing: rows refer to others, or to nothing if it is alone.
    age = times[ids >= 0] - born[ids[ids >= 0]]
    assert (age <= 475.0).all()
    newest = born[np.maximum(np.searchsorted(born, times, side="right") - 1, 0)]
    reachable = (times >= newest) & (times - newest <= 475.0)
    assert ((ids >= 0) == reachable).all()


def test_rounding_lets_no_row_stay_beyond_the_window() -> None:
    # 0.8 - 0.3 is 0.5, but 0.8 - 0.5 is 0.30000000000000004 and so beyond a window of 0.3.
    oldest, end = _occupants(
        np.array([0.5]), np.array([0.8]), np.array([0.0, 0.3]), np.array([0], dtype=np.int64)
    )
    assert oldest == end


def test_rates_are_the_paper_s_or_exact() -> None:
    paper = age_model(duration=20_000.0, seed=8)
    exact = age_model(duration=20_000.0, arrivals="mean-rate", seed=8)
    assert abs(paper.s1.num_rows / 20_000 - 0.8) < 0.01
    assert abs(paper.s2.num_rows / 20_000 - 4.0) < 0.05
    assert abs(exact.s1.num_rows / 20_000 - 1.0) < 0.01
    assert abs(exact.s2.num_rows / 20_000 - 5.0) < 0.05
    gaps = np.diff(paper.s1["time"].to_numpy())
    assert gaps.min() >= 0.5
    assert gaps.max() <= 2.0


def test_values_are_normal() -> None:
    streams = age_model(duration=20_000.0, mean=10.0, deviation=3.0, seed=9)
    for table in (streams.s1, streams.s2):
        values = table["value"].to_numpy()
        assert abs(values.mean() - 10.0) < 5 * 3.0 / np.sqrt(len(values))
        assert abs(values.std() - 3.0) < 5 * 3.0 / np.sqrt(2 * len(values))


def test_the_same_seed_gives_the_same_streams() -> None:
    one, same, other = (age_model(duration=1_000.0, seed=seed) for seed in (5, 5, 6))
    assert one.s1.equals(same.s1)
    assert one.s2.equals(same.s2)
    assert not one.s1.equals(other.s1)


def test_the_curve_cannot_be_written_to() -> None:
    with pytest.raises(ValueError, match="read-only"):
        age_model(duration=100.0).curve[0] = 1.0


def test_a_curve_of_one_s_own() -> None:
    streams = age_model(curve=lambda m: np.eye(m)[3], duration=3_000.0, seed=10)
    ids, times = streams.s2["id"].to_numpy(), streams.s2["time"].to_numpy()
    age = times[ids >= 0] - streams.s1["time"].to_numpy()[ids[ids >= 0]]
    assert ((age > 75.0) & (age <= 100.0)).all()
    # A bucket without a share is not chosen even when only such buckets hold anything.
    assert (ids[times < 75.0] < 0).all()
    assert (ids[times > 80.0] >= 0).all()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"curve": "UP"}, 'curve must be one of "INC", "DEC", "BELL"; got \'UP\''),
        ({"curve": np.ones}, "curve must be a function that returns 20 shares"),
        ({"rate_1": 0}, "rate_1 must be a finite number above 0; got 0"),
        ({"window": float("inf")}, "window must be a finite number above 0; got inf"),
        ({"buckets": 2.5}, "buckets must be a whole number, at least 1; got 2.5"),
        ({"buckets": 1, "curve": "DEC"}, "buckets must be a whole number, at least 2; got 1"),
        ({"results_per_row": 6}, "results_per_row must be at most rate_2 / rate_1, which is 5"),
        ({"deviation": -1}, "deviation must be a finite number, at least 0; got -1"),
        ({"arrivals": "poisson"}, 'arrivals must be one of "paper", "mean-rate"'),
    ],
)
def test_wrong_arguments_are_refused(arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(SpecificationError, match=words):
        age_model(**arguments)

from __future__ import annotations

import numpy as np
import pytest

from penstock.errors import SpecificationError
from penstock.testing import lagged_streams


def test_values_follow_the_law() -> None:
    streams = lagged_streams(rate=200.0, lags=(0.0, 5.0), deviations=(0.0, 30.0), seed=3)
    for table, lag, deviation in zip(streams.tables.values(), (0.0, 5.0), (0.0, 30.0), strict=True):
        times, values = table["time"].to_numpy(), table["value"].to_numpy()
        assert ((values >= 0.0) & (values < 1000.0)).all()
        assert (np.diff(times) >= 0.0).all()
        # The noise, the whole value being taken modulo D.
        noise = (values - 20.0 * (times + lag) + 500.0) % 1000.0 - 500.0
        # About 12,000 rows: five standard errors of a mean and of a deviation.
        assert abs(noise.mean()) <= 5 * deviation / np.sqrt(times.size) + 1e-6
        assert noise.std() == pytest.approx(deviation, rel=0.04, abs=1e-6)


def test_partners_are_as_far_apart_as_the_lags() -> None:
    streams = lagged_streams(rate=500.0, lags=(0.0, 5.0), deviations=(0.0, 0.0), seed=1)
    one, other = streams.tables.values()
    at = np.searchsorted(one["time"].to_numpy(), 30.0)
    value, time = one["value"][int(at)].as_py(), one["time"][int(at)].as_py()
    near = np.abs(other["value"].to_numpy() - value) < 1.0
    lags = time - other["time"].to_numpy()[near]
    assert np.abs(lags - streams.expected_lag(0, 1)).min() < 0.1


def test_arrivals_are_poisson() -> None:
    """Counts in seconds have a variance like their mean: 1,000 of them, four standard errors."""
    streams = lagged_streams(rate=(20.0, 60.0), duration=1_000.0, lags=(0, 0), deviations=(1, 1))
    for table, rate in zip(streams.tables.values(), (20.0, 60.0), strict=True):
        counts = np.bincount(table["time"].to_numpy().astype(np.int64), minlength=1_000)
        assert counts.mean() == pytest.approx(rate, abs=4 * np.sqrt(rate / 1_000))
        assert counts.var() / rate == pytest.approx(1.0, abs=4 * np.sqrt(2 / 1_000))


def test_rates_change() -> None:
    streams = lagged_streams(
        rate=100.0, duration=30.0, lags=(0, 0), deviations=(1, 1), changes=((10, 2.0), (20, 0.0))
    )
    for table in streams.tables.values():
        counts = np.histogram(table["time"].to_numpy(), [0, 10, 20, 30])[0]
        # Poisson: five standard errors.
        assert counts[0] == pytest.approx(1_000, abs=160)
        assert counts[1] == pytest.approx(2_000, abs=225)
        assert counts[2] == 0


def test_lags_drift() -> None:
    streams = lagged_streams(
        lags=(0.0, 5.0), deviations=(0.0, 0.0), drifts=(0.0, 0.1), domain=1e6, period=1e6
    )
    table = streams.tables["s2"]
    times = table["time"].to_numpy()
    assert table["value"].to_numpy() == pytest.approx(5.0 + 1.1 * times)


def test_the_same_seed_gives_the_same_streams() -> None:
    one, other, third = (lagged_streams(duration=5.0, seed=seed) for seed in (1, 1, 2))
    assert one.tables == other.tables
    assert one.tables != third.tables


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"duration": 0.0}, "duration must be a finite number above 0"),
        ({"rate": -1.0}, "rate must be a finite number above 0"),
        ({"rate": (1.0, 2.0)}, "rate must be one number for each of 3 streams"),
        ({"lags": (0.0,)}, "lags must be those of two streams or more"),
        ({"deviations": (1.0, 1.0, -1.0)}, "deviations must be a finite number, at least 0"),
        ({"drifts": (1.0,)}, "drifts must be one number for each of 3 streams"),
        ({"changes": ((5.0, 1.0), (4.0, 1.0))}, "changes must be times above 0 in ascending order"),
    ],
)
def test_bad_arguments_are_refused(arguments: dict[str, object], words: str) -> None:
    with pytest.raises(SpecificationError, match=words):
        lagged_streams(**arguments)  # type: ignore[arg-type]

"""Counts of keys: the size of the exact join by definition, and how well it is known."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest

import penstock as ps
from penstock.engine.kernels import layout
from penstock.engine.plan import bind
from penstock.engine.size_meter import SizeMeter
from penstock.statistics.recall import size_of
from tests.oracles.naive_sizes import NaiveSizes

if TYPE_CHECKING:
    import numpy.typing as npt

pytestmark = pytest.mark.nojit

_SCHEMA = pa.schema([("t", pa.int64()), ("k", pa.int64())])


def make_meter(windows: list[int], *, entries: int, seed: int = 0, lateness: int = 0) -> SizeMeter:
    names = "abcd"[: len(windows)]
    streams = {
        name: ps.Stream(time="t", window=window, lateness=lateness)
        for name, window in zip(names, windows, strict=True)
    }
    spec = ps.Join(streams=streams, on=ps.Equal("k"), budget=ps.Budget(rows=100), seed=seed)
    plan = bind(spec, dict.fromkeys(names, _SCHEMA))
    meter = SizeMeter(plan, None, 0, waits=True)
    meter.allow(entries)
    return meter


def count(meter: SizeMeter, arrivals: npt.NDArray[np.void]) -> None:
    """Have all arrivals counted."""
    meter.begin_arrivals(arrivals)
    meter.take(arrivals.size)


def arrivals_of(
    streams: npt.NDArray[np.int64], times: npt.NDArray[np.int64], keys: npt.NDArray[np.int64]
) -> npt.NDArray[np.void]:
    arrivals = np.zeros(times.size, layout.arrival_type(np.dtype("i8"), np.dtype("i8")))
    arrivals["stream"], arrivals["time"], arrivals["key_word"] = streams, times, keys
    return arrivals


def drawn(
    seed: int, *, streams: int, rows: int, keys: int, disorder: int, steps: int = 2
) -> npt.NDArray[np.void]:
    """Draw arrivals whose keys are more or less frequent, and whose times are out of order."""
    draw = np.random.default_rng(seed)
    weights = 1.0 / np.arange(1, keys + 1)
    times = np.sort(draw.integers(0, rows * steps // 4, rows)) - draw.integers(
        0, disorder + 1, rows
    )
    return arrivals_of(
        draw.integers(0, streams, rows),
        times + disorder,
        draw.choice(keys, rows, p=weights / weights.sum()),
    )


def true_size(arrivals: npt.NDArray[np.void], windows: list[int]) -> int:
    naive = NaiveSizes(windows)
    return sum(
        naive.results(int(each["stream"]), int(each["time"]), int(each["key_word"]))
        for each in arrivals
    )


@pytest.mark.parametrize("windows", [[7, 7], [9, 0], [3, 12], [6, 6, 6], [9, 0, 4], [3, 5, 4, 6]])
@pytest.mark.parametrize("disorder", [0, 4])
def test_where_there_is_room_for_all_rows_the_size_is_exact(
    windows: list[int], disorder: int
) -> None:
    for seed in range(3):
        arrivals = drawn(seed, streams=len(windows), rows=90, keys=5, disorder=disorder)
        meter = make_meter(windows, entries=500, lateness=disorder)
        count(meter, arrivals)
        assert meter.sums["total"] == pytest.approx(true_size(arrivals, windows))
        assert meter.sums["variance"] == 0.0


def test_rows_without_a_key_and_ticks_only_move_the_clock() -> None:
    arrivals = arrivals_of(*(np.array(each) for each in ([0, 0, 0, 1], [1, 2, 3, 4], [5] * 4)))
    arrivals["blank"] = [0, layout.NO_KEY, layout.TICK, 0]
    meter = make_meter([10, 10], entries=50)
    count(meter, arrivals[:4])
    assert meter.sums["total"] == 1.0
    assert meter.completed.tolist() == [0.0, 1.0]


@pytest.mark.parametrize("windows", [[40, 40], [60, 10], [30, 30, 30]])
def test_any_cut_and_a_restart_lead_to_the_same(windows: list[int]) -> None:
    arrivals = drawn(1, streams=len(windows), rows=600, keys=30, disorder=3)
    whole = make_meter(windows, entries=24, lateness=3)
    count(whole, arrivals[:600])
    parts = make_meter(windows, entries=24, lateness=3)
    for start in range(0, 600, 75):
        again = make_meter(windows, entries=24, lateness=3)
        again.restore({name: array.copy() for name, array in parts.save().items()})
        parts = again
        count(parts, arrivals[start : start + 75])
    assert parts.sums == whole.sums
    assert parts.sums["variance"] > 0.0
    for name, array in whole.save().items():
        np.testing.assert_array_equal(parts.save()[name], array, err_msg=name)


def test_there_are_never_more_entries_than_room() -> None:
    arrivals = drawn(2, streams=2, rows=600, keys=200, disorder=0)
    meter = make_meter([50, 50], entries=30)
    for start in range(0, 600, 20):
        count(meter, arrivals[start : start + 20])
        assert meter.save()["rule.used"][0] <= 30
        if start == 300:
            meter.allow(12)
    assert meter.save()["rule.used"][0] <= 12
    meter.allow(60)
    before = meter.sums["total"]
    count(meter, arrivals[:1])
    assert meter.sums["total"] >= before


def test_a_batch_is_added_up_by_itself() -> None:
    arrivals = drawn(3, streams=2, rows=400, keys=30, disorder=0)
    meter = make_meter([40, 40], entries=24)
    totals = []
    for start in range(0, 400, 100):
        meter.begin_batch()
        count(meter, arrivals[start : start + 100])
        totals.append(meter.sums["batch_total"])
    assert sum(totals) == pytest.approx(meter.sums["total"])


def estimates(
    windows: list[int], *, keys: int, entries: int, seeds: int, disorder: int = 0
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64], float]:
    """Return estimates over the truth, their variances, and how many intervals have the truth."""
    arrivals = drawn(7, streams=len(windows), rows=1500, keys=keys, disorder=disorder, steps=4)
    true = true_size(arrivals, windows)
    found, variances, held = [], [], 0
    for seed in range(seeds):
        meter = make_meter(windows, entries=entries, seed=seed, lateness=disorder)
        count(meter, arrivals)
        sums = meter.sums
        size = size_of(0.0, sums["total"], sums["variance"], sums["fourth"])
        assert size is not None
        found.append(sums["total"] / true)
        variances.append(sums["variance"] / true**2)
        held += size.low <= true <= size.high
    return np.array(found), np.array(variances), held / seeds


@pytest.mark.slow
@pytest.mark.parametrize(
    ("windows", "keys", "entries", "disorder"),
    [
        ([150, 150], 400, 30, 0),
        ([200, 40], 400, 30, 0),
        ([150, 150], 60, 30, 5),
    ],
)
def test_the_estimate_is_unbiased_and_knows_its_variance(
    windows: list[int], keys: int, entries: int, disorder: int
) -> None:
    found, variances, held = estimates(
        windows, keys=keys, entries=entries, seeds=300, disorder=disorder
    )
    assert abs(found.mean() - 1.0) < 3.5 * found.std(ddof=1) / np.sqrt(300) + 0.005
    assert 0.6 < variances.mean() / found.var(ddof=1) < 1.6
    assert held > 0.9

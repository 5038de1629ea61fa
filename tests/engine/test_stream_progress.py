"""How far the streams have come, as it is sent to every shard; times too far ahead: test_intake."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import penstock as ps
from penstock.engine.plan import Plan, bind
from penstock.engine.stream_progress import (
    StreamProgress,
    no_progress,
    progress_of,
    progress_of_all,
)


def make_plan(window: float, max_ahead: float | None = None, *, floating: bool = False) -> Plan:
    streams = {
        "a": ps.Stream(time="t", window=window, max_ahead=max_ahead),
        "b": ps.Stream(time="t", window=0),
    }
    schema = pa.schema([("t", pa.float64() if floating else pa.int64())])
    return bind(ps.Join(streams=streams, on=ps.Equal("t")), {"a": schema, "b": schema})


def stream_at(plan: Plan, times: list[Any]) -> StreamProgress:
    return progress_of(
        plan, 0, pa.table({"t": pa.array(times, plan.sides[0].schema.field("t").type)})
    )


def test_progress_is_in_steps_of_a_sixteenth_of_the_longest_window() -> None:
    stream_progress = stream_at(make_plan(160), [3, 57, None, 41, 44, -1, 2**62])
    assert stream_progress.times.tolist() == [-10, 0, 40, 50]
    assert stream_progress.counts.tolist() == [1, 1, 2, 1]


def test_the_steps_are_fine_enough_to_see_what_is_too_far_ahead() -> None:
    assert stream_at(make_plan(160, max_ahead=32), [3, 57]).times.tolist() == [2, 56]


def test_progress_with_short_windows_of_whole_numbers_is_in_steps_of_one() -> None:
    for window in (0, 1, 15, 31):
        assert stream_at(make_plan(window), [3, 1, 1]).times.tolist() == [1, 3]


def test_a_stream_without_rows_has_no_progress() -> None:
    plan = make_plan(160)
    table = pa.table({"t": [7]})
    stream_progress = progress_of_all(plan, {"b": table})
    assert [each.times.tolist() for each in stream_progress] == [[], [0]]
    assert stream_progress[0].times.dtype == no_progress(plan).times.dtype == np.int64
    assert stream_at(plan, []).times.tolist() == stream_at(plan, [None]).times.tolist() == []


def test_times_before_a_bound() -> None:
    stream_progress = stream_at(make_plan(1), [1, 2, 3])
    assert stream_progress.before(None).tolist() == [1, 2, 3]
    assert stream_progress.before(3).tolist() == [1, 2]


def test_any_cut_into_batches_gives_the_same_progress() -> None:
    plan, times = make_plan(160), list(range(0, 500, 7))
    whole = stream_at(plan, times).times.tolist()
    for cut in (1, 2, 3, 20):
        parts = [stream_at(plan, part).times.tolist() for part in (times[:cut], times[cut:])]
        assert sorted({*parts[0], *parts[1]}) == whole


@pytest.mark.parametrize("window", [0.1, 0.3, 1e-3, 7.7])
def test_a_step_is_never_ahead_of_the_stream(window: float) -> None:
    plan = make_plan(window, floating=True)
    times = np.random.default_rng(2).uniform(-100, 100, 500).tolist()
    times += (np.arange(500) * plan.tick(0)).tolist()
    for time in times:
        (step,) = stream_at(plan, [time]).times.tolist()
        assert time - 1.001 * plan.tick(0) <= step <= time

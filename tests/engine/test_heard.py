"""How far the streams have come, as all shards hear it; what is too far ahead: test_intake."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import penstock as ps
from penstock.engine.heard import Heard, hear, hear_all, silence
from penstock.engine.plan import Plan, bind


def make_plan(window: float, max_ahead: float | None = None, *, floating: bool = False) -> Plan:
    streams = {
        "a": ps.Stream(time="t", window=window, max_ahead=max_ahead),
        "b": ps.Stream(time="t", window=0),
    }
    schema = pa.schema([("t", pa.float64() if floating else pa.int64())])
    return bind(ps.Join(streams=streams, on=ps.Equal("t")), {"a": schema, "b": schema})


def heard_of(plan: Plan, times: list[Any]) -> Heard:
    return hear(plan, 0, pa.table({"t": pa.array(times, plan.sides[0].schema.field("t").type)}))


def test_time_is_heard_of_in_steps_of_a_sixteenth_of_the_longest_window() -> None:
    heard = heard_of(make_plan(160), [3, 57, None, 41, 44, -1, 2**62])
    assert heard.times.tolist() == [-10, 0, 40, 50]
    assert heard.counts.tolist() == [1, 1, 2, 1]


def test_the_steps_are_fine_enough_to_see_what_is_too_far_ahead() -> None:
    assert heard_of(make_plan(160, max_ahead=32), [3, 57]).times.tolist() == [2, 56]


def test_short_windows_of_whole_numbers_are_heard_of_in_steps_of_one() -> None:
    for window in (0, 1, 15, 31):
        assert heard_of(make_plan(window), [3, 1, 1]).times.tolist() == [1, 3]


def test_nothing_is_heard_of_a_stream_of_which_nothing_came() -> None:
    plan = make_plan(160)
    table = pa.table({"t": [7]})
    heard = hear_all(plan, {"b": table})
    assert [each.times.tolist() for each in heard] == [[], [0]]
    assert heard[0].times.dtype == silence(plan).times.dtype == np.int64
    assert heard_of(plan, []).times.tolist() == heard_of(plan, [None]).times.tolist() == []


def test_times_before_a_bound() -> None:
    heard = heard_of(make_plan(1), [1, 2, 3])
    assert heard.before(None).tolist() == [1, 2, 3]
    assert heard.before(3).tolist() == [1, 2]


def test_any_cut_into_batches_is_heard_of_alike() -> None:
    plan, times = make_plan(160), list(range(0, 500, 7))
    whole = heard_of(plan, times).times.tolist()
    for cut in (1, 2, 3, 20):
        parts = [heard_of(plan, part).times.tolist() for part in (times[:cut], times[cut:])]
        assert sorted({*parts[0], *parts[1]}) == whole


@pytest.mark.parametrize("window", [0.1, 0.3, 1e-3, 7.7])
def test_a_step_is_never_ahead_of_the_stream(window: float) -> None:
    plan = make_plan(window, floating=True)
    times = np.random.default_rng(2).uniform(-100, 100, 500).tolist()
    times += (np.arange(500) * plan.tick(0)).tolist()
    for time in times:
        (step,) = heard_of(plan, [time]).times.tolist()
        assert time - 1.001 * plan.tick(0) <= step <= time

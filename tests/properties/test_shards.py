"""With any number of shards, every result is found exactly once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import penstock as ps
from penstock.testing import canonical_rows
from tests.engine import support

if TYPE_CHECKING:
    from penstock.predicates import Predicate

BOTH: dict[str, Any] = {"left": "v", "right": "v"}
THREE: dict[str, Any] = BOTH | {"third": "v"}


def assert_shards_change_nothing(on: Predicate, tables: dict[str, pa.Table]) -> None:
    join = ps.Join(streams={name: ps.Stream(time="t", window=5) for name in tables}, on=on)
    expected = canonical_rows(join.replay(tables).result)
    assert expected
    for shards in (2, 3, 7):
        assert canonical_rows(join.replay(tables, shards=shards).result) == expected


# Values so far from zero that float64 can hardly distinguish neighbours: from 2**53 on it does not
# hold all whole numbers; the second is a clock in nanoseconds.
@pytest.mark.parametrize(
    ("base", "step"),
    [(2**53, 1), (1_700_000_000_000_000_000, 100), (-(2**60), 70), (1e13, 0.0009765625)],
)
@pytest.mark.parametrize("low", [None, -1, 0, 2])
def test_values_far_from_zero_find_their_partners(
    base: float, step: float, low: int | None
) -> None:
    # The part is truncated, not the sum, which would be rounded as a float.
    values = [base + type(base)(step * number / 4) for number in range(400)]
    table = pa.table({"t": np.zeros(400, np.int64), "v": values})
    if low is None:
        assert_shards_change_nothing(ps.Within(step, **BOTH), {"left": table, "right": table})
    else:
        on = ps.Band(low=low * step, high=(low + 1) * step, **BOTH)
        assert_shards_change_nothing(on, {"left": table, "right": table})


def test_a_narrow_band_far_from_zero_finds_its_partners() -> None:
    # Nanoseconds since an event, and nanoseconds of the clock.
    start = 1_700_000_000_000_000_000
    times = np.zeros(400, np.int64)
    since = np.arange(400) * 50
    tables = {
        "left": pa.table({"t": times, "v": since}),
        "right": pa.table({"t": times, "v": start + since}),
    }
    assert_shards_change_nothing(ps.Band(low=start - 100, high=start + 100, **BOTH), tables)


@support.examples(40)
@given(
    base=st.integers(-(2**62), 2**62),
    offsets=st.lists(st.integers(0, 300), min_size=1, max_size=10),
    reach=st.integers(0, 40),
    kind=st.sampled_from(("Within", "Band")),
)
def test_neighbours_find_each_other_wherever_they_are(
    base: int, offsets: list[int], reach: int, kind: str
) -> None:
    times = np.arange(len(offsets)) % 3
    table = pa.table({"t": times, "v": [base + offset for offset in offsets]})
    band = ps.Band(low=-reach, high=reach, **THREE)
    on = ps.Within(reach, **THREE) if kind == "Within" else band
    assert_shards_change_nothing(on, dict.fromkeys(THREE, table))


def test_rows_are_divided_and_only_those_near_a_border_are_copied() -> None:
    draw = np.random.default_rng(0)
    table = pa.table({"t": np.arange(2000), "v": draw.integers(0, 100_000, 2000)})
    join = ps.Join(
        streams={name: ps.Stream(time="t", window=50) for name in BOTH}, on=ps.Within(10, **BOTH)
    )
    metrics = join.replay({"left": table, "right": table}, shards=2).metrics
    assert metrics.streams["left"].copies == 0
    assert 0 < metrics.streams["right"].copies < 200


def test_the_split_stream_of_a_comparison_is_the_one_with_the_longest_window() -> None:
    table = pa.table({"t": range(100), "v": range(100)})
    windows = {"left": 3, "right": 40}
    join = ps.Join(
        streams={name: ps.Stream(time="t", window=window) for name, window in windows.items()},
        on=ps.Compare("<", **BOTH),
    )
    metrics = join.replay({"left": table, "right": table}, shards=3).metrics
    assert metrics.streams["left"].copies == 200
    assert metrics.streams["right"].copies == 0


@pytest.mark.parametrize("word", ["Equal", "Compare ="])
def test_equal_keys_meet_without_copies(word: str) -> None:
    keys = [-0.0, 0.0, 1.5, float("nan"), None, float("inf")] * 5
    table = pa.table({"t": range(30), "v": keys})
    on = ps.Equal("v") if word == "Equal" else ps.Compare("=", **BOTH)
    join = ps.Join(streams={name: ps.Stream(time="t", window=9) for name in BOTH}, on=on)
    alone = join.replay({"left": table, "right": table})
    for shards in (2, 3):
        replay = join.replay({"left": table, "right": table}, shards=shards)
        assert canonical_rows(replay.result) == canonical_rows(alone.result)
        assert [stream.copies for stream in replay.metrics.streams.values()] == [0, 0]


def test_the_budget_is_divided_without_remainder() -> None:
    table = pa.table({"t": range(50), "v": range(50)})
    join = ps.Join(
        streams={name: ps.Stream(time="t", window=50) for name in BOTH},
        on=ps.Equal("v"),
        budget=ps.Budget(rows=11),
    )
    for shards in (1, 2, 3, 4, 5):
        metrics = join.replay({"left": table, "right": table}, shards=shards).metrics
        assert metrics.budget_rows == 11
        assert metrics.held_most <= 11


def test_a_late_row_is_late_in_every_shard() -> None:
    # The shard of key 1 knows of time 100 only by the stream's progress.
    batches = [
        pa.table({"t": [0, 100], "v": [1, 2]}),
        pa.table({"t": [5, 101], "v": [1, 2]}),
    ]
    join = ps.Join(
        streams={name: ps.Stream(time="t", window=500) for name in BOTH}, on=ps.Equal("v")
    )
    for shards in range(1, 6):
        metrics = join.replay({"left": batches, "right": batches}, shards=shards).metrics
        assert [stream.late for stream in metrics.streams.values()] == [1, 1]
        assert metrics.emitted == 1 + 4


def test_one_wrong_clock_harms_no_shard() -> None:
    # With enough shards, key 99 is alone in its shard when its first row comes.
    first = pa.table({"t": [*range(10), 10**6], "v": [*range(10), 99]})
    second = pa.table({"t": [11, 12], "v": [99, 1]})
    join = ps.Join(
        streams={name: ps.Stream(time="t", window=50, max_ahead=100) for name in BOTH},
        on=ps.Equal("v"),
    )
    for shards in (1, 2, 3, 8):
        tables = {"left": [first, second], "right": [second.slice(0, 0), second]}
        metrics = join.replay(tables, shards=shards).metrics
        assert metrics.streams["left"].far_ahead == 1
        assert metrics.streams["left"].late == 0
        assert metrics.emitted == 3

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest

import penstock as ps
from penstock.testing import exact_join
from penstock.yardsticks import find_matches

if TYPE_CHECKING:
    from penstock.durations import DurationLike


def join(
    window_a: DurationLike = 5, window_b: DurationLike = 3, on: ps.Equal | None = None
) -> ps.Join:
    return ps.Join(
        streams={
            "a": ps.Stream(time="t", window=window_a),
            "b": ps.Stream(time="t", window=window_b),
        },
        on=on or ps.Equal("k"),
    )


def pairs(join: ps.Join, a: pa.Table, b: pa.Table) -> list[tuple[int, int]]:
    first, second = find_matches(join, {"a": a, "b": b}).rows
    return sorted(zip(first.tolist(), second.tolist(), strict=True))


TIMES = {
    "whole": lambda draw, rows: draw.integers(-20, 20, rows),
    "tenths": lambda draw, rows: draw.integers(-200, 200, rows) / 10,
    "clock": lambda draw, rows: pa.array(draw.integers(0, 40, rows), pa.timestamp("s")),
}
KEYS = {
    "numbers": lambda draw, rows: draw.integers(0, 4, rows),
    "text with nulls": lambda draw, rows: draw.choice(["x", "y", None], rows),
    "floats": lambda draw, rows: draw.choice([0.0, -0.0, np.nan, np.inf, 1.5], rows),
}


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("times", TIMES)
@pytest.mark.parametrize("keys", KEYS)
def test_they_are_those_of_the_definition(times: str, keys: str, seed: int) -> None:
    draw = np.random.default_rng(seed)
    a, b = (
        pa.table({"t": TIMES[times](draw, rows), "k": KEYS[keys](draw, rows)}) for rows in (40, 50)
    )
    windows: list[Any] = draw.choice([0, 0.3, 2, 7.7], 2).tolist()
    if times == "clock":
        windows = [f"{window} seconds" for window in windows]
    spec = join(*windows)
    assert pairs(spec, a, b) == exact_join(spec, {"a": a, "b": b})


def test_the_one_that_waits_came_first_and_the_first_stream_goes_first() -> None:
    a = pa.table({"t": [3, 1], "k": [1, 1]})
    b = pa.table({"t": [1, 3], "k": [1, 1]})
    matches = find_matches(join(), {"a": a, "b": b})
    assert matches.arrived.tolist() == [2, 0, 1, 3]
    found = sorted(zip(matches.waiting.tolist(), matches.probing.tolist(), strict=True))
    assert found == [(0, 3), (1, 2), (1, 3), (2, 0)]
    assert (matches.completed == matches.arrived[matches.probing]).all()


def test_rows_of_one_stream_and_time_come_in_one_moment() -> None:
    a = pa.table({"t": [1, 1, 2], "k": [1, 2, 3]})
    matches = find_matches(join(), {"a": a, "b": a})
    assert matches.arrived.tolist() == [0, 0, 2, 1, 1, 3]


def test_rows_without_a_usable_time_join_nothing() -> None:
    a = pa.table({"t": pa.array([1.0, None, np.nan, np.inf, 2.0**62]), "k": [1] * 5})
    matches = find_matches(join(), {"a": a, "b": a})
    assert len(matches) == 1
    assert matches.arrived.tolist() == [0, -1, -1, -1, -1, 1, -1, -1, -1, -1]
    large = pa.table({"t": pa.array([1, 2**63, None], pa.uint64()), "k": [1] * 3})
    assert pairs(join(), large, large) == [(0, 0)]


def test_several_columns_of_different_widths_are_compared_as_the_engine_does() -> None:
    on = ps.Equal(a=("x", "y"), b=("u", "v"))
    a = pa.table(
        {
            "t": pa.array([0, 0, 0], pa.timestamp("ms")),
            "x": pa.array(["p", "q", "p"]).dictionary_encode(),
            "y": pa.array([Decimal("1.5"), Decimal("2.0"), Decimal("2.0")]),
        }
    )
    b = pa.table(
        {
            "t": pa.array([0, 0, 0, 0], pa.timestamp("ns")),
            "u": pa.array(["p", "p", "q", None], pa.large_string()),
            "v": pa.array([Decimal("1.50"), Decimal("2.00"), Decimal("1.50"), Decimal("2.00")]),
        }
    )
    spec = join("1 second", "1 second", on)
    assert pairs(spec, a, b) == [(0, 0), (2, 1)]
    assert spec.replay({"a": a, "b": b}).metrics.emitted == 2


def test_many_results_are_found_as_the_engine_finds_them() -> None:
    draw = np.random.default_rng(1)
    tables = {
        name: pa.table(
            {"t": np.sort(draw.uniform(0, 1e4, 20_000)), "k": draw.integers(0, 50, 20_000)}
        )
        for name in ("a", "b")
    }
    spec = join(60.0, 65.5)
    assert len(find_matches(spec, tables)) == spec.replay(tables).metrics.emitted > 90_000


def test_only_two_streams_on_equality() -> None:
    each = ps.Stream(time="t", window=1)
    table = pa.table({"t": [1], "k": [1]})
    three = ps.Join(streams=dict.fromkeys("abc", each), on=ps.Equal("k"))
    with pytest.raises(ps.SpecificationError, match="streams of the join must be two; got"):
        find_matches(three, dict.fromkeys("abc", table))
    near = ps.Join(streams={"a": each, "b": each}, on=ps.Within(1, a="k", b="k"))
    with pytest.raises(ps.SpecificationError, match="on must be an Equal; got Within"):
        find_matches(near, {"a": table, "b": table})


@pytest.mark.parametrize(
    ("a", "words"),
    [
        (None, "tables must be those of the streams a, b; got"),
        (
            [pa.table({"t": [1], "k": [1]})],
            'table of stream "a" must be one table; got .list.; put',
        ),
        (pa.table({"t": [1]}), "column of stream \"a\" must be one of t, and only one; got 'k'"),
        (
            pa.table({"t": ["x"], "k": [1]}),
            'time column "t" of stream "a" must be a timestamp, a date or a',
        ),
        (
            pa.table({"t": pa.array([1], pa.timestamp("s")), "k": [1]}),
            "time columns must be timestamps in all streams or numbers in all; got",
        ),
        (pa.table({"t": [1], "k": ["x"]}), "columns of Equal must be of one kind; got 'string and"),
    ],
)
def test_tables_that_do_not_fit_are_refused(
    a: pa.Table | list[pa.Table] | None, words: str
) -> None:
    b = pa.table({"t": [1], "k": [1]})
    tables = {"b": b} if a is None else {"a": a, "b": b}
    with pytest.raises(ps.SchemaError, match=words):
        find_matches(join(), tables)

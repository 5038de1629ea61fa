from __future__ import annotations

from collections import Counter
from decimal import Decimal
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given

import penstock as ps
from penstock.engine.plan import bind
from penstock.engine.sharding import route
from penstock.testing import canonical_rows, expected_rows
from tests.engine.cases import KINDS, Size, make_case, seeded
from tests.engine.support import choices, examples

if TYPE_CHECKING:
    from penstock.predicates import Predicate
    from tests.engine.cases import Case
    from tests.engine.support import Pick

BOTH = {"a": "k0", "b": "k0"}


def in_shards(case: Case, shards: int) -> list[tuple[str, ...]]:
    tables = {name: [batch[name] for batch in case.batches] for name in case.schemas}
    return canonical_rows(case.join.replay(tables, shards=shards).result)


@pytest.mark.parametrize("name", KINDS)
@given(pick=choices())
@examples(12)
def test_the_shards_together_give_the_exact_join(name: str, pick: Pick) -> None:
    # Windows below 32: each time step is sent to every shard, so all agree on which rows are late.
    case = make_case(pick, KINDS[name], streams=pick(2, 3))
    assert in_shards(case, pick(2, 9)) == in_shards(case, 1)


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("streams", [2, 3])
def test_rows_go_where_they_are_needed_and_nowhere_else(name: str, streams: int) -> None:
    size = Size(batches=1, rows=60, full=True)
    case = make_case(seeded(3), KINDS[name], streams=streams, size=size)
    (tables,) = case.batches
    tables = {n: t.append_column("id", pa.array(range(t.num_rows))) for n, t in tables.items()}
    plan = bind(case.join, {n: t.schema for n, t in tables.items()})
    routed = route(plan, tables, 5)
    for stream, table in tables.items():
        found = Counter(i for part in routed for i in part[stream]["id"].to_pylist())
        assert set(found) == set(range(table.num_rows))
        assert set(found.values()) <= allowed_copies(case.join, stream)


def allowed_copies(join: ps.Join, stream: str) -> set[int]:
    """Return in how many of five shards a row of the stream may be."""
    on = join.on
    if isinstance(on, ps.Within | ps.Band):
        return {1} if on.streams is not None and stream == on.streams[0] else {1, 2}
    if isinstance(on, ps.Similar) or (isinstance(on, ps.Compare) and on.operator != "="):
        windows = list(join.time_windows("a shard").values())
        longest = join.names[windows.index(max(windows))]
        return {1} if stream == longest else {5}
    return {1}


@pytest.mark.parametrize(
    "on",
    [
        ps.Within(0.5, **BOTH),
        ps.Within(3, **BOTH),
        ps.Band(low=-0.3, high=0.4, **BOTH),
        ps.Band(low=5, high=9, **BOTH),
    ],
)
def test_about_one_row_in_sixteen_of_the_second_stream_is_copied(on: Predicate) -> None:
    join = ps.Join(streams={n: ps.Stream(time="t", window=9) for n in "ab"}, on=on)
    values = np.random.default_rng(5).uniform(-1e4, 1e4, 20_000)
    table = pa.table({"t": np.zeros(values.size, np.int64), "k0": values})
    routed = route(bind(join, {"a": table.schema, "b": table.schema}), {"a": table, "b": table}, 64)
    copies = {n: sum(p[n].num_rows for p in routed) / table.num_rows - 1 for n in "ab"}
    assert copies["a"] == 0
    assert 0.02 < copies["b"] < 0.08


def test_shards_are_of_about_one_size() -> None:
    join = ps.Join(streams={n: ps.Stream(time="t", window=9) for n in "ab"}, on=ps.Equal("k"))
    table = pa.table({"t": [0] * 8_000, "k": [f"key {n}" for n in range(8_000)]})
    routed = route(bind(join, {"a": table.schema, "b": table.schema}), {"a": table, "b": table}, 8)
    assert all(900 < part["a"].num_rows < 1100 for part in routed)
    assert [part["a"].num_rows for part in routed] == [part["b"].num_rows for part in routed]


def test_one_shard_has_everything_and_absent_streams_stay_absent() -> None:
    join = ps.Join(streams={n: ps.Stream(time="t", window=9) for n in "ab"}, on=ps.Equal("k"))
    table = pa.table({"t": [1, 2], "k": [1, 2]})
    plan = bind(join, {"a": table.schema, "b": table.schema})
    assert route(plan, {"a": table}, 1) == [{"a": table}]
    parts = route(plan, {"a": table}, 3)
    assert [list(part) for part in parts] == [["a"]] * 3
    assert sum(part["a"].num_rows for part in parts) == 2


def test_shards_are_those_of_earlier_versions() -> None:
    # A shard's saved state is useful only if its rows are still sent to it.
    def shards_of(on: Predicate, column: pa.Array) -> list[int]:
        join = ps.Join(streams={n: ps.Stream(time="t", window=9) for n in "ab"}, on=on)
        table = pa.table({"t": range(len(column)), "k0": column})
        plan = bind(join, {"a": table.schema, "b": table.schema})
        routed = route(plan, {"a": table}, 7)
        shard = {t: s for s, part in enumerate(routed) for t in part["a"]["t"].to_pylist()}
        return [shard[t] for t in range(len(column))]

    assert shards_of(ps.Equal("k0"), pa.array([0, 1, 2, None])) == [0, 6, 1, 0]
    assert shards_of(ps.Equal("k0"), pa.array(["x", "y", ""])) == [4, 3, 0]
    assert shards_of(ps.Within(1, **BOTH), pa.array([0, 63, 64, -1])) == [0, 0, 6, 0]
    assert shards_of(ps.Compare("<", **BOTH), pa.array([0.5, 1.5])) == [1, 3]
    assert shards_of(ps.Compare("=", **BOTH), pa.array([0.5, -0.0, 0.0])) == [4, 0, 0]


def assert_same_in_shards(on: Predicate, column: pa.Array) -> None:
    join = ps.Join(streams={n: ps.Stream(time="t", window=10**6) for n in "ab"}, on=on)
    table = pa.table({"t": range(len(column)), "k0": column})
    tables = {"a": table, "b": table}
    expected = expected_rows(join, tables)
    for shards in (1, 8):
        assert canonical_rows(join.replay(tables, shards=shards).result) == expected


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e6, 1e12])
def test_values_on_the_edges_of_cells_meet(scale: float) -> None:
    steps = np.arange(-40, 40)
    values = np.concatenate([steps * 6.4, steps * 6.4 + 0.1, steps * 6.4 - 0.1]) * scale
    assert_same_in_shards(ps.Within(0.1 * scale, **BOTH), pa.array(values))


@pytest.mark.parametrize("exponent", [20, 45, 50, 60])
def test_large_whole_numbers_meet(exponent: int) -> None:
    values = [2**exponent + 32 * i + j for i in range(16) for j in (0, 1, 16)]
    assert_same_in_shards(ps.Within(1, **BOTH), pa.array(values))


def test_values_meet_where_the_margin_of_rounding_is_as_wide_as_a_cell() -> None:
    values = [3 * 2**51 + 32 * i + 16 for i in range(64)]
    assert_same_in_shards(ps.Within(0, **BOTH), pa.array(values))


def test_decimals_of_different_scales_meet() -> None:
    join = ps.Join(
        streams={n: ps.Stream(time="t", window=9) for n in "ab"},
        on=ps.Equal("k"),
    )
    a = pa.table({"t": [1] * 9, "k": pa.array([Decimal(n) for n in range(9)], pa.decimal128(9, 1))})
    b = pa.table(
        {"t": [1] * 9, "k": pa.array([Decimal(n) for n in range(9)], pa.decimal128(12, 4))}
    )
    assert join.replay({"a": a, "b": b}, shards=5).metrics.emitted == 9


def test_a_shard_without_rows_still_gets_the_progress() -> None:
    stream = ps.Stream(time="t", window=5)
    join = ps.Join(streams={"a": stream, "b": stream}, on=ps.Equal("k"))
    early = pa.table({"t": range(20), "k": range(20)})
    late = pa.table({"t": [100], "k": [1]})
    metrics = join.replay({"a": [early, late], "b": [early, late]}, shards=4).metrics
    assert {n: s.held for n, s in metrics.streams.items()} == {"a": 1, "b": 1}


@pytest.mark.parametrize("shards", [2, 3, 5])
def test_the_budget_is_divided_over_the_shards(shards: int) -> None:
    stream = ps.Stream(time="t", window=10**6)
    join = ps.Join(streams={"a": stream, "b": stream}, on=ps.Equal("k"), budget=ps.Budget(rows=33))
    table = pa.table({"t": range(500), "k": range(500)})
    metrics = join.replay({"a": table, "b": table}, shards=shards).metrics
    assert metrics.budget_rows == 33
    assert metrics.held_most == 33


def test_copies_are_counted_separately() -> None:
    stream = ps.Stream(time="t", window=9)
    join = ps.Join(streams={"a": stream, "b": stream}, on=ps.Compare("<", a="k", b="k"))
    table = pa.table({"t": [1, 2], "k": [1, None]})
    metrics = join.replay({"a": table, "b": table}, shards=3).metrics
    assert [(s.arrived, s.copies) for s in metrics.streams.values()] == [(2, 0), (2, 4)]
    for s in metrics.streams.values():
        assert s.arrived + s.copies == s.null_keys + s.held + s.expired

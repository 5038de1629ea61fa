"""Joins on similar vectors: blocks, rounding, dimensions, memory, state."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import penstock as ps
from penstock.engine import neighbours
from penstock.engine.operator import Operator
from penstock.engine.plan import bind
from penstock.engine.replay import cpu_clock
from penstock.engine.state import restore, save
from penstock.engine.vectors import check_dimensions
from penstock.testing import canonical_rows, cut_rows, exact_join, expected_rows
from tests.engine.support import examples

if TYPE_CHECKING:
    import numpy.typing as npt

    from penstock.engine.vectors import VectorScale

    Rows = list[list[float | None] | None]

pytestmark = pytest.mark.nojit


def join_of(
    distance: float = 1.0,
    streams: str = "ab",
    *,
    window: int = 1000,
    lateness: int = 0,
    budget: ps.Budget | None = None,
    **settings: Any,  # noqa: ANN401 -- of the predicate
) -> ps.Join:
    return ps.Join(
        streams={n: ps.Stream(time="t", window=window, lateness=lateness) for n in streams},
        on=ps.Similar(distance, **settings | dict.fromkeys(streams, "v")),
        budget=budget,
    )


def table(vectors: Rows | npt.NDArray[Any], type_: pa.DataType | None = None) -> pa.Table:
    rows = vectors.tolist() if isinstance(vectors, np.ndarray) else vectors
    column = pa.array(rows, type_ or pa.list_(pa.float64()))
    return pa.table({"t": np.arange(len(rows)), "v": column})


def pairs(replay: ps.Replay, streams: str = "ab") -> list[tuple[int, ...]]:
    """Times of the rows of each result, which are their numbers."""
    columns = [[row["t"] for row in replay.result[name].to_pylist()] for name in streams]
    return sorted(zip(*columns, strict=True))


def assert_exact(join: ps.Join, tables: dict[str, pa.Table]) -> ps.Replay:
    replay = join.replay(tables)
    assert pairs(replay, "".join(tables)) == exact_join(join, tables)
    return replay


# --- The distance is what is promised, to the last digit


@pytest.mark.parametrize("type_", ["float32", "float64"])
@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize("offset", [0.0, 1e4])
@examples(15)
@given(seed=st.integers(0, 10**6), dimensions=st.sampled_from([1, 2, 7, 70]))
def test_pairs_at_the_very_distance_are_as_brute_force_has_them(
    type_: str, metric: str, offset: float, seed: int, dimensions: int
) -> None:
    rng = np.random.default_rng(seed)
    a, b = ((offset + rng.normal(size=(9, dimensions))).astype(type_) for _ in range(2))
    kind = pa.list_(pa.from_numpy_dtype(np.dtype(type_)))
    x, y = (each[0].astype(float).tolist() for each in (a, b))
    distance = _in_order(x, y, metric)
    tables = {"a": table(a, kind), "b": table(b, kind)}
    for near in (distance, math.nextafter(distance, 0.0), 1.1 * distance):
        replay = assert_exact(join_of(max(near, 0.0), metric=metric), tables)
        assert ((0, 0) in pairs(replay)) == (near >= distance)


def _in_order(x: list[float], y: list[float], metric: str) -> float:
    """Return a distance by its definition."""
    sums = [0.0, 0.0, 0.0]
    for p, q in zip(x, y, strict=True):
        for i, term in enumerate(((p - q) * (p - q), p * p, q * q)):
            sums[i] += term
    if metric == "euclidean":
        return math.sqrt(sums[0])
    total, by_x, by_y = 0.0, 1.0 / math.sqrt(sums[1]), 1.0 / math.sqrt(sums[2])
    for p, q in zip(x, y, strict=True):
        total += (p * by_x - q * by_y) * (p * by_x - q * by_y)
    return 0.0 if total <= 2e-24 else min(0.5 * total, 2.0)


@pytest.mark.parametrize("type_", [pa.list_(pa.float32()), pa.list_(pa.float64())])
@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize("distance", [0.0, 1e-30, 0.5, 1.0, 1e20, 1e300])
def test_huge_and_tiny_numbers(type_: pa.DataType, metric: str, distance: float) -> None:
    sizes = [0.0, 1e-45, 1e-30, 1e-19, 1.0, 3e18, 1e30, 3e38]
    if type_ == pa.list_(pa.float64()):
        sizes += [1e-300, 1e-160, 1e150, 1e308]
    rows: Rows = [[size, sign * size] for size in sizes for sign in (1.0, -1.0)]
    assert_exact(join_of(distance, metric=metric), {"a": table(rows, type_), "b": table(rows)})


def test_a_distance_of_zero_is_for_equal_vectors() -> None:
    rng = np.random.default_rng(1)
    vectors = rng.normal(size=(40, 5)).astype(np.float32)
    kind = pa.list_(pa.float32())
    replay = assert_exact(join_of(0), {"a": table(vectors, kind), "b": table(vectors[::-1], kind)})
    assert len(replay.result) == 40


@pytest.mark.parametrize("type_", ["float32", "float64"])
@pytest.mark.parametrize("dimensions", [1, 64, 1000])
def test_vectors_of_the_same_direction_have_an_angle_of_zero(type_: str, dimensions: int) -> None:
    """Whatever their lengths are rounded to. Factors are such that no number of 24 digits is."""
    rng = np.random.default_rng(9)
    vectors = rng.normal(size=(200, dimensions)).astype("float32").astype(type_)
    factors = rng.choice([1.0, 4.0, 0.5], 200)
    if type_ == "float64":
        factors *= rng.choice([1.0, 3.0, 1e6, 0.7], 200)
    kind = pa.list_(pa.from_numpy_dtype(np.dtype(type_)))
    scaled = (vectors * factors[:, None]).astype(type_)
    tables = {"a": table(vectors, kind), "b": table(scaled, kind)}
    replay = join_of(0, metric="cosine").replay(tables)
    found = set(pairs(replay))
    assert {(row, row) for row in range(200)} <= found
    if dimensions > 1:
        assert len(found) == 200


def test_opposite_vectors_are_within_2() -> None:
    rng = np.random.default_rng(10)
    vectors = rng.normal(size=(100, 7))
    tables = {"a": table(vectors), "b": table(-3 * vectors)}
    assert join_of(2, metric="cosine").replay(tables).metrics.emitted == 100**2


# --- Blocks


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize("streams", ["ab", "abc"])
def test_blocks_of_any_size_find_the_same(
    monkeypatch: pytest.MonkeyPatch, metric: str, streams: str
) -> None:
    rng = np.random.default_rng(2)
    tables = {name: table(rng.normal(size=(30, 3))) for name in streams}
    join = join_of({"euclidean": 1.2, "cosine": 0.3}[metric], streams, window=12, metric=metric)
    expected = pairs(assert_exact(join, tables), streams)
    assert expected
    whole = join.replay(tables).metrics
    for name, value in (("_FEWEST", 1), ("_FEWEST", 7), ("_COLUMNS", 3), ("_ROWS", 2)):
        monkeypatch.setattr(neighbours, name, value)
        replay = join.replay(tables)
        assert pairs(replay, streams) == expected
        assert replay.metrics.compared == whole.compared


def test_neighbours_that_are_too_many_for_a_block(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(neighbours, "_MOST_NEIGHBOURS", 50)
    rows: Rows = [[0.0, float(i % 2)] for i in range(70)]
    replay = join_of(2.0).replay({"a": table(rows), "b": table(rows)})
    assert replay.metrics.emitted == 70 * 70  # all match, and an arrival has up to 70 neighbours


def test_more_results_than_there_is_room_for() -> None:
    rows: Rows = [[0.0, 0.0]] * 60
    replay = join_of(1.0, "abc").replay({name: table(rows) for name in "abc"})
    assert replay.metrics.emitted == 60**3


def test_steps_are_timed_with_the_threads_of_products() -> None:
    schemas = {name: table([[1.0]]).schema for name in "ab"}
    similar = bind(join_of(), schemas)
    streams = {name: ps.Stream(time="t", window=9) for name in "ab"}
    equal = bind(ps.Join(streams=streams, on=ps.Equal("t")), schemas)
    assert cpu_clock(equal) is time.thread_time
    assert cpu_clock(similar) is cpu_clock(equal, similar) is time.process_time


# --- Which rows can match


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_rows_without_a_usable_vector_are_counted_and_harm_no_other_row(metric: str) -> None:
    bad: Rows = [None, [1.0], [1.0, None], [math.nan, 1.0], [1.0, -math.inf], [], [1.0] * 3]
    good: Rows = [[1.0, 1.0], [0.5, 0.5], [2.0, 2.0]]
    tables = {"a": table([*bad, *good]), "b": table([good[0], *bad, *good[1:]])}
    metrics = assert_exact(join_of(5.0, metric=metric, dimensions=2), tables).metrics
    assert [each.null_keys for each in metrics.streams.values()] == [7, 7]
    assert [each.held for each in metrics.streams.values()] == [3, 3]


def test_a_vector_without_a_direction_has_no_angle() -> None:
    tables = {"a": table([[0.0, 0.0], [1.0, 0.0]]), "b": table([[0.0, 0.0], [1.0, 0.0]])}
    assert join_of(2.0, metric="cosine").replay(tables).metrics.streams["a"].null_keys == 1
    assert join_of(2.0).replay(tables).metrics.emitted == 4


def test_most_of_the_first_rows_decide_how_many_dimensions_there_are() -> None:
    first: Rows = [[9.0], [1.0, 1.0], [1.0, 1.0]]
    tables = {"a": table(first), "b": table([[1.0], [1.0, 1.0]])}
    metrics = join_of().replay(tables).metrics
    assert (metrics.emitted, metrics.streams["a"].null_keys) == (2, 1)
    later = {"a": [table(first), table([[1.0]] * 5)], "b": [tables["b"], table([[1.0]] * 5)]}
    metrics = join_of(lateness=100).replay(later).metrics
    assert [each.null_keys for each in metrics.streams.values()] == [6, 6]


def test_rows_of_all_streams_and_shards_decide_on_dimensions_together() -> None:
    """Of `b` most first rows have two numbers, and in some shards most of `a` have, too."""
    rng = np.random.default_rng(8)
    sizes = rng.permutation([3] * 14 + [2] * 6)
    a: Rows = [[float(i)] * int(size) for i, size in enumerate(sizes)]
    b: Rows = [[float(i)] * int(size) for i, size in enumerate(sizes[::-1])]
    tables = {"a": table([[0.5] * 2, *a]), "b": table([[0.5] * 2, [0.7] * 2, *b])}
    join = join_of(0.0)
    expected = pairs(assert_exact(join, tables))
    assert expected
    for shards in (2, 5, 16):
        for tables_in_turn in (tables, dict(reversed(tables.items()))):
            replay = join.replay(tables_in_turn, shards=shards)
            assert pairs(replay) == expected


def test_a_stream_of_other_dimensions_is_counted() -> None:
    """Most rows of both streams decide, not the stream that is named first."""
    tables = {"a": table([[1.0] * 3] * 4), "b": table([[1.0] * 2] * 5)}
    metrics = join_of().replay(tables).metrics
    assert [each.null_keys for each in metrics.streams.values()] == [4, 0]


def test_shards_on_spark_must_be_told_the_dimensions() -> None:
    def scale(**settings: Any) -> VectorScale | None:  # noqa: ANN401 -- of the predicate
        schemas = {name: table([[1.0]]).schema for name in "ab"}
        return bind(join_of(**settings), schemas).vectors

    check_dimensions(scale(), 1)
    check_dimensions(scale(dimensions=3), 2)
    check_dimensions(None, 2)
    with pytest.raises(ps.SpecificationError) as caught:
        check_dimensions(scale(), 2)
    assert str(caught.value) == (
        "dimensions of Similar over 2 shards on Spark must be how many numbers a vector has; "
        "got None; add dimensions=..., as each shard sees only some of the rows, and Spark does "
        "not tell the size of lists"
    )


def test_without_a_row_that_has_a_vector_there_is_nothing_to_compare() -> None:
    tables = {"a": table([None, []]), "b": table([None])}
    metrics = join_of().replay(tables).metrics
    assert (metrics.emitted, metrics.compared) == (0, 0)
    assert [each.null_keys for each in metrics.streams.values()] == [2, 1]


# --- Late rows move those that are newer; the windows end


@pytest.mark.parametrize("streams", ["ab", "abc"])
@examples(20)
@given(seed=st.integers(0, 10**6), number=st.integers(1, 9), window=st.sampled_from([3, 20]))
def test_out_of_order_in_many_batches_as_brute_force(
    streams: str, seed: int, number: int, window: int
) -> None:
    rng = np.random.default_rng(seed)
    tables = {
        name: pa.table(
            {
                "t": rng.integers(0, 40, 25),
                "v": pa.array(rng.normal(size=(25, 2)).round(1).tolist(), pa.list_(pa.float64())),
            }
        )
        for name in streams
    }
    join = join_of(0.9, streams, window=window, lateness=100)
    batches = cut_rows(tables, batches=number, seed=seed)
    lists = {name: [batch[name] for batch in batches] for name in streams}
    expected = expected_rows(join, tables)
    for shards in (1, 3):
        assert canonical_rows(join.replay(lists, shards=shards).result) == expected


# --- Memory and state


def test_a_budget_in_bytes_counts_vectors_twice_and_room_for_growth() -> None:
    rng = np.random.default_rng(3)

    def held(dimensions: int) -> int:
        tables = {name: table(rng.normal(size=(400, dimensions))) for name in "ab"}
        join = join_of(0.1, budget=ps.Budget(memory=100_000))
        metrics = join.replay(tables).metrics
        assert metrics.bytes_most <= 100_000
        return metrics.held_most

    small, large = held(10), held(110)
    # A number is 8 bytes and a byte for its null bit in the payload, and 16 in order of time.
    assert 100_000 / large - 100_000 / small == pytest.approx(100 * (9 + 16), rel=0.05)


def test_metrics_tell_the_bytes_of_vectors() -> None:
    rng = np.random.default_rng(4)
    metrics = {
        dimensions: join_of(0.1)
        .replay({name: table(rng.normal(size=(50, dimensions))) for name in "ab"})
        .metrics
        for dimensions in (10, 60)
    }
    rows = [each.bytes_most / each.held_most for each in metrics.values()]
    assert rows[1] - rows[0] == pytest.approx(50 * (9 + 16), rel=0.02)


@pytest.mark.parametrize("budget", [None, ps.Budget(rows=20), ps.Budget(memory=9000)])
def test_a_restart_goes_on_with_the_same_vectors_and_dimensions(budget: ps.Budget | None) -> None:
    rng = np.random.default_rng(5)
    tables = {name: table(rng.normal(size=(60, 3)).round(1)) for name in "abc"}
    join = join_of(1.3, "abc", window=25, lateness=9, budget=budget)
    plan = bind(join, {name: each.schema for name, each in tables.items()})
    kept, again = Operator(plan, ordered=True), Operator(plan, ordered=True)
    stored: dict[str, bytes] = {}
    results = []
    for batch in cut_rows(tables, batches=6, seed=5):
        results.append((kept.process(batch), again.process(batch)))
        changes = save(again)
        stored = {n: data for n, data in stored.items() if n not in changes.removed}
        stored |= changes.written
        again = restore(plan, stored)
        assert again.metrics() == kept.metrics()
    assert sum(one.num_rows for one, _ in results) > 0
    for one, other in results:
        assert canonical_rows(one) == canonical_rows(other)

"""Windows of rows, by hand: which rows count, in which order, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest

import penstock as ps
from penstock.engine import state
from penstock.engine.operator import Operator
from penstock.engine.plan import bind
from penstock.errors import SpoolError
from penstock.testing import expected_rows
from penstock.yardsticks import find_matches
from tests.oracles.naive_row_windows import join_last_rows

if TYPE_CHECKING:
    from penstock.durations import DurationLike
    from penstock.engine.replay import Replay

LAST_TWO = ps.Join(
    streams={"a": ps.Stream(time="t", window=ps.Rows(2)), "b": ps.Stream(time="t", window=0)},
    on=ps.Equal("k"),
)


def rows(*pairs: tuple[float | None, str | None]) -> pa.Table:
    times, keys = zip(*pairs, strict=True) if pairs else ((), ())
    return pa.table({"t": pa.array(times, pa.int64()), "k": pa.array(keys, pa.string())})


def pairs_of(replay: Replay) -> list[tuple[int, int]]:
    """Return the times of the rows of each result."""
    found = replay.result.to_pylist()
    return sorted((each["a"]["t"], each["b"]["t"]) for each in found)


def test_the_last_rows_of_a_stream_join() -> None:
    a = rows((1, "x"), (2, "x"), (5, "x"))
    b = rows((0, "x"), (3, "x"), (6, "x"))
    replay = LAST_TWO.replay({"a": a, "b": b})
    assert pairs_of(replay) == [(1, 3), (2, 3), (2, 6), (5, 6)]
    stream = replay.metrics.streams["a"]
    assert (stream.expired, stream.held, stream.held_most) == (1, 2, 2)
    assert replay.metrics.fairness is None  # no row has a share of a window of rows


def test_windows_of_rows_and_of_time_join_in_one_join() -> None:
    join = replace(
        LAST_TWO,
        streams={"a": ps.Stream(time="t", window=ps.Rows(1)), "b": ps.Stream(time="t", window=3)},
    )
    a = rows((1, "x"), (4, "x"), (9, "x"))
    b = rows((2, "x"), (5, "y"), (6, "x"))
    # At 4 the first row of a leaves, and that of b at 2 still waits; at 9 those of b have expired.
    assert pairs_of(join.replay({"a": a, "b": b})) == [(1, 2), (4, 2), (4, 6), (9, 6)]


def test_rows_of_the_same_time_come_in_the_order_of_the_streams() -> None:
    a, b = rows((1, "x"), (2, "y"), (2, "y")), rows((2, "x"))
    assert pairs_of(LAST_TWO.replay({"a": a, "b": b})) == []
    first_b = replace(LAST_TWO, streams={n: LAST_TWO.streams[n] for n in "ba"})
    assert pairs_of(first_b.replay({"a": a, "b": b})) == [(1, 2)]


def test_rows_without_a_key_count_and_rows_that_are_late_or_without_a_time_do_not() -> None:
    a = [rows((1, "x"), (None, "y"), (4, None)), rows((0, "y"), (2, "y"), (5, "x"))]
    b = [rows((3, "x"), (4, "x")), rows((6, "x"))]
    replay = LAST_TWO.replay({"a": a, "b": b})
    assert pairs_of(replay) == [(1, 3), (1, 4), (5, 6)]
    stream = replay.metrics.streams["a"]
    assert (stream.null_keys, stream.bad_times, stream.late, stream.expired) == (1, 1, 2, 1)


def test_rows_wait_until_no_older_row_can_come() -> None:
    streams = {
        "a": ps.Stream(time="t", window=ps.Rows(1), lateness=3),
        "b": ps.Stream(time="t", window=0),
    }
    join = replace(LAST_TWO, streams=streams)
    a, b = rows((1, "x"), (6, "y")), rows((2, "x"), (5, "x"), (9, "x"))
    going_on = join.replay({"a": a, "b": b}, ended=False)
    assert pairs_of(going_on) == [(1, 2)]
    waiting = {name: each.waiting for name, each in going_on.metrics.streams.items()}
    assert waiting == {"a": 1, "b": 2}
    # A row of the time 3 is not too late to be the last one at 5.
    again = join.replay({"a": [a, rows((3, "x"))], "b": [b, rows()]})
    assert sorted(pairs_of(again)) == [(1, 2), (3, 5)]


def test_a_silent_stream_is_passed() -> None:
    streams = {
        "a": ps.Stream(time="t", window=ps.Rows(1)),
        "b": ps.Stream(time="t", window=ps.Rows(5), idle=10),
    }
    join = replace(LAST_TWO, streams=streams)
    a = [rows((1, "x")), rows((8, "x")), rows((30, "x"))]
    b = [rows((2, "x")), rows(), rows((10, "x"), (21, "x"))]
    replay = join.replay({"a": a, "b": b}, ended=False)
    assert pairs_of(replay) == [(1, 2), (8, 2), (8, 10)]
    assert replay.metrics.streams["a"].waiting == 1


@pytest.mark.parametrize("batches", [1, 7])
def test_a_long_run_joins_as_row_by_row(batches: int) -> None:
    """Queues grow, move and are packed, with rows without a key among the others."""
    random = np.random.default_rng(16)
    tables = {}
    for name in ("a", "b"):
        keys = [None if key == 9 else str(key) for key in random.integers(0, 10, 1_500)]
        times = np.sort(random.permutation(6_000)[:1_500])
        tables[name] = pa.table({"t": times, "k": pa.array(keys, pa.string())})
    streams = {
        "a": ps.Stream(time="t", window=ps.Rows(40)),
        "b": ps.Stream(time="t", window=60),
    }
    join = replace(LAST_TWO, streams=streams)
    cut = {
        name: _parts(table, batches, shift=place)
        for place, (name, table) in enumerate(tables.items())
    }
    replay = join.replay(cut)
    found = join_last_rows(bind(join, {n: t.schema for n, t in tables.items()}), tables)
    columns = [replay.result.column(name).to_pylist() for name in join.names]
    assert sorted(tuple(map(repr, row)) for row in zip(*columns, strict=True)) == sorted(
        found.results
    )
    assert replay.metrics.streams["a"].expired == found.expired[0]
    assert len(found.results) > 3_000


def _parts(table: pa.Table, number: int, shift: int) -> list[pa.Table]:
    """Cut a table into parts; with a shift the first one is longer."""
    edges = np.linspace(0, table.num_rows, number + 1).astype(int)
    edges[1:-1] += 100 * shift
    return [table.slice(first, last - first) for first, last in pairwise(edges.tolist())]


def test_importance_of_results_is_told() -> None:
    join = replace(LAST_TWO, goal=ps.MaxImportance(of=2.0))
    replay = join.replay({"a": rows((1, "x"), (2, "x")), "b": rows((3, "x"))})
    assert replay.result["importance"].to_pylist() == [2.0, 2.0]


def test_a_restart_with_another_window_is_refused() -> None:
    plan = bind(LAST_TWO, dict.fromkeys("ab", rows().schema))
    operator = Operator(plan)
    operator.process({"a": rows((1, "x")), "b": rows((2, "x"))})
    saved = state.save(operator).written
    other = {**LAST_TWO.streams, "a": ps.Stream(time="t", window=ps.Rows(3))}
    changed = bind(replace(LAST_TWO, streams=other), dict.fromkeys("ab", rows().schema))
    with pytest.raises(ps.StateError, match=r"streams must be what .*Rows\(2\).*got.*Rows\(3\)"):
        state.restore(changed, saved)


@pytest.mark.parametrize("number", [0, -1, 1.5, "10", True, 2**63])
def test_the_number_of_rows_is_checked(number: object) -> None:
    with pytest.raises(ps.SpecificationError, match="number of Rows must be a whole number from 1"):
        ps.Rows(number)  # type: ignore[arg-type]


def test_a_number_of_numpy_is_taken_as_pythons() -> None:
    assert repr(ps.Rows(np.int64(5))) == "Rows(5)"  # type: ignore[arg-type]
    assert ps.Rows(np.int32(5)) == ps.Rows(5)  # type: ignore[arg-type]


@pytest.mark.parametrize("said", ["10 rows", "10 ROWS", " 1row "])
def test_rows_as_a_text_are_refused_with_what_to_write(said: str) -> None:
    with pytest.raises(ps.SpecificationError, match=r"window=Rows\(10?\)"):
        ps.Stream(time="t", window=said)


def test_several_shards_are_refused() -> None:
    tables = {"a": rows((1, "x")), "b": rows((2, "x"))}
    with pytest.raises(
        ps.SpecificationError,
        match=r"shards of a join with a window of rows must be 1; got 2; .*went to the others",
    ):
        LAST_TWO.replay(tables, shards=2)


@pytest.mark.parametrize(
    "budget",
    [
        ps.Budget(rows=100),
        ps.Budget(memory="1MB"),
        ps.Budget(cpu=0.5, costs=ps.Costs(insert=1.0, result=1.0)),
    ],
)
def test_a_budget_is_refused(budget: ps.Budget) -> None:
    with pytest.raises(
        ps.SpecificationError, match="budget must be None where a window is one of rows; got Budget"
    ):
        replace(LAST_TWO, budget=budget)


@pytest.mark.parametrize("align", ["off", 0, 10])
def test_align_is_refused(align: DurationLike) -> None:
    with pytest.raises(
        ps.SpecificationError, match="align must be left out where a window is one of rows"
    ):
        replace(LAST_TWO, align=align)


def test_more_than_may_wait_is_an_error_that_does_not_tell_of_align() -> None:
    tables = {"a": rows(*((t, "x" * 100) for t in range(100))), "b": rows()}
    with pytest.raises(SpoolError, match=r'or with idle= for stream "b", so .* waited for$'):
        replace(LAST_TWO, spool=1000).replay(tables, ended=False)


def test_what_needs_durations_refuses_windows_of_rows() -> None:
    tables = {"a": rows((1, "x"), (3, "x")), "b": rows((2, "x"), (4, "x"))}
    in_time = replace(LAST_TWO, streams=dict.fromkeys("ab", ps.Stream(time="t", window=5)))
    statistics = in_time.measure(tables)
    words = r'window of stream "a" must be a duration for {}; got Rows\(2\)'
    with pytest.raises(ps.SpecificationError, match=words.format("statistics")):
        LAST_TWO.measure(tables)
    with pytest.raises(ps.SpecificationError, match=words.format("a prediction")):
        LAST_TWO.predict(statistics)
    with pytest.raises(ps.SpecificationError, match=words.format("the optimum")):
        find_matches(LAST_TWO, tables)


def test_the_brute_force_join_counts_rows_without_a_key() -> None:
    a, b = rows((1, "x"), (2, None), (3, "y")), rows((2, "x"), (3, "x"))
    (only,) = expected_rows(LAST_TWO, {"a": a, "b": b})
    assert only[:2] == ("{t: 1, k: 'x'}", "{t: 2, k: 'x'}")

"""Naive == fast: the operator against its twin, over whole numbers."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given

import penstock as ps
from penstock.engine import limits, operator, payload
from penstock.engine.kernels.results import ENOUGH, make_results
from penstock.engine.operator import Operator
from penstock.engine.plan import bind
from tests.engine.cases import KINDS, Case, Size, make_case, seeded
from tests.engine.support import assert_twins, choices, examples, progress_at

if TYPE_CHECKING:
    from tests.engine.support import Pick

STRATEGIES = (None, "fifo", "random")
WHOLE = [name for name, kind in KINDS.items() if not kind.is_floating]
LARGE = Size(batches=6, rows=25, times=25, window=40, budget=60, full=True)


@pytest.mark.nojit
@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("name", WHOLE)
@given(pick=choices())
@examples(15)
def test_two_streams_join_as_their_naive_twin(name: str, strategy: str | None, pick: Pick) -> None:
    assert_twins(make_case(pick, KINDS[name], strategy=strategy))


@pytest.mark.nojit
@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("name", WHOLE)
@given(pick=choices())
@examples(8)
def test_three_streams_join_as_their_naive_twin(
    name: str, strategy: str | None, pick: Pick
) -> None:
    assert_twins(make_case(pick, KINDS[name], streams=3, strategy=strategy))


@pytest.mark.nojit
@pytest.mark.parametrize("strategy", ["fifo", "random"])
@given(pick=choices())
@examples(30)
def test_a_budget_in_bytes_is_kept_as_by_the_naive_twin(strategy: str, pick: Pick) -> None:
    size = Size(rows=8)
    kind, streams = KINDS["equal whole"], pick(2, 3)
    assert_twins(
        make_case(pick, kind, streams=streams, strategy=strategy, in_bytes=True, size=size)
    )


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("name", WHOLE)
def test_hundreds_of_rows_join_as_their_naive_twin(name: str, strategy: str | None) -> None:
    cases = (make_case(seeded(n), KINDS[name], strategy=strategy, size=LARGE) for n in (1, 11))
    assert sum(assert_twins(case).emitted for case in cases) > 20


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("name", ["equal pair", "within whole", "band whole", "compare <"])
def test_hundreds_of_rows_of_three_streams_join_as_their_naive_twin(
    name: str, strategy: str | None
) -> None:
    size = Size(batches=6, rows=20, times=12, window=12, budget=40, full=True)
    case = make_case(seeded(2), KINDS[name], streams=3, strategy=strategy, size=size)
    assert assert_twins(case).emitted > 20


@pytest.mark.parametrize("name", ["equal whole", "within whole", "compare <"])
@given(pick=choices())
@examples(20)
def test_where_the_loop_stops_changes_nothing(name: str, pick: Pick) -> None:
    case = make_case(pick, KINDS[name], streams=3, strategy="random", size=Size(rows=8))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(limits, "_FEWEST", 5)
        patch.setattr(limits, "_MOST", 5)
        patch.setattr(operator, "make_results", partial(make_results, size=1))
        patch.setattr(payload, "MOST_ROWS", 3)
        assert_twins(case)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_more_rows_than_a_call_of_the_loop_takes(strategy: str | None) -> None:
    rows = 4_500
    day = ps.Stream(time="t", window=4)
    join = ps.Join(
        streams={"a": day, "b": day},
        on=ps.Equal("k0"),
        goal=ps.MaxSubset(strategy=strategy),
        budget=None if strategy is None else ps.Budget(rows=6),
    )
    tables = {
        "a": pa.table({"t": range(rows), "k0": [i % 3 for i in range(rows)]}),
        "b": pa.table({"t": range(rows), "k0": [i % 2 for i in range(rows)]}),
    }
    assert assert_twins(Case(join, [tables])).emitted > 1024


def test_more_results_than_are_turned_into_arrow_at_a_time() -> None:
    rows = 750
    join = ps.Join(
        streams={name: ps.Stream(time="t", window=rows) for name in ("a", "b")}, on=ps.Equal("k")
    )
    table = pa.table({"t": range(rows), "k": [1] * rows})
    pieces = list(
        Operator(bind(join, {"a": table.schema, "b": table.schema})).pieces(
            {"a": table, "b": table}
        )
    )
    assert rows**2 > ENOUGH
    assert len(pieces) == 2
    pairs = {
        (i, j)
        for piece in pieces
        for i, j in zip(
            *(pc.struct_field(piece[name], "t").to_pylist() for name in ("a", "b")), strict=True
        )
    }
    assert sum(piece.num_rows for piece in pieces) == len(pairs) == rows**2


@pytest.mark.parametrize("strategy", ["fifo", "random"])
def test_a_budget_that_suffices_loses_nothing(strategy: str) -> None:
    exact = make_case(seeded(5), KINDS["equal whole"], size=LARGE)
    most = assert_twins(exact).held_most
    streams, on = exact.join.streams, exact.join.on
    join = ps.Join(
        streams=streams, on=on, goal=ps.MaxSubset(strategy=strategy), budget=ps.Budget(rows=most)
    )
    enough = assert_twins(Case(join, exact.batches))
    assert [(s.dropped, s.evicted) for s in enough.streams.values()] == [(0, 0), (0, 0)]
    assert enough.emitted == assert_twins(exact).emitted


def test_progress_of_other_shards_moves_the_clock_in_its_turn() -> None:
    stream = ps.Stream(time="t", window=3)
    join = ps.Join(streams={"a": stream, "b": stream}, on=ps.Equal("k"))
    table = pa.table({"t": [1, 5], "k": [1, 1]})
    shard = Operator(bind(join, {"a": table.schema, "b": table.schema}))
    shard.process({"a": table}, stream_progress=[progress_at(1, 5), progress_at(5, 8)])
    stream_a = shard.metrics().streams["a"]
    assert (stream_a.expired, stream_a.held, stream_a.held_most) == (1, 1, 1)
    shard.process({}, stream_progress=[progress_at(), progress_at(9)])
    assert shard.metrics().streams["a"].held == 0
    shard.process({"b": table.slice(1)})
    assert shard.metrics().streams["b"].late == 1


def test_results_carry_the_greatest_time_and_weight_one() -> None:
    stream = ps.Stream(time="t", window="1 minute")
    join = ps.Join(streams={"a": stream, "b": stream}, on=ps.Equal("k"))
    a = pa.table({"t": pa.array([70], pa.timestamp("s")), "k": [1]})
    b = pa.table({"t": pa.array([60_500], pa.timestamp("ms")), "k": [1]})
    result = Operator(bind(join, {"a": a.schema, "b": b.schema})).process({"a": a, "b": b})
    assert result.schema.field("time").type == pa.timestamp("us")
    assert result.column("time").cast(pa.int64()).to_pylist() == [70_000_000]
    assert result.column("weight").to_pylist() == [1.0]

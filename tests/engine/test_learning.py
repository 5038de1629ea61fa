"""What is learned: true, the same however the streams are cut, and not lost on a restart."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest

import penstock as ps
from penstock.engine.operator import Operator
from penstock.engine.plan import bind
from penstock.engine.state import restore, save
from penstock.strategies import STRATEGIES
from penstock.testing import age_model, canonical_rows, cut, market
from tests.conformance.checks import goal_of, serves
from tests.engine.cases import KINDS, Size, make_case, seeded
from tests.engine.soundness import assert_sound

if TYPE_CHECKING:
    from collections.abc import Callable

    from _pytest.mark import ParameterSet

    from penstock.metrics import Metrics

Tables = dict[str, pa.Table]

# --- The age curve


@pytest.mark.parametrize(
    ("strategy", "shape"), [("age", "INC"), ("until-expiry", "DEC"), (None, "BELL")]
)
def test_the_age_curve_is_learned_although_most_rows_are_shed(
    strategy: str | None, shape: str
) -> None:
    learned = []
    true = np.zeros(4)
    for seed in range(2):
        model = age_model(
            curve=shape, rate_1=4, rate_2=20, duration=4000, arrivals="mean-rate", seed=seed
        )
        join = ps.Join(
            streams={
                "s1": ps.Stream(time="time", window=model.window),
                "s2": ps.Stream(time="time", window=0.0),
            },
            on=ps.Equal("id"),
            goal=ps.MaxSubset(strategy=strategy),
            budget=ps.Budget(rows=400, monitor=0.5),  # of 2,000
            seed=seed,
        )
        tables = {"s1": model.s1, "s2": model.s2}
        operator = Operator(bind(join, {name: table.schema for name, table in tables.items()}))
        operator.process(tables)
        assert operator.metrics().streams["s1"].evicted > 0
        memory = operator.store.memory
        parts = int(memory.lives["parts"][0])
        curve = memory.matched[0, :parts] / memory.exposed[0, :parts]
        learned.append(curve.reshape(4, -1).sum(axis=1))
        true = model.curve.reshape(4, -1).sum(axis=1)
    # Of each quarter of a life: within 10 % where there is much to be seen, and all in all within
    # 6 %. Until the first window is full rows match more often than the curve says, which takes
    # a few half-lives to be forgotten.
    found = np.mean(learned, axis=0)
    much = true > 0.1 * true.sum()
    assert found[much] == pytest.approx(true[much], rel=0.1)
    assert found.sum() == pytest.approx(true.sum(), rel=0.06)


# --- Cuts and restarts


@cache
def site() -> dict[str, pa.Table]:
    """Return an auction site: half a million seconds, three windows."""
    tables = market(auctions=3000, bids_per_auction=12, life="7 days", over="21 days", seed=5)
    return {"auctions": tables.auctions, "bids": tables.bids}


@cache
def values(streams: int) -> dict[str, pa.Table]:
    """Return streams of which a few values are frequent, and other ones in the second half."""
    draw = np.random.default_rng(streams)
    tables = {}
    for name in "abc"[:streams]:
        times = np.sort(draw.uniform(0, 600, 1200))
        near = draw.normal(0, 30, 1200).round(2) + np.where(times < 300, 0, 40)
        tables[name] = pa.table({"t": times, "v": near, "n": near.astype(np.int64) // 8})
    return tables


def on_site(strategy: str, seed: int = 0) -> ps.Join:
    return ps.Join(
        streams={
            "auctions": ps.Stream(time="opened_at", window="7 days"),
            "bids": ps.Stream(time="at", window="0 seconds"),
        },
        on=ps.Equal(auctions="id", bids="auction_id"),
        goal=goal_of(strategy),
        budget=ps.Budget(rows=150),
        seed=seed,
    )


def on_values(strategy: str, *, near: bool, streams: int = 2) -> ps.Join:
    names = "abc"[:streams]
    columns = dict.fromkeys(names, "v")
    return ps.Join(
        streams={name: ps.Stream(time="t", window=60.0) for name in names},
        on=ps.Within(0.5, **columns) if near else ps.Equal("n"),
        goal=goal_of(strategy, half_life=1.0),
        budget=ps.Budget(rows=25 * streams),
    )


def in_bytes(strategy: str) -> tuple[ps.Join, Tables]:
    """Return a join whose budget is in bytes, and whose clocks have no room for a float's error."""
    tables = {}
    for name, table in values(2).items():
        since = (table["t"].to_numpy() * 10**9).astype(np.int64) + 1_760_000_000_000_000_001
        names = pa.array(["x" * (n % 50) for n in range(table.num_rows)])
        columns = {"t": pa.array(since, pa.timestamp("ns")), "n": table["n"], "text": names}
        tables[name] = pa.table(columns)
    join = ps.Join(
        streams={name: ps.Stream(time="t", window="1 minute") for name in tables},
        on=ps.Equal("n"),
        goal=goal_of(strategy, half_life=1.0),
        budget=ps.Budget(memory=16_000),
    )
    return join, tables


def given() -> tuple[ps.Join, Tables]:
    """Return a join in which the numbers of matches of one stream are given."""
    tables = dict(values(2))
    said = np.random.default_rng(9).integers(0, 12, tables["a"].num_rows)
    tables["a"] = tables["a"].append_column("said", pa.array(said))
    goal = ps.Sample(strategy="uniform", matches={"a": "said"}, half_life=1.0)
    return replace(on_values("uniform", near=False), goal=goal), tables


LEARNING = [name for name in STRATEGIES if name not in {"fifo", "random"}]
WORKLOADS: dict[str, Callable[[str], tuple[ps.Join, Tables]]] = {
    "site": lambda strategy: (on_site(strategy), site()),
    "equal": lambda strategy: (on_values(strategy, near=False), values(2)),
    "near": lambda strategy: (on_values(strategy, near=True), values(2)),
    "bytes": in_bytes,
    "near of three": lambda strategy: (on_values(strategy, near=True, streams=3), values(3)),
}
# Numbers of matches are given, which only `uniform` uses.
WORKLOADS["given"] = lambda _: given()
CASES = [
    (strategy, workload)
    for strategy in STRATEGIES
    for workload in WORKLOADS
    if serves(strategy, 3 if workload == "near of three" else 2)
    and (strategy == "uniform" or workload != "given")
]


def _by_turns(turn: int) -> list[tuple[str, str]]:
    """Return half of the cases: with the other half each strategy that learns has each workload.

    Each half has every strategy over half of the workloads, and every workload. All are over
    "equal".
    """
    strategies, workloads = list(STRATEGIES), list(WORKLOADS)
    return [
        (strategy, workload)
        for strategy, workload in CASES
        if workload in {"equal", "given"}
        or (strategies.index(strategy) + workloads.index(workload)) % 2 == turn
    ]


def batches_of(
    join: ps.Join, tables: dict[str, pa.Table], number: int
) -> list[dict[str, pa.Table]]:
    """Cut all streams at the same times, unevenly."""
    name, stream = next(iter(join.streams.items()))
    times = tables[name][stream.time]
    places = (np.linspace(0.02, 0.98, number - 1) ** 1.5 * len(times)).astype(int)
    return cut(join, tables, sorted({times[int(place)].as_py() for place in places}))


def counted(metrics: Metrics) -> Metrics:
    """Leave out what depends on batches: the sizes of buffers, and of buckets."""
    streams = {name: replace(each, row_bytes=0.0) for name, each in metrics.streams.items()}
    return replace(metrics, streams=streams, bytes_most=0, compared=0)


def _marked(strategy: str, workload: str) -> ParameterSet:
    """Leave all but one of each kind to the slow run."""
    here = strategy in {"best", "ijoin", "uniform"} and workload == "equal"
    return pytest.param(strategy, workload, marks=() if here else pytest.mark.slow)


@pytest.mark.parametrize(
    ("strategy", "workload"), [_marked(*case) for case in _by_turns(0) if case[0] in LEARNING]
)
def test_over_several_windows_one_batch_equals_many(strategy: str, workload: str) -> None:
    join, tables = WORKLOADS[workload](strategy)
    batches = batches_of(join, tables, 23)
    assert len(batches) == 23
    once = join.replay(tables)
    often = join.replay({name: [batch[name] for batch in batches] for name in tables})
    assert once.metrics.lost > 0
    # Estimates add up in the same order: not even a last digit differs.
    assert counted(often.metrics) == counted(once.metrics)
    assert canonical_rows(often.result) == canonical_rows(once.result)


@pytest.mark.parametrize(("strategy", "workload"), [_marked(*case) for case in _by_turns(1)])
def test_a_restart_in_the_middle_changes_nothing(strategy: str, workload: str) -> None:
    join, tables = WORKLOADS[workload](strategy)
    batches = batches_of(join, tables, 5)
    plan = bind(join, {name: table.schema for name, table in tables.items()})
    whole, resumed = Operator(plan), Operator(plan)
    stored: dict[str, bytes] = {}
    for batch in batches:
        expected, found = whole.process(batch), resumed.process(batch)
        assert canonical_rows(found) == canonical_rows(expected)
        # Estimates, variances, which model is followed and by how much, all counters.
        assert resumed.metrics() == whole.metrics()
        for name in ("batch_emitted", "batch_estimated", "batch_variance"):
            assert getattr(resumed.metrics(), name) == getattr(whole.metrics(), name)
        changes = save(resumed)
        for name in changes.removed:
            del stored[name]
        stored |= changes.written
        resumed = restore(plan, stored)
        assert_sound(resumed)
        assert_same_statistics(resumed, whole)
    assert whole.metrics().lost > 0


@pytest.mark.parametrize("seed", range(len(LEARNING)))
def test_a_restart_after_every_batch_changes_nothing_whatever_comes(seed: int) -> None:
    """Any predicate, late rows, rows without keys or times, streams that lag behind."""
    pick = seeded(seed)
    streams = 2 + seed % 2 if serves(LEARNING[seed], 3) else 2
    case = make_case(
        pick,
        KINDS[list(KINDS)[pick(0, len(KINDS) - 1)]],
        streams=streams,
        strategy=LEARNING[seed],
        floating_time=bool(pick(0, 1)),
        in_bytes=bool(pick(0, 1)),
        # Enough for a few reviews.
        size=Size(batches=8, rows=60 if streams == 2 else 15, window=25, budget=60, full=True),
    )
    plan = bind(case.join, case.schemas)
    whole, resumed = Operator(plan), Operator(plan)
    stored: dict[str, bytes] = {}
    for batch in case.batches:
        expected, found = whole.process(batch), resumed.process(batch)
        assert canonical_rows(found) == canonical_rows(expected)
        assert resumed.metrics() == whole.metrics()
        assert_sound(whole)
        changes = save(resumed)
        for name in changes.removed:
            del stored[name]
        stored |= changes.written
        resumed = restore(plan, stored)
        assert_sound(resumed)
        assert_same_statistics(resumed, whole)


def assert_same_statistics(one: Operator, other: Operator) -> None:
    for name in ("matched", "exposed", "gauges"):
        mine, others = getattr(one.store.memory, name), getattr(other.store.memory, name)
        assert mine.tolist() == others.tolist(), name
    assert (
        one.store.memory.streams["share"].tolist() == other.store.memory.streams["share"].tolist()
    )
    if one.reviewer is None or other.reviewer is None:
        assert one.reviewer is other.reviewer
        return
    mine, others = one.reviewer.save(), other.reviewer.save()
    assert list(mine) == list(others)
    for name in mine:
        assert mine[name].tolist() == others[name].tolist(), name

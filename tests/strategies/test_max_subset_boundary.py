"""Online Max-Subset in replays, with each way to shed the last values."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

import penstock as ps
from benchmarks.formulas import Streams
from penstock.statistics.work_output import max_subset
from penstock.strategies import MaxSubsetOfValues
from penstock.testing import canonical_rows, zipf_weights

if TYPE_CHECKING:
    from penstock.metrics import Metrics
    from penstock.statistics.work_output import Boundary

BOUNDARIES: tuple[Boundary, ...] = ("probe-no-insert", "coin-flip", "insert-no-probe")
WINDOWS = {"l": 3.0, "r": 5.0}
BURST = 5.0


@pytest.fixture(scope="module")
def direct() -> Streams:
    return Streams("direct", scale=3.0, seconds=60.0, seed=1)


def join_of(streams: Streams, boundary: Boundary, share: float) -> ps.Join:
    """Return a join that knows the frequencies, within a share of the work."""
    shares = dict(enumerate(zipf_weights(100, 1.0).tolist()))
    goal = ps.MaxSubset(
        strategy=MaxSubsetOfValues(boundary=boundary), frequencies=dict.fromkeys("lr", shares)
    )
    work = share * streams.model.full_work
    return ps.Join(
        streams={name: ps.Stream(time="time", window=window) for name, window in WINDOWS.items()},
        on=ps.Equal("key"),
        goal=goal,
        budget=ps.Budget(cpu=work, costs=streams.costs, burst=BURST),
    )


@pytest.mark.parametrize("boundary", BOUNDARIES)
def test_as_much_is_found_as_by_the_formula(direct: Streams, boundary: Boundary) -> None:
    replay = join_of(direct, boundary, 0.4).replay(direct.tables)
    found = np.count_nonzero(replay.result["time"].to_numpy() > 10.0) / direct.results
    model = direct.model
    steps = max_subset(model, 0.4 * model.full_work, boundary=boundary)
    by_formula = model.output(steps) / model.full_output
    # Chance decides 2 or 3 % of what is in 60 s.
    assert found == pytest.approx(by_formula, rel=0.05)
    metrics = replay.metrics
    assert metrics.strategy == "max-subset"
    # While windows fill there is less to do than is allowed.
    assert 0.93 * metrics.work_allowed < metrics.work < 1.02 * metrics.work_allowed
    assert_counts_add_up(metrics)


def assert_counts_add_up(metrics: Metrics) -> None:
    """Check that each row that left out steps is counted once for the first of them."""
    left_out = sum(
        each.not_admitted + each.not_probed + each.not_inserted for each in metrics.streams.values()
    )
    assert left_out == metrics.lost > 0


@pytest.mark.parametrize("boundary", BOUNDARIES)
def test_results_are_some_of_the_exact_joins_and_all_with_enough_work(
    direct: Streams, boundary: Boundary
) -> None:
    tables = {name: table.slice(0, 600) for name, table in direct.tables.items()}
    join = join_of(direct, boundary, 0.3)
    exact = canonical_rows(replace(join, budget=None, goal=ps.MaxSubset()).replay(tables).result)
    some = canonical_rows(join.replay(tables).result)
    assert set(some) < set(exact)
    assert len(some) == len(set(some))
    enough = join_of(direct, boundary, 2.5)
    assert canonical_rows(enough.replay(tables).result) == exact


@pytest.mark.parametrize("boundary", BOUNDARIES)
def test_a_cut_into_batches_changes_nothing(direct: Streams, boundary: Boundary) -> None:
    tables = {name: table.slice(0, 600) for name, table in direct.tables.items()}
    join = join_of(direct, boundary, 0.3)
    # In step: each micro-batch has all rows of a second.
    seconds = np.arange(0.0, 6.0)
    batches = {
        name: [
            table.filter((table["time"].to_numpy() // 1.0) == second) for second in seconds.tolist()
        ]
        for name, table in tables.items()
    }
    whole = {name: table.filter(table["time"].to_numpy() < 6.0) for name, table in tables.items()}
    assert canonical_rows(join.replay(batches).result) == canonical_rows(join.replay(whole).result)


@pytest.mark.parametrize("boundary", BOUNDARIES)
def test_within_sheds_its_last_values_so_as_well(direct: Streams, boundary: Boundary) -> None:
    draws = np.random.default_rng(3)
    tables = {
        name: table.slice(0, 3_000).set_column(
            1, "key", [table["key"].to_numpy()[:3_000] + draws.uniform(0, 1, 3_000)]
        )
        for name, table in direct.tables.items()
    }
    join = replace(
        join_of(direct, boundary, 0.4),
        on=ps.Within(0.5, l="key", r="key"),
        goal=ps.MaxSubset(strategy=MaxSubsetOfValues(boundary=boundary)),
    )
    metrics = join.replay(tables).metrics
    exact = replace(join, budget=None, goal=ps.MaxSubset()).replay(tables).metrics
    assert 0.2 < metrics.emitted / exact.emitted < 0.8
    assert metrics.work <= 1.03 * metrics.work_allowed
    assert metrics.recall is not None
    assert metrics.recall.low <= metrics.emitted / exact.emitted <= metrics.recall.high

"""What the monitored rows show: how large the true result is, and how wrong that may be.

The data is fixed and the seed of the join varied: chance decides only which rows are monitored.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest

import penstock as ps
from penstock.statistics.recall import Estimate

if TYPE_CHECKING:
    import numpy.typing as npt

_SEEDS = 300
_WINDOW = 40


@cache
def tables(streams: int, rows: int) -> dict[str, pa.Table]:
    """Return streams of which a few values are frequent."""
    draw = np.random.default_rng(0)
    return {
        name: pa.table(
            {
                "t": np.sort(draw.integers(0, 300, rows)),
                "k": np.minimum(draw.geometric(0.12, rows), 25),
                "i": np.floor(draw.pareto(1.5, rows) + 1),
            }
        )
        for name in "abc"[:streams]
    }


def join_of(streams: int, **settings: object) -> ps.Join:
    """Join by a distance of 0: with `Equal` sizes would be counted, and no row asked."""
    each = {name: ps.Stream(time="t", window=_WINDOW) for name in "abc"[:streams]}
    on = ps.Equal("k") if streams > 2 else ps.Within(0, a="k", b="k")
    return ps.Join(streams=each, on=on, **settings)  # type: ignore[arg-type]


def estimates(
    streams: int, strategy: str, *, rows: int, of: int, seeds: range
) -> tuple[int, npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return the true number of results, and for each seed an estimate of it and its variance."""
    data = tables(streams, of)
    true = join_of(streams).replay(data).metrics.emitted
    found, variances = [], []
    for seed in seeds:
        metrics = (
            join_of(
                streams,
                goal=ps.MaxSubset(strategy=strategy),
                budget=ps.Budget(rows=rows, monitor=0.3),
                seed=seed,
            )
            .replay(data)
            .metrics
        )
        assert metrics.lost > 0
        found.append(metrics.estimated)
        variances.append(metrics.variance)
    return true, np.array(found), np.array(variances)


@pytest.mark.parametrize(
    ("strategy", "seeds"), [("fifo", range(_SEEDS)), ("random", range(_SEEDS, 2 * _SEEDS))]
)
def test_of_two_streams_the_estimate_is_unbiased_and_knows_its_variance(
    strategy: str, seeds: range
) -> None:
    true, found, variances = estimates(2, strategy, rows=60, of=600, seeds=seeds)
    error = found.std(ddof=1) / np.sqrt(_SEEDS)
    assert abs(found.mean() - true) < 3 * error
    # It says something: an estimate is within about a tenth.
    assert found.std() < 0.2 * true
    # The variance of 300 numbers is itself known to within sqrt(2 / 300), 8 %, or somewhat more
    # as they have a heavy tail: 25 % is about three times that.
    assert 0.75 < variances.mean() / found.var(ddof=1) < 1.25


def of_importance(strategy: str, seed: int | None) -> ps.Metrics:
    """Return what a join says of importance; the exact one for no seed."""
    goal = ps.MaxImportance(of="i", strategy=strategy)
    budget = None if seed is None else ps.Budget(rows=60, monitor=0.3)
    return join_of(2, goal=goal, budget=budget, seed=seed or 0).replay(tables(2, 600)).metrics


def test_the_estimate_of_importance_is_unbiased_and_knows_its_variance() -> None:
    true = of_importance("fifo", None).importance
    found, variances, held = [], [], 0
    for seed in range(_SEEDS):
        metrics = of_importance("fifo", seed)
        found.append(metrics.importance_estimated)
        variances.append(metrics.importance_variance)
        recall = metrics.importance_recall
        assert recall is not None
        held += recall.low <= metrics.importance / true <= recall.high
    error = np.std(found, ddof=1) / np.sqrt(_SEEDS)
    assert abs(np.mean(found) - true) < 3 * error
    assert np.std(found) < 0.2 * true
    assert 0.75 < np.mean(variances) / np.var(found, ddof=1) < 1.25
    # 95 % of 300, less three times sqrt(300 * 0.95 * 0.05).
    assert held >= 285 - 3 * 3.8


@pytest.mark.parametrize("strategy", ["worth", "ijoin", "greedy"])
def test_importance_is_estimated_alike_whatever_is_shed(strategy: str) -> None:
    for seed in range(3):
        own, other = of_importance(strategy, seed), of_importance("fifo", seed)
        assert own.importance_estimated == pytest.approx(other.importance_estimated)
        assert own.importance_variance == pytest.approx(other.importance_variance)


def test_three_streams_are_counted() -> None:
    """There is room for all rows in counters, so the size is known exactly."""
    true = join_of(3).replay(tables(3, 300)).metrics.emitted
    metrics = join_of(3, budget=ps.Budget(rows=90)).replay(tables(3, 300)).metrics
    assert metrics.lost > 0
    assert metrics.true_size is not None
    assert metrics.true_size.low == metrics.true_size.high == pytest.approx(true)


@pytest.mark.parametrize("strategy", ["random", "until-expiry", "age", "prob", "expected", "best"])
def test_monitored_rows_and_their_estimates_are_the_same_whatever_is_shed(strategy: str) -> None:
    seeds = range(5)
    _, expected, variances = estimates(2, "fifo", rows=60, of=600, seeds=seeds)
    _, found, others = estimates(2, strategy, rows=60, of=600, seeds=seeds)
    assert found.tolist() == expected.tolist()
    assert others.tolist() == variances.tolist()


def test_without_monitored_rows_nothing_is_estimated() -> None:
    budget = ps.Budget(rows=60, monitor=0)
    metrics = join_of(2, budget=budget).replay(tables(2, 600)).metrics
    assert metrics.lost > 0
    assert metrics.recall is None
    assert metrics.true_size is None


def test_where_nothing_is_lost_everything_is_known() -> None:
    budget = ps.Budget(rows=1200)
    metrics = join_of(2, budget=budget).replay(tables(2, 600)).metrics
    assert metrics.recall == Estimate(1.0, 1.0, 1.0)
    assert metrics.true_size == Estimate(*[metrics.emitted] * 3)


def test_the_estimates_of_batches_add_up_to_that_of_the_whole() -> None:
    data = tables(2, 600)
    whole = join_of(2, budget=ps.Budget(rows=60, monitor=0.3), seed=4, align="off")
    halves = {name: [table.slice(0, 300), table.slice(300)] for name, table in data.items()}
    first = whole.replay({name: parts[:1] for name, parts in halves.items()}).metrics
    both = whole.replay(halves).metrics
    assert first.batch_estimated == first.estimated
    assert both.batch_estimated == pytest.approx(both.estimated - first.estimated)
    assert both.batch_emitted == both.emitted - first.emitted
    assert both.batch_recall is not None
    assert both.batch_recall.low <= both.batch_recall.value <= both.batch_recall.high

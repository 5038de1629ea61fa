from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest

import penstock as ps
from penstock.testing import age_model, market
from penstock.yardsticks import Matches, find_matches, memory_flow, offline_optima, offline_optimum
from tests.yardsticks.naive_optimum import naive_optimum

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]

AGE_JOIN = ps.Join(
    streams={"s1": ps.Stream(time="time", window=500), "s2": ps.Stream(time="time", window=0)},
    on=ps.Equal("id"),
)


def tiny(seed: int) -> tuple[Matches, np.random.Generator]:
    """A few tuples, some in one moment, and some pairs of them that join."""
    draw = np.random.default_rng(seed)
    first, second = draw.integers(1, 6, 2)
    # Even moments are of the first stream, odd ones of the second, as no moment is of both.
    places = np.append(2 * draw.integers(0, 6, first), 2 * draw.integers(0, 6, second) + 1)
    arrived = np.unique(places, return_inverse=True)[1].astype(np.int64)
    left, right = np.nonzero(draw.random((first, second)) < draw.uniform(0.2, 0.9))
    right += first
    earlier = arrived[left] < arrived[right]
    waiting, probing = np.where(earlier, left, right), np.where(earlier, right, left)
    return Matches(arrived, waiting, probing, int(first)), draw


def naive(matches: Matches, rows: int | tuple[int, int], weights: Floats) -> float:
    all_rows = range(matches.arrived.size)
    limits = (
        [(frozenset(all_rows), rows)]
        if isinstance(rows, int)
        else [
            (frozenset(all_rows[: matches.first_rows]), rows[0]),
            (frozenset(all_rows[matches.first_rows :]), rows[1]),
        ]
    )
    results = list(zip(matches.waiting.tolist(), matches.probing.tolist(), weights, strict=True))
    return naive_optimum(matches.arrived.tolist(), results, limits)


def held_after_each_moment(matches: Matches, kept_until: Indices) -> list[int]:
    moments = range(int(matches.arrived.max()) + 1)
    return [int(((matches.arrived <= at) & (kept_until > at)).sum()) for at in moments]


@pytest.mark.parametrize("seed", range(150))
def test_it_is_what_trying_everything_gives(seed: int) -> None:
    matches, draw = tiny(seed)
    rows = int(draw.integers(1, 4))
    best = offline_optimum(matches, rows)
    assert best.weight == best.results == naive(matches, rows, np.ones(len(matches)))
    assert max(held_after_each_moment(matches, best.kept_until)) <= rows


@pytest.mark.parametrize("seed", range(150))
def test_so_it_is_with_weights(seed: int) -> None:
    matches, draw = tiny(seed)
    rows = int(draw.integers(1, 4))
    weights = draw.choice([0.0, 0.25, 1.0, 7.5], len(matches))
    best = offline_optimum(matches, rows, weights)
    assert best.weight == naive(matches, rows, weights)
    assert best.exact_weight == weights.sum()
    assert max(held_after_each_moment(matches, best.kept_until)) <= rows


@pytest.mark.parametrize("seed", range(50))
def test_so_it_is_with_memory_for_each_stream(seed: int) -> None:
    matches, draw = tiny(seed)
    rows = (int(draw.integers(0, 3)), int(draw.integers(0, 3)))
    assert offline_optimum(matches, rows).weight == naive(matches, rows, np.ones(len(matches)))


def test_the_solution_is_whole_for_either_method(monkeypatch: pytest.MonkeyPatch) -> None:
    data = age_model(curve="BELL", duration=1_500.0, seed=3)
    matches = find_matches(AGE_JOIN, {"s1": data.s1, "s2": data.s2})
    found = []
    for method in ("highs-ipm", "highs-ds"):
        monkeypatch.setattr(memory_flow, "_METHODS", (method,))
        found.append(offline_optimum(matches, 50).results)
    assert found[0] == found[1]


def test_more_memory_gives_more_and_enough_gives_all() -> None:
    data = age_model(curve="INC", duration=2_000.0, seed=5)
    tables = {"s1": data.s1, "s2": data.s2}
    exact = AGE_JOIN.replay(tables).metrics
    optima = offline_optima(AGE_JOIN, tables, [0, 1, 20, 100, 300, exact.held_most])
    recalls = [optimum.recall for optimum in optima]
    assert recalls[0] == 0
    assert recalls[-1] == 1
    assert recalls == sorted(recalls)
    assert optima[-1].results == exact.emitted
    # Each further row helps no more than the one before it did.
    gains = np.diff([optimum.weight for optimum in optima]) / np.diff([0, 1, 20, 100, 300, 1e4])
    assert (np.diff(gains) <= 1e-9).all()


def test_memory_that_is_divided_is_never_better() -> None:
    join, tables = tied(windows=(40, 25), seed=2)
    shared, *divided = offline_optima(join, tables, [30, (10, 20), (15, 15), (20, 10)])
    assert all(optimum.results <= shared.results for optimum in divided)
    assert all(optimum.results > 0 for optimum in divided)


def tied(windows: tuple[int, int], seed: int) -> tuple[ps.Join, dict[str, pa.Table]]:
    """Both streams wait for each other; many rows have the same time."""
    draw = np.random.default_rng(seed)
    tables = {
        name: pa.table(
            {
                "t": np.sort(draw.integers(0, 120, 250)),
                "k": draw.geometric(0.15, 250),
                "n": draw.integers(0, 99, 250),
            }
        )
        for name in ("a", "b")
    }
    streams = {
        name: ps.Stream(time="t", window=window)
        for name, window in zip(("a", "b"), windows, strict=True)
    }
    return ps.Join(streams=streams, on=ps.Equal("k")), tables


@pytest.mark.parametrize("strategy", ["fifo", "random"])
@pytest.mark.parametrize("rows", [4, 15, 60, 200])
@pytest.mark.parametrize("windows", [(40, 25), (100, 0), (0, 0)])
def test_no_strategy_does_better(strategy: str, rows: int, windows: tuple[int, int]) -> None:
    join, tables = tied(windows, seed=rows)
    shed = ps.Join(
        streams=join.streams,
        on=join.on,
        goal=ps.MaxSubset(strategy=strategy),
        budget=ps.Budget(rows=rows),
    ).replay(tables)
    best = offline_optima(join, tables, [rows])[0]
    assert shed.metrics.emitted <= best.results
    if rows == 200:
        assert best.results == join.replay(tables).metrics.emitted


def test_results_can_be_weighed_by_their_rows() -> None:
    data = market(auctions=300, seed=4)
    join = ps.Join(
        streams={
            "auctions": ps.Stream(time="opened_at", window="7 days"),
            "bids": ps.Stream(time="at", window="0 seconds"),
        },
        on=ps.Equal(auctions="id", bids="auction_id"),
    )
    tables = {"auctions": data.auctions, "bids": data.bids}
    price = data.bids["price"].cast(pa.float64()).to_numpy()
    by_count, by_price = (
        offline_optima(join, tables, [10], weigh)[0]
        for weigh in (None, lambda matches: price[matches.rows[1]])
    )
    bids = join.replay(tables).result["bids"].combine_chunks()
    exact = bids.field("price").cast(pa.float64()).to_numpy()
    assert by_price.exact_weight == pytest.approx(exact.sum())
    assert by_price.results <= by_count.results
    matches = find_matches(join, tables)
    found = matches.completed <= by_count.kept_until[matches.waiting]
    assert by_price.weight >= price[matches.rows[1][found]].sum()


def test_nothing_to_find_is_all_found() -> None:
    empty = np.zeros(0, np.int64)
    best = offline_optimum(Matches(np.arange(3), empty, empty, 1), 2)
    assert (best.results, best.weight, best.recall) == (0, 0.0, 1.0)
    assert best.kept_until.tolist() == [-1, -1, -1]


@pytest.mark.parametrize("rows", [-1, 1.5, True, "2", (1, 2, 3), (1, -1)])
def test_memory_is_a_number_of_rows(rows: int) -> None:
    words = "memory_rows must be a whole number of zero or more, or two of them; got .*; give"
    with pytest.raises(ps.SpecificationError, match=words):
        offline_optimum(tiny(1)[0], rows)


@pytest.mark.parametrize(("spare", "wrong"), [(1, 1.0), (0, -1.0), (0, np.nan)])
def test_weights_are_one_for_each_result_and_not_negative(spare: int, wrong: float) -> None:
    matches = tiny(1)[0]
    weights = np.full(len(matches) + spare, wrong)
    words = f"weights must be {len(matches)} numbers, one for each result, finite and none negative"
    with pytest.raises(ps.SpecificationError, match=words):
        offline_optimum(matches, 2, weights)


def test_a_solver_that_gives_up_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    class GivenUp:
        status, message = 1, "time is up"

    monkeypatch.setattr(memory_flow, "linprog", lambda *_, **__: GivenUp)
    data = age_model(duration=300.0, seed=3)
    with pytest.raises(RuntimeError, match=r"no whole solution .*: time is up"):
        offline_optima(AGE_JOIN, {"s1": data.s1, "s2": data.s2}, [5])

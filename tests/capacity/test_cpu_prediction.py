"""Predictions for a share of the processor: by formula, against counted work, against replays."""

from __future__ import annotations

import copy
import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import penstock as ps
from penstock.capacity import CpuPrediction, StreamStatistics
from penstock.capacity.prediction import Prediction
from penstock.capacity.value_groups import ValueGroups, group_values
from penstock.capacity.work_models import BY_LOT, BY_VALUE
from penstock.statistics.age_curve import AgeCurve
from penstock.testing import lagged_streams
from tests.capacity.support import frequency_join, stream

Floats = npt.NDArray[np.float64]

NAMES = (*BY_LOT, *BY_VALUE)
COSTS = ps.Costs(insert=0.001, result=0.0002)
RATES, WINDOWS = (40.0, 60.0), (3.0, 5.0)


def zipf(values: int = 100) -> Floats:
    weights = 1.0 / np.arange(1, values + 1)
    shares: Floats = weights / weights.sum()
    return shares


def known(correlation: str) -> ps.Statistics:
    """The setting of `tests/statistics/test_work_output.py`, as statistics."""
    left = zipf()
    right = {"direct": left, "inverse": left[::-1]}[correlation]
    pairs = float((left * right).sum())
    streams = {}
    for name, own, partner, s in (("l", left, right, 0), ("r", right, left, 1)):
        curve = AgeCurve([RATES[1 - s] * WINDOWS[s] * pairs])
        streams[name] = StreamStatistics(
            rate=RATES[s], window=WINDOWS[s], curve=curve, own=own, partner=partner
        )
    values = ValueGroups(np.stack([left, right]), left * right / pairs)
    return ps.Statistics(streams=streams, values=values)


def two(
    correlation: str = "direct", share: float = 0.4, costs: ps.Costs = COSTS, shards: int = 1
) -> CpuPrediction:
    return CpuPrediction(known(correlation), share, costs, NAMES, "by-partner", shards)


@pytest.mark.parametrize(
    ("correlation", "part", "expected"),
    [
        ("direct", 0.4, (0.33, 0.14, 0.40, 0.50, 0.50)),
        ("direct", 0.8, (0.77, 0.71, 0.80, 0.93, 0.93)),
        ("inverse", 0.2, (0.05, 0.00, 0.21, 0.24, 0.52)),
        ("inverse", 0.6, (0.41, 0.00, 0.62, 0.66, 0.78)),
    ],
)
def test_the_formulas_of_the_paper(
    correlation: str, part: float, expected: tuple[float, ...]
) -> None:
    full = two(correlation).full_share
    found = two(correlation, share=part * full).recall
    assert list(found) == list(NAMES)
    assert [round(recall, 2) for recall in found.values()] == list(expected)


def test_arrivals_cost_something_whatever_becomes_of_them() -> None:
    dear = replace(COSTS, arrival=0.002)
    free = two(share=0.2)
    found = two(share=0.4, costs=dear)
    assert found.arrivals_share == pytest.approx(0.2)
    assert found.full_share == pytest.approx(free.full_share + 0.2)
    assert found.recall == pytest.approx(free.recall)
    assert set(two(share=0.2, costs=dear).recall.values()) == {0.0}


def test_comparisons_count_with_the_results_that_they_find() -> None:
    of = replace(known("direct"), compared=3.0)
    dear = CpuPrediction(of, 0.1, ps.Costs(insert=0.001, compare=0.0001), NAMES)
    same = CpuPrediction(of, 0.1, ps.Costs(insert=0.001, result=0.0003), NAMES)
    assert dear.full_share == pytest.approx(same.full_share)
    for name in BY_LOT:
        assert dear.recall[name] == pytest.approx(same.recall[name])


@given(
    st.sampled_from(["direct", "inverse"]),
    st.sampled_from(NAMES),
    st.floats(0.01, 1.0),
    st.integers(1, 4),
)
def test_share_for_is_the_inverse_of_recall(
    correlation: str, name: str, recall: float, shards: int
) -> None:
    found = two(correlation, shards=shards)
    share = found.share_for(recall, name)
    assert 0 < share <= found.full_share
    assert replace(found, share=share).recall[name] >= recall - 1e-6
    assert replace(found, share=0.999 * share).recall[name] < recall


def test_the_share_of_the_strategy_in_use_is_the_default() -> None:
    found = two("inverse")
    assert found.share_for(0.8) == found.share_for(0.8, "by-partner")
    assert found.share_for(0.8) < found.share_for(0.8, "probe-no-insert")
    assert found.share_for(1.0) == pytest.approx(found.full_share)


def test_work_is_divided_over_shards() -> None:
    one, four = two(share=0.1), two(share=0.025, shards=4)
    assert four.full_share == pytest.approx(one.full_share / 4)
    assert four.recall == pytest.approx(one.recall)
    assert repr(four).startswith("<CpuPrediction for 2.5% of a core in each of 4 shards: coin-flip")


def test_how_many_shards_it_takes() -> None:
    heavy = two(costs=COSTS.times(10.0))
    assert heavy.full_share == pytest.approx(3.33, abs=0.01)
    assert heavy.shards_for() == 4
    assert heavy.shards_for(0.5) == 7
    assert two().shards_for() == 1
    # Two thirds of the results are of one value, which one shard has all of.
    skewed = replace(heavy, statistics=replace(heavy.statistics, hottest=2 / 3))
    assert skewed.shards_for() is None


def test_the_curve_runs_from_nothing_to_everything() -> None:
    found = two("inverse")
    curve = found.curve(11)
    assert curve.shares[[0, -1]].tolist() == [0.0, found.full_share]
    for name, recall in curve.recall.items():
        assert recall[0] == 0
        assert recall[-1] == 1
        assert (np.diff(recall) >= -1e-9).all(), name


def three(share: float, costs: ps.Costs) -> CpuPrediction:
    each = stream([2])
    of = ps.Statistics(streams={"a": each, "b": each, "c": each}, compared=1.5)
    return CpuPrediction(of, share, costs)


def test_three_streams_by_lot() -> None:
    """Three rows and three results in a unit of time, each with two rows that waited."""
    inserts = ps.Costs(insert=0.1)
    assert three(0.1, inserts).full_share == pytest.approx(0.3)
    found = three(0.15, inserts).recall
    assert found["probe-no-insert"] == pytest.approx(0.25)
    assert found["coin-flip"] == pytest.approx(0.125)
    assert found["insert-no-probe"] == 0.0
    results = ps.Costs(result=0.1)
    for recall in three(0.15, results).recall.values():
        assert recall == pytest.approx(0.5)
    assert three(0.15, ps.Costs(compare=0.1)).full_share == pytest.approx(0.45)
    assert three(0.15, results).share_for(0.5, "probe-no-insert") == pytest.approx(0.15)


def test_values_are_grouped_by_what_they_gave_before() -> None:
    lasting = np.array([0.7, 0.2, 0.1])
    groups = group_values([1.0, 1.0], [lasting, lasting], [lasting, lasting])
    assert groups.own.tolist() == [lasting.tolist(), lasting.tolist()]
    assert groups.results == pytest.approx(lasting**2 / (lasting**2).sum())
    # What was frequent is rare now: nothing is foretold.
    groups = group_values([1.0, 1.0], [lasting, lasting], [lasting[::-1], lasting[::-1]])
    assert groups.own.tolist() == [[pytest.approx(1.0)], [pytest.approx(1.0)]]
    # No value comes in both streams.
    groups = group_values([1.0, 1.0], [np.eye(2)[0], np.eye(2)[1]], [np.eye(2)[0], np.eye(2)[1]])
    assert groups.results.sum() == pytest.approx(1.0)


def sample(seed: int, duration: float, correlation: str = "inverse") -> dict[str, pa.Table]:
    draws = np.random.default_rng(seed)
    shares = {"l": zipf(), "r": zipf()[::-1] if correlation == "inverse" else zipf()}
    return {
        name: pa.table(
            {
                "t": np.sort(draws.uniform(0, duration, int(rate * duration))),
                "k": draws.choice(100, size=int(rate * duration), p=shares[name]),
            }
        )
        for name, rate in zip("lr", RATES, strict=True)
    }


EXACT = ps.Join(
    streams={n: ps.Stream(time="t", window=w) for n, w in zip("lr", WINDOWS, strict=True)},
    on=ps.Equal("k"),
)
SAMPLE = sample(1, 150.0)


def limited(cpu: float, strategy: str | None = None, **more: int) -> ps.Join:
    budget = ps.Budget(cpu=cpu, costs=COSTS, **more)
    return replace(EXACT, budget=budget, goal=ps.MaxSubset(strategy=strategy))


@pytest.fixture(scope="module")
def measured() -> ps.Statistics:
    return EXACT.measure(SAMPLE)


def test_nothing_is_lost_with_the_work_that_the_exact_join_counts(measured: ps.Statistics) -> None:
    counted = EXACT.replay(SAMPLE).metrics
    work = COSTS.of(
        arrivals=sum(table.num_rows for table in SAMPLE.values()),
        inserted=counted.inserted,
        compared=counted.compared,
        results=counted.emitted,
    )
    found = limited(0.5).predict(measured).cpu
    assert found is not None
    # Less was counted: the first window was empty when it began.
    assert found.full_share == pytest.approx(work / 150.0, rel=0.02)
    assert measured.compared == 1.0


@pytest.mark.parametrize(
    ("strategy", "within"),
    [("coin-flip", 0.04), ("probe-no-insert", 0.04), ("by-partner", 0.08)],
)
def test_the_recall_of_a_replay_is_as_predicted(
    strategy: str, within: float, measured: ps.Statistics
) -> None:
    """Another sample of the same streams; by-partner has to learn the keys' frequencies first."""
    run = sample(2, 150.0)
    join = limited(0.06, strategy)
    found = join.predict(measured).cpu
    true = join.replay(run).metrics.emitted / EXACT.replay(run).metrics.emitted
    assert found is not None
    assert found.expected == pytest.approx(true, abs=within)


def test_the_strategy_of_the_goal_is_the_one_that_is_expected(measured: ps.Statistics) -> None:
    for strategy, used in (
        (None, "by-partner"),
        ("coin-flip", "coin-flip"),
        (ps.strategies.ProbeNoInsert(), "probe-no-insert"),
        ({"cpu": "max-subset"}, "max-subset"),
    ):
        goal = ps.MaxSubset(strategy=strategy)
        found = replace(limited(0.05), goal=goal).predict(measured).cpu
        assert found is not None
        assert found.strategy == used
        assert found.expected == found.recall[used]


def test_with_only_a_share_of_the_processor_recall_is_that_of_its_strategies(
    measured: ps.Statistics,
) -> None:
    found = limited(0.05).predict(measured)
    assert found.cpu is not None
    assert found.recall == found.cpu.recall
    assert found.best == "by-partner"
    assert found.lower_recall == found.cpu.expected
    assert found.division == {}
    assert repr(found).startswith("<Prediction for 5% of a core: coin-flip")
    assert found.rows_for(0.5) > 0


def test_with_both_limits_the_lower_guess_is_the_product(measured: ps.Statistics) -> None:
    found = limited(0.05, rows=100).predict(measured)
    assert found.cpu is not None
    assert found.lower_recall == pytest.approx(max(found.recall.values()) * found.cpu.expected)
    assert "age" in found.recall
    assert "; for 5% of a core: coin-flip" in repr(found)
    assert Prediction(measured, None).lower_recall == 1.0


def test_without_keys_values_are_those_of_rows() -> None:
    draws = np.random.default_rng(3)
    rows = {
        name: pa.table({"time": np.arange(600.0), "x": draws.normal(size=600)})
        for name in ("s1", "s2")
    }
    join = replace(
        frequency_join(window_2=50.0),
        on=ps.Compare("<", s1="x", s2="x"),
        budget=ps.Budget(cpu=0.1, costs=ps.Costs(insert=0.001, compare=0.001)),
    )
    statistics = join.measure(rows)
    assert statistics.compared == pytest.approx(2.0, rel=0.1)
    assert statistics.values is None
    found = join.predict(statistics).cpu
    assert found is not None
    assert found.names == (*BY_LOT, "by-partner")
    assert found.recall["by-partner"] > found.recall["probe-no-insert"] + 0.05


def clocked(tables: dict[str, pa.Table]) -> dict[str, pa.Table]:
    """The same rows with timestamps, a second for each unit of time."""
    return {
        name: table.set_column(
            0,
            "t",
            pa.array((table["t"].to_numpy() * 1e6).astype(np.int64)).cast(pa.timestamp("us")),
        )
        for name, table in tables.items()
    }


def test_costs_are_in_seconds_where_times_are_timestamps(measured: ps.Statistics) -> None:
    windows = zip("lr", WINDOWS, strict=True)
    streams = {n: ps.Stream(time="t", window=f"{w:.0f} seconds") for n, w in windows}
    join = ps.Join(streams=streams, on=ps.Equal("k"), budget=ps.Budget(cpu=0.05, costs=COSTS))
    clock = join.measure(clocked(SAMPLE))
    found, numbers = join.predict(clock).cpu, limited(0.05).predict(measured).cpu
    assert found is not None
    assert numbers is not None
    assert found.full_share == pytest.approx(numbers.full_share, rel=1e-3)
    usual = replace(join, budget=ps.Budget(cpu=0.05)).predict(clock).cpu
    assert usual is not None
    assert usual.costs == ps.Costs.usual()


def test_costs_are_needed_where_times_are_numbers(measured: ps.Statistics) -> None:
    words = "costs of Budget must be given where times are numbers; got None; add costs=penstock"
    with pytest.raises(ps.SpecificationError, match=words):
        replace(EXACT, budget=ps.Budget(cpu=0.05)).predict(measured)


@pytest.mark.parametrize("shards", [0, -1, 1.5, "2", None])
def test_shards_are_a_whole_number(shards: object, measured: ps.Statistics) -> None:
    with pytest.raises(ps.SpecificationError, match="shards must be a whole number of 1 or more"):
        limited(0.05).predict(measured, shards)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("recall", "strategy", "words"),
    [
        (0, None, "recall must be above 0 and at most 1; got 0; write 0.9"),
        ("90%", None, "recall must be above 0 and at most 1; got '90%'"),
        (0.5, "coinflip", 'strategy must be one of "coin-flip", .*; did you mean "coin-flip"'),
        (0.5, "age", "strategy must be one of .*; got 'age'; leave it out for the one"),
    ],
)
def test_a_wish_that_is_none_is_refused(recall: object, strategy: object, words: str) -> None:
    with pytest.raises(ps.SpecificationError, match=words):
        two().share_for(recall, strategy)  # type: ignore[arg-type]


def test_a_curve_has_points() -> None:
    with pytest.raises(ps.SpecificationError, match="points must be a whole number of 2 or more"):
        two().curve(1)


def test_predictions_can_be_pickled_copied_and_read() -> None:
    found = two()
    for again in (pickle.loads(pickle.dumps(found)), copy.deepcopy(found)):  # noqa: S301 -- ours
        assert again.recall == found.recall
        assert repr(again) == repr(found)
    assert repr(found).endswith("; the exact join takes 33.3%>")


def test_measuring_ignores_the_goal_and_the_budget(measured: ps.Statistics) -> None:
    again = limited(0.05, "coin-flip").measure(SAMPLE)
    assert again.results == measured.results


class TestHarvesting:
    """Vectors of one number, the second stream's 5 of 20 before the first's: all are compared."""

    @staticmethod
    def join() -> tuple[ps.Join, dict[str, pa.Table]]:
        made = lagged_streams(
            rate=15.0, duration=100.0, lags=(0.0, 5.0), deviations=(20.0, 20.0), seed=1
        )
        tables = {
            name: pa.table(
                {
                    "t": table["time"],
                    "v": pa.FixedSizeListArray.from_arrays(table["value"].combine_chunks(), 1),
                }
            )
            for name, table in made.tables.items()
        }
        join = ps.Join(
            streams={name: ps.Stream(time="t", window=20.0) for name in tables},
            on=ps.Similar(5.0, s1="v", s2="v"),
        )
        return join, tables

    def test_the_forecast_is_that_of_the_strategy_that_is_used_and_near_a_replay(self) -> None:
        join, tables = self.join()
        exact = join.replay(tables).metrics
        statistics = join.measure(tables)
        costs = ps.Costs(compare=100.0 / (0.2 * exact.compared))
        limited = replace(join, budget=ps.Budget(cpu=1.0, costs=costs))
        expected = limited.predict(statistics).cpu
        assert expected is not None
        assert expected.strategy == "by-cost"
        assert expected.expected == expected.recall["grub"]
        # By lot a fifth of the work finds about a fifth.
        assert expected.recall["random-drop"] == pytest.approx(0.2, abs=0.03)
        found = limited.replay(tables).metrics.emitted / exact.emitted
        assert expected.expected > 0.75
        assert found == pytest.approx(expected.expected, abs=0.12)

    def test_with_an_index_it_is_there_if_it_is_named(self) -> None:
        join, tables = self.join()
        on = ps.Within(5.0, **dict.fromkeys(tables, "v"))
        flat = {
            name: table.set_column(1, "v", table["v"].combine_chunks().flatten())
            for name, table in tables.items()
        }
        budget = ps.Budget(cpu=0.5, costs=ps.Costs(compare=0.001))
        goal = ps.MaxSubset(strategy="grub")
        named = replace(join, on=on, goal=goal, budget=budget)
        statistics = named.measure(flat)
        expected = named.predict(statistics).cpu
        assert expected is not None
        assert expected.strategy == "grub"
        unnamed = replace(named, goal=ps.MaxSubset())
        assert "grub" not in unnamed.predict(statistics).recall

    def test_where_it_was_not_measured_where_partners_are_others_are_predicted(self) -> None:
        join, tables = self.join()
        statistics = replace(join.measure(tables), directions=None)
        budget = ps.Budget(cpu=0.5, costs=ps.Costs(compare=0.001))
        expected = replace(join, budget=budget).predict(statistics).cpu
        assert expected is not None
        assert expected.strategy == "by-partner"
        assert "grub" not in expected.recall

    def test_of_three_streams_without_lags_it_is_the_best_lot(self) -> None:
        """Vectors that do not depend on time: nothing is gained by parts of windows."""
        made = lagged_streams(
            rate=12.0, duration=60.0, lags=(0.0,) * 3, deviations=(10_000.0,) * 3, seed=1
        )
        tables = {
            name: pa.table(
                {
                    "t": table["time"],
                    "v": pa.FixedSizeListArray.from_arrays(table["value"].combine_chunks(), 1),
                }
            )
            for name, table in made.tables.items()
        }
        columns: dict[str, Any] = dict.fromkeys(tables, "v")
        join = ps.Join(
            streams={name: ps.Stream(time="t", window=10.0) for name in tables},
            on=ps.Similar(20.0, **columns),
        )
        exact = join.replay(tables).metrics
        costs = ps.Costs(insert=6.0 / exact.inserted, compare=54.0 / exact.compared)
        limited = replace(join, budget=ps.Budget(cpu=0.3, costs=costs, burst=2.0))
        expected = limited.predict(join.measure(tables)).cpu
        assert expected is not None
        assert expected.strategy == "by-cost"
        recall = expected.recall
        assert recall["random-drop"] > max(recall["grub"], recall["probe-no-insert"])
        assert expected.expected == recall["by-cost"] == recall["random-drop"]
        found = limited.replay(tables).metrics.emitted / exact.emitted
        assert found == pytest.approx(expected.expected, abs=0.1)


class TestBestLot:
    """Three streams with values that are near: the default sheds as the better of two."""

    @staticmethod
    def forecasts() -> tuple[CpuPrediction, CpuPrediction, float]:
        """Return forecasts if comparisons cost, and if insertions do; and a replay's recall."""
        made = lagged_streams(
            rate=10.0, duration=60.0, lags=(0.0, 0.0, 0.0), deviations=(20.0, 20.0, 20.0), seed=1
        )
        join = ps.Join(
            streams={name: ps.Stream(time="time", window=10.0) for name in made.tables},
            on=ps.Within(30.0, **dict.fromkeys(made.tables, "value")),
        )
        exact = join.replay(made.tables).metrics
        statistics = join.measure(made.tables)
        budgets = [
            ps.Budget(cpu=1.0, costs=costs, burst=2.0)
            for costs in (
                ps.Costs(compare=60.0 / (0.3 * exact.compared)),
                ps.Costs(insert=60.0 / (0.3 * exact.inserted)),
            )
        ]
        limited = replace(join, budget=budgets[0])
        found = limited.replay(made.tables).metrics.emitted / exact.emitted
        one, other = (replace(join, budget=each).predict(statistics).cpu for each in budgets)
        assert one is not None
        assert other is not None
        return one, other, found

    def test_the_forecast_is_the_better_of_the_two_and_near_a_replay(self) -> None:
        comparing, inserting, found = self.forecasts()
        for each in (comparing, inserting):
            assert each.strategy == "best-lot"
            better = max(each.recall["probe-no-insert"], each.recall["random-drop"])
            assert each.expected == each.recall["best-lot"] == better
            assert "grub" not in each.recall
        assert comparing.recall["random-drop"] > comparing.recall["probe-no-insert"]
        assert inserting.recall["probe-no-insert"] > inserting.recall["random-drop"]
        assert found == pytest.approx(comparing.expected, abs=0.1)

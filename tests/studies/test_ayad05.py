"""The studies of CPU: small grids of each, and the parts that they are made of."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import matplotlib.image
import numpy as np
import pytest

from penstock.statistics.work_output import probe_no_insert
from penstock.studies import STUDIES
from penstock.studies.ayad05_semantic import CrossoverRow, crossover
from penstock.studies.run import measure_here
from penstock.studies.statistics_cost import CostRow
from penstock.studies.work_contenders import BY_VALUE, ONLINE
from penstock.studies.work_points import WorkPoint, WorkRow, by_formula
from penstock.studies.work_samples import ENGINE, SAMPLERS, draw, results_of
from penstock.studies.work_scenario import (
    CORRELATIONS,
    RATES,
    WINDOWS,
    Correlation,
    WorkScenario,
    exact_times,
    streams_of,
)
from penstock.yardsticks import find_matches

if TYPE_CHECKING:
    from pathlib import Path

    from penstock.studies.ayad05_offline import OfflineRow
    from penstock.studies.ayad05_semantic import SemanticRow
    from penstock.studies.ayad05_uniform import SampleRow


@pytest.fixture(scope="module")
def offline() -> list[OfflineRow]:
    return measure_here(STUDIES["ayad05-offline"], quick=True)


@pytest.fixture(scope="module")
def by_lot() -> list[WorkRow]:
    return measure_here(STUDIES["ayad05-random"], quick=True)


@pytest.fixture(scope="module")
def by_value() -> list[SemanticRow]:
    return measure_here(STUDIES["ayad05-semantic"], quick=True)


@pytest.fixture(scope="module")
def samples() -> list[SampleRow]:
    return measure_here(STUDIES["ayad05-uniform"], quick=True)


class TestStreams:
    @pytest.mark.parametrize("correlation", CORRELATIONS)
    def test_output_and_work_are_those_of_the_model(self, correlation: Correlation) -> None:
        scenario = WorkScenario(correlation, duration=200.0)
        results = np.count_nonzero(exact_times(scenario) >= scenario.measured_from)
        seconds = scenario.duration - scenario.measured_from
        assert results / seconds == pytest.approx(streams_of(scenario).model.full_output, rel=0.08)

    def test_regular_rows_of_a_value_come_at_equal_distances(self) -> None:
        table = streams_of(WorkScenario("direct", arrivals="regular")).tables["left"]
        times, keys = table["time"].to_numpy(), table["key"].to_numpy()
        assert (np.diff(times) >= 0).all()
        for value in (0, 3, 50):
            gaps = np.diff(times[keys == value])
            rate = WorkScenario("direct").model.rates[0, value]
            assert gaps == pytest.approx(np.full(gaps.size, 1 / rate))

    def test_scaled_streams_have_the_same_work(self) -> None:
        one, ten = (WorkScenario("none", scale=scale).model for scale in (1.0, 10.0))
        assert ten.rates.sum() == pytest.approx(10 * sum(RATES))
        assert ten.full_work == pytest.approx(one.full_work)

    def test_directly_correlated_values_are_frequent_in_both(self) -> None:
        direct, inverse, none = (
            WorkScenario(correlation).frequencies for correlation in ("direct", "inverse", "none")
        )
        assert (direct[0] == direct[1]).all()
        assert (inverse[0] == inverse[1][::-1]).all()
        assert np.sort(none[1])[::-1].tolist() == none[0].tolist()
        assert direct.prod(axis=0).sum() > none.prod(axis=0).sum() > inverse.prod(axis=0).sum()

    def test_the_join_has_the_windows_of_the_paper(self) -> None:
        streams = streams_of(WorkScenario("direct", duration=20.0))
        matches = find_matches(streams.join(), streams.tables)
        left, right = matches.rows
        ages = (
            streams.tables["right"]["time"].to_numpy()[right]
            - streams.tables["left"]["time"].to_numpy()[left]
        )
        assert -WINDOWS[1] <= ages.min() < -0.95 * WINDOWS[1]
        assert 0.95 * WINDOWS[0] < ages.max() <= WINDOWS[0]


class TestOffline:
    def test_the_optimum_is_above_the_heuristic(self, offline: list[OfflineRow]) -> None:
        found = {(row.streams, row.share, row.contender): row.recall for row in offline}
        proved = [(streams, share) for streams, share, name in found if name == "exact"]
        assert len(proved) == 6
        for key in proved:
            exact, induced = found[*key, "exact"], found[*key, "induced"]
            assert found[*key, "greedy"] <= exact + 1e-9
            assert 0.9 * exact <= induced <= exact + 1e-9

    def test_nothing_is_above_the_optimum_where_only_inserted_rows_pay(
        self, offline: list[OfflineRow]
    ) -> None:
        bounds = {
            (row.streams, row.share): row.recall
            for row in offline
            if row.contender == "inserted-pay"
        }
        for row in offline:
            assert row.recall <= bounds[row.streams, row.share] + 1e-9

    def test_online_exceeds_the_papers_optimum_where_partners_are_rare(
        self, offline: list[OfflineRow]
    ) -> None:
        """Definition 5 charges rows that only probe, so it is no upper bound."""
        found = {
            row.contender: row.recall
            for row in offline
            if (row.streams, row.share) == ("none, 0.4 x rates", 0.4)
        }
        assert found["by-partner"] > found["exact"]

    def test_all_do_the_work_that_they_may(self, offline: list[OfflineRow]) -> None:
        for row in offline:
            assert row.work <= 1 + 1e-6
            if row.contender == "probe-no-insert":
                assert row.work == pytest.approx(1.0, abs=0.01)


class TestRandom:
    def test_probe_no_insert_is_best_and_insert_no_probe_worst(self, by_lot: list[WorkRow]) -> None:
        found = {(row.streams, row.share, row.contender): row.recall for row in by_lot}
        for streams in CORRELATIONS:
            for share in (0.4, 0.8):
                inp, cf, pni = (
                    found[streams, share, name]
                    for name in ("insert-no-probe", "coin-flip", "probe-no-insert")
                )
                assert inp < cf < pni

    def test_output_is_near_the_formulas(self, by_lot: list[WorkRow]) -> None:
        for row in by_lot:
            assert row.recall == pytest.approx(row.formula, rel=0.12, abs=0.05)

    def test_work_is_what_is_allowed(self, by_lot: list[WorkRow]) -> None:
        for row in by_lot:
            # Windows begin empty, so that there is less to do at first.
            assert 0.9 < row.work <= 1.02

    def test_formulas_with_direct_correlation_at_40_percent(self) -> None:
        scenario = WorkScenario("direct", duration=4_000.0)
        found = [
            by_formula(WorkPoint(scenario, name, 0.4))
            for name in ("insert-no-probe", "coin-flip", "probe-no-insert", "max-subset")
        ]
        assert found == pytest.approx([0.14, 0.33, 0.40, 0.50], abs=0.01)

    def test_statistics_that_cost_everything_leave_nothing(self) -> None:
        scenario = WorkScenario("inverse", duration=100.0)
        costly = by_formula(WorkPoint(scenario, "by-partner", 0.2, arrival=0.1))
        assert 0.0 < costly < by_formula(WorkPoint(scenario, "by-partner", 0.2))
        assert by_formula(WorkPoint(scenario, "by-partner", 0.2, arrival=1.0)) == 0.0


class TestSemantic:
    @pytest.mark.parametrize("correlation", CORRELATIONS)
    @pytest.mark.parametrize("name", BY_VALUE)
    def test_at_the_crossover_both_find_as_much(self, name: str, correlation: Correlation) -> None:
        model = WorkScenario(correlation).model
        capacity = 0.4 * model.full_work
        cost = crossover(model, 0.4, name)
        assert 0.0 < cost < 1.0
        left = capacity - cost * model.insert * model.rates.sum()
        found = model.output(ONLINE[name].steps(model, left))
        assert found == pytest.approx(model.output(probe_no_insert(model, capacity)))

    def test_uniform_values_are_not_worth_knowing(self) -> None:
        model = WorkScenario("direct", zipf=0.0).model
        assert crossover(model, 0.4, "by-partner") == pytest.approx(0.0, abs=1e-6)

    def test_measured_output_is_near_the_formulas(self, by_value: list[SemanticRow]) -> None:
        measured = [row for row in by_value if isinstance(row, WorkRow)]
        assert {row.line for row in measured} == {*BY_VALUE, "probe-no-insert", "by-partner, 0.2"}
        for row in measured:
            # A run of 30 s learns little, and has few results.
            assert row.recall == pytest.approx(row.formula, rel=0.3)

    def test_by_partner_pays_for_more_than_max_subset(self, by_value: list[SemanticRow]) -> None:
        costs = {
            (row.correlation, row.zipf, row.contender): row.costs
            for row in by_value
            if isinstance(row, CrossoverRow)
        }
        for zipf in (0.5, 1.0):
            assert costs["inverse", zipf, "by-partner"] > costs["inverse", zipf, "max-subset"]

    def test_costs_are_measured(self, by_value: list[SemanticRow]) -> None:
        """The others are differences of two times: on a busy machine they may come out below 0."""
        (row,) = (row for row in by_value if isinstance(row, CostRow))
        assert row.rate == 10_000
        assert min(row.exact, row.arrival, row.result) > 0
        assert all(map(math.isfinite, (row.insert, row.by_partner, row.max_subset)))


class TestUniform:
    @pytest.mark.parametrize("correlation", CORRELATIONS)
    def test_pairs_are_the_results_of_the_exact_join(self, correlation: Correlation) -> None:
        scenario = WorkScenario(correlation, duration=30.0)
        results = results_of(scenario)
        assert results.times.tolist() == exact_times(scenario).tolist()
        keys = results.keys
        assert (keys[results.waiting] == keys[results.probing]).all()
        for row in results.waiting[:20]:
            own = results.ranks[results.waiting == row]
            assert own.tolist() == list(range(1, own.size + 1))

    @pytest.mark.parametrize(
        "name",
        [
            pytest.param(name, marks=[pytest.mark.slow] if name == ENGINE else [])
            for name in SAMPLERS
        ],
    )
    def test_work_is_what_is_allowed(self, name: str) -> None:
        """What is printed does less: of rows at random fewer than are foreseen find a match."""
        for correlation in CORRELATIONS:
            scenario = WorkScenario(correlation, duration=200.0)
            sample = draw(name, scenario, 0.3)
            allowed = 0.3 * streams_of(scenario).model.full_work * scenario.duration
            least = 0.7 if "printed" in name else 0.95
            assert least < sample.work / allowed < 1.03

    @pytest.mark.parametrize("name", ["coin-flip", "probe-no-insert", "given-probes"])
    def test_counts_are_right_on_average(self, name: str) -> None:
        truth = estimated = 0.0
        for seed in range(6):
            scenario = WorkScenario("none", duration=200.0, seed=seed)
            truth += results_of(scenario).times.size
            sample = draw(name, scenario, 0.4)
            estimated += float(sample.weights.sum())
        assert estimated == pytest.approx(truth, rel=0.06)

    def test_results_of_the_engines_sample_are_found_among_all(self) -> None:
        scenario = WorkScenario("direct", duration=30.0)
        results = results_of(scenario)
        sample = draw(ENGINE, scenario, 0.4)
        assert 0 < sample.chosen.size < results.times.size
        assert np.unique(sample.chosen).size == sample.chosen.size
        assert (np.diff(results.times[sample.chosen]) >= 0).all()
        estimate = float(sample.weights.sum())
        assert estimate == pytest.approx(results.times.size, rel=0.15)
        # With enough work all are in the sample, each for itself.
        whole = draw(ENGINE, scenario, 1.5)
        assert whole.chosen.tolist() == list(range(results.times.size))
        assert np.unique(whole.weight).tolist() == [1.0]

    def test_a_sample_that_is_given_matches_the_matches_is_uniform(self) -> None:
        scenario = WorkScenario("none", duration=300.0)
        results = results_of(scenario)
        sample = draw("given-results", scenario, 0.3)
        assert sample.weights.sum() == pytest.approx(results.times.size, rel=0.03)
        # Of frequent values no larger a share than of rare ones, early matches no more than late.
        taken = np.zeros(results.times.size, np.bool_)
        taken[sample.chosen] = True
        keys = results.keys[results.waiting]
        for some in (keys < 10, keys >= 40, results.ranks == 1, results.ranks > 5):
            assert taken[some].mean() == pytest.approx(1 / sample.weight, rel=0.1)

    def test_errors_fall_with_more_work_and_max_subset_is_biased(
        self, samples: list[SampleRow]
    ) -> None:
        found = {(row.streams, row.contender): row for row in samples}
        for correlation in CORRELATIONS:
            told = found[correlation, "given-results"]
            assert told.count[1] < told.count[0]
            assert told.found[1] > told.found[0]
            biased = found[correlation, "max-subset"]
            assert (biased.by_value > 3 * told.by_value).all()

    def test_what_is_printed_misses_results_of_rare_values(self, samples: list[SampleRow]) -> None:
        found = {(row.streams, row.contender): row for row in samples}
        assert found["inverse", "printed-results"].count.min() > 0.3
        assert found["inverse", "given-results"].count.max() < 0.1


_FIXTURES = {
    "ayad05-offline": "offline",
    "ayad05-random": "by_lot",
    "ayad05-semantic": "by_value",
    "ayad05-uniform": "samples",
}


@pytest.mark.parametrize("name", _FIXTURES)
def test_tables_and_pictures(name: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    rows = request.getfixturevalue(_FIXTURES[name])
    table = STUDIES[name].table(rows)
    assert table.rows
    assert all(len(row) == len(table.headings) for row in table.rows)
    assert len({row[:3] for row in table.rows}) == len(table.rows)
    STUDIES[name].draw(rows, tmp_path / "picture.png")
    image = matplotlib.image.imread(tmp_path / "picture.png")
    assert image.shape[1] == 1200
    assert 0.01 < (image[..., :3] < 0.9).any(axis=2).mean() < 0.5

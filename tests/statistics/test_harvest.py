"""Window harvesting: the model, greedy choices, frontiers and the optimum."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.errors import SpecificationError
from penstock.statistics.harvest_frontier import best_harvest
from penstock.statistics.harvest_greedy import Metric, Way, greedy
from penstock.statistics.harvest_model import HarvestModel, scans_of
from penstock.statistics.join_orders import join_orders
from penstock.statistics.lag_histogram import LagHistogram
from penstock.statistics.lag_scores import all_lag_scores
from penstock.studies.harvest_problems import KINDS, Kind, problem
from penstock.yardsticks.harvest_optimum import harvest_optimum
from tests.oracles.naive_harvest import best_output, cost_and_output, greedy_pick

if TYPE_CHECKING:
    from collections.abc import Sequence

METRICS: Sequence[Metric] = ("best-output", "best-output-per-cost", "best-delta")
WAYS: Sequence[Way] = ("forward", "reverse", "double-sided")

problems = st.builds(
    problem,
    st.sampled_from(KINDS),
    st.integers(0, 10_000),
    streams=st.integers(2, 4),
    count=st.integers(1, 8),
)
throttles = st.floats(0.001, 1.0)


def _fractions(model: HarvestModel, data: st.DataObject) -> np.ndarray:
    steps = model.table.steps
    taken = [data.draw(st.integers(0, int(n))) for n in steps.ravel()]
    return np.array(taken, np.float64).reshape(steps.shape) / steps


def best_of_all(model: HarvestModel, throttle: float) -> float:
    """Return the output of the best of all settings of three streams.

    Directions share nothing but the cost: each one's settings are looked at once.
    """
    steps = model.table.steps
    own = []
    for i in range(3):
        figures = [(0.0, 0.0)]
        for taken in product(*(range(1, n + 1) for n in steps[i])):
            fractions = np.zeros((3, 2))
            fractions[i] = np.array(taken) / steps[i]
            harvest = model.harvest(fractions)
            figures.append((harvest.cost, harvest.output))
        own.append(np.array(figures).T)
    costs, outputs = (
        own[0][k][:, None, None] + own[1][k][None, :, None] + own[2][k][None, None, :]
        for k in range(2)
    )
    return float(outputs[costs <= throttle * model.full_cost * (1 + 1e-9)].max())


class TestExamplesOfThePaper:
    def test_figure_3(self) -> None:
        """Direction 1 probes W_3 first, then W_2: sub-windows 4, 3, 5 and 3, 2."""
        scores = np.zeros((3, 3, 5))
        scores[0, 2] = [0.0, 0.0, 0.3, 0.5, 0.2]
        scores[0, 1] = [0.1, 0.3, 0.6, 0.0, 0.0]
        model = HarvestModel.of(
            rates=[10.0] * 3,
            windows=[10.0] * 3,
            length=2.0,
            selectivity=np.full((3, 3), 0.01),
            scores=scores,
            orders=[[2, 1], [0, 2], [0, 1]],
        )
        assert (model.counts == 5).all()
        assert (model.ranks[0, 0, :3] + 1).tolist() == [4, 3, 5]
        assert (model.ranks[0, 1, :2] + 1).tolist() == [3, 2]
        harvest = model.harvest(np.array([[0.6, 0.4], [0.0, 0.0], [0.0, 0.0]]))
        assert [place + 1 for place, _ in harvest.chosen(0, 0)] == [4, 3, 5]
        assert [place + 1 for place, _ in harvest.chosen(0, 1)] == [3, 2]
        assert all(part == 1.0 for j in (0, 1) for _, part in harvest.chosen(0, j))

    def test_figure_4(self) -> None:
        """S_2 is 4 s and S_3 is 5 s behind S_1: of the optimum at z = 0.5, R_3 probes all.

        The paper prints densities and selectivities as graphs only. Here densities fall evenly on
        both sides of the lag, and selectivities are such that the join orders are those it names.
        """
        lags = [LagHistogram(-10.0, 10.0, buckets=40) for _ in range(3)]
        lags[0].add(np.zeros(1))
        for histogram, lag in ((lags[1], 4.0), (lags[2], 5.0)):
            histogram.counts[:] = np.maximum(0.0, 10.0 - np.abs(histogram.middles - lag))
        scores = all_lag_scores(lags, length=2.0, counts=np.array([5, 5, 5]))
        between = np.array([[0.0, 0.002, 0.003], [0.002, 0.0, 0.001], [0.003, 0.001, 0.0]])
        assert (join_orders(between) + 1).tolist() == [[2, 3], [3, 1], [2, 1]]
        model = HarvestModel.of(
            rates=[300.0, 100.0, 150.0],
            windows=[10.0] * 3,
            length=2.0,
            # By direction: a row that comes before its partners matches few.
            selectivity=between * scores.sum(axis=2),
            scores=scores,
            orders=join_orders(between),
        )
        best = harvest_optimum(model, 0.5)
        assert best.fractions.tolist() == [[0.0, 0.0], [0.6, 0.8], [1.0, 1.0]]
        # Most S_3 rows match S_1 rows that are about 5 s older: the third sub-window.
        assert model.ranks[2, 1, 0] == 2

    @pytest.mark.parametrize("kind", KINDS)
    @pytest.mark.parametrize("metric", METRICS)
    def test_figure_5_line_by_line(self, kind: Kind, metric: Metric) -> None:
        for seed in range(5):
            model = problem(kind, seed, count=5)
            for throttle in (0.05, 0.3, 0.7):
                found = greedy(model, throttle, metric=metric)
                naive = greedy_pick(model, throttle, metric)
                assert found.output == pytest.approx(cost_and_output(model, naive)[1], rel=1e-6)
                assert found.fractions == pytest.approx(naive)


class TestModel:
    @given(problems, st.data())
    def test_cost_and_output_are_those_of_section_4_3(
        self, model: HarvestModel, data: st.DataObject
    ) -> None:
        fractions = _fractions(model, data)
        harvest = model.harvest(fractions)
        cost, output = cost_and_output(model, fractions)
        assert harvest.cost == pytest.approx(cost)
        assert harvest.output == pytest.approx(output)

    @given(problems, st.data())
    def test_cost_and_output_grow_with_each_fraction(
        self, model: HarvestModel, data: st.DataObject
    ) -> None:
        less = _fractions(model, data)
        more = np.maximum(less, np.array(data.draw(st.floats(0.0, 1.0))))
        one, other = model.harvest(less), model.harvest(more)
        assert one.cost <= other.cost * (1 + 1e-12)
        assert one.output <= other.output * (1 + 1e-12)

    def test_parts_of_a_sub_window_lie_between_whole_ones(self) -> None:
        model = problem("skewed", 3)
        fractions = np.full((3, 2), 0.35)
        low, middle, high = (model.yield_of(np.full((3, 2), share)) for share in (0.3, 0.35, 0.4))
        assert middle == pytest.approx((low + high) / 2.0)
        assert [part for _, part in model.harvest(fractions).chosen(0, 0)] == pytest.approx(
            [1.0, 1.0, 1.0, 0.5]
        )

    def test_without_scores_all_parts_are_alike(self) -> None:
        model = problem("flat", 1)
        unknown = replace(model, scores=np.zeros_like(model.scores))
        fractions = np.full((3, 2), 0.25)
        assert unknown.yield_of(fractions) == pytest.approx(fractions)

    def test_arrays_of_other_streams_are_refused(self) -> None:
        model = problem("flat", 1)
        with pytest.raises(SpecificationError, match="shape of windows must be"):
            replace(model, windows=np.ones(2))
        with pytest.raises(SpecificationError, match="two streams or more"):
            replace(model, rates=np.ones(1))


class TestGreedy:
    @pytest.mark.nojit
    @given(problems, throttles, st.sampled_from(METRICS), st.sampled_from(WAYS))
    def test_never_above_the_budget_nor_the_optimum(
        self, model: HarvestModel, throttle: float, metric: Metric, way: Way
    ) -> None:
        found = greedy(model, throttle, metric=metric, way=way)
        assert found.cost <= throttle * model.full_cost * (1 + 1e-6)
        assert found.output <= model.full_output * (1 + 1e-9)
        assert ((found.fractions >= 0.0) & (found.fractions <= 1.0)).all()

    @pytest.mark.parametrize("kind", KINDS)
    @pytest.mark.parametrize("way", WAYS)
    def test_all_of_the_cost_gives_all_of_the_output(self, kind: Kind, way: Way) -> None:
        for seed in range(10):
            model = problem(kind, seed)
            assert greedy(model, 1.0, way=way).output == pytest.approx(model.full_output)

    def test_double_sided_is_the_shorter_way(self) -> None:
        model = problem("uniform", 1)
        for throttle in (0.2, 0.5):
            double, forward = (greedy(model, throttle, way=w) for w in ("double-sided", "forward"))
            assert (double.fractions == forward.fractions).all()
        for throttle in (0.51, 0.9):
            double, reverse = (greedy(model, throttle, way=w) for w in ("double-sided", "reverse"))
            assert (double.fractions == reverse.fractions).all()

    def test_what_matches_nothing_is_left_out(self) -> None:
        model = problem("bells", 2)
        dead = model.selectivity.copy()
        dead[1] = 0.0
        found = greedy(replace(model, selectivity=dead), 0.5)
        assert (found.fractions[1] == 0.0).all()
        assert found.output > 0.0

    @pytest.mark.parametrize("throttle", [0.0, -1.0, 1.5, float("nan")])
    def test_a_throttle_outside_0_to_1_is_refused(self, throttle: float) -> None:
        model = problem("flat", 1)
        for choose in (greedy, best_harvest, harvest_optimum):
            with pytest.raises(SpecificationError, match="throttle must be above 0 and at most 1"):
                choose(model, throttle)

    def test_unknown_names_are_refused(self) -> None:
        model = problem("flat", 1)
        with pytest.raises(SpecificationError, match='metric must be one of "best-output"'):
            greedy(model, 0.5, metric="best")  # type: ignore[arg-type]
        with pytest.raises(SpecificationError, match='way must be one of "forward"'):
            greedy(model, 0.5, way="back")  # type: ignore[arg-type]


class TestOptimum:
    @pytest.mark.parametrize("kind", KINDS)
    @pytest.mark.parametrize("throttle", [0.1, 0.4, 0.8])
    def test_equals_trying_all_settings(self, kind: Kind, throttle: float) -> None:
        for seed in range(2):
            model = problem(kind, seed, count=2)
            found = harvest_optimum(model, throttle)
            assert found.output == pytest.approx(best_output(model, throttle))
            assert found.cost <= throttle * model.full_cost * (1 + 1e-6)

    def test_equals_trying_all_settings_of_three_sub_windows(self) -> None:
        for seed, throttle in product(range(3), (0.1, 0.3, 0.6)):
            model = problem("bells", seed, count=3)
            found = harvest_optimum(model, throttle)
            assert found.output == pytest.approx(best_of_all(model, throttle))

    def test_with_other_numbers_of_sub_windows(self) -> None:
        model = problem("uniform", 5, count=3)
        counts = np.array([2, 3, 1])
        scores = model.scores.copy()
        for stream, count in enumerate(counts):
            scores[:, stream, count:] = 0.0
        mixed = replace(model, counts=counts, scores=scores)
        found = harvest_optimum(mixed, 0.4)
        assert found.output == pytest.approx(best_output(mixed, 0.4))
        assert best_harvest(mixed, 0.4).output == pytest.approx(found.output)

    def test_too_many_choices_are_refused(self) -> None:
        with pytest.raises(SpecificationError, match="best_harvest is near the optimum"):
            harvest_optimum(problem("uniform", 1, streams=5, count=40), 0.9)


class TestFrontiers:
    @given(problems, throttles)
    def test_never_below_the_greedy_choice_nor_above_the_budget(
        self, model: HarvestModel, throttle: float
    ) -> None:
        found = best_harvest(model, throttle)
        assert found.cost <= throttle * model.full_cost * (1 + 1e-6)
        assert found.output >= greedy(model, throttle).output * (1 - 1e-9)

    @pytest.mark.nojit
    @settings(max_examples=20)
    @given(problems, throttles)
    def test_parts_spend_what_is_left(self, model: HarvestModel, throttle: float) -> None:
        whole, parts = best_harvest(model, throttle), best_harvest(model, throttle, parts=True)
        assert parts.output >= whole.output * (1 - 1e-9)
        assert parts.cost <= throttle * model.full_cost * (1 + 1e-6)

    @pytest.mark.parametrize("kind", KINDS)
    def test_all_of_the_cost_gives_all_of_the_output(self, kind: Kind) -> None:
        for seed in range(10):
            model = problem(kind, seed)
            assert best_harvest(model, 1.0).output == pytest.approx(model.full_output)

    @pytest.mark.parametrize("kind", KINDS)
    @pytest.mark.parametrize("throttle", [0.05, 0.1, 0.3, 0.7])
    def test_within_1_percent_of_the_optimum_on_average(self, kind: Kind, throttle: float) -> None:
        """Nothing is random here: the same 25 problems in every run."""
        shares = []
        for seed in range(25):
            model = problem(kind, seed)
            best = harvest_optimum(model, throttle).output
            shares.append(best_harvest(model, throttle).output / best)
        assert min(shares) > 0.9
        assert np.mean(shares) > 0.99

    @pytest.mark.parametrize("streams", [3, 4])
    @pytest.mark.parametrize("kind", KINDS)
    def test_where_no_sub_window_fits_a_part_of_one_is_probed(
        self, kind: Kind, streams: int
    ) -> None:
        for seed, throttle in product(range(5), (1e-5, 1e-3)):
            model = problem(kind, seed, streams=streams, count=20)
            found = best_harvest(model, throttle, parts=True)
            assert found.cost == pytest.approx(throttle * model.full_cost)
            # A part of the first hop's best sub-window of one direction, and the best others.
            best = 0.0
            for i in range(streams):
                for others in product(*((1, 2, 4, 7, 10, 15, 20) for _ in range(streams - 2))):
                    fractions = np.zeros((streams, streams - 1))
                    fractions[i] = np.array([1, *others]) / 20
                    each = model.harvest(fractions)
                    best = max(best, each.output / each.cost)
            assert found.output > 0.99 * best * found.cost

    def test_where_nothing_costs_anything_all_is_probed(self) -> None:
        model = replace(problem("flat", 1), windows=np.zeros(3))
        assert model.full_cost == 0.0
        assert (best_harvest(model, 0.5).fractions == 1.0).all()
        assert (best_harvest(model, 0.5, parts=True).fractions == 1.0).all()

    @pytest.mark.parametrize("stream", range(3))
    def test_streams_without_rows_harm_no_others(self, stream: int) -> None:
        model = problem("bells", 2)
        rates = model.rates.copy()
        rates[stream] = 0.0
        found = best_harvest(replace(model, rates=rates), 0.3, parts=True)
        assert found.cost <= 0.3 * found.model.full_cost * (1 + 1e-6)

    @pytest.mark.parametrize("kind", KINDS)
    def test_four_streams(self, kind: Kind) -> None:
        for seed in range(4):
            model = problem(kind, seed, streams=4, count=6)
            best = harvest_optimum(model, 0.2).output
            assert 0.95 * best < best_harvest(model, 0.2).output <= best * (1 + 1e-9)


class TestScansOfManyPartialResults:
    """An arriving row is compared with a window once, however many partial results it has."""

    @staticmethod
    def model(seed: int, streams: int = 3, count: int = 3) -> HarvestModel:
        draws = np.random.default_rng(seed)
        shape = (streams, streams)
        return replace(
            problem("bells", seed, streams=streams, count=count),
            scanned=draws.uniform(0.05, 1.0, shape),
            checked=draws.uniform(0.0, 0.3, shape),
        )

    def test_scans_are_those_of_rows_of_which_something_is_left(self) -> None:
        """Rows with 8 partial results each: counted by lot."""
        left = np.random.default_rng(1).binomial(8, 0.2, 200_000)
        expected = np.count_nonzero(left) / left.sum()
        assert scans_of(0.2, 1 / 8) == pytest.approx(expected, rel=0.01)

    def test_the_cost_by_its_definition(self) -> None:
        model = self.model(1)
        fractions = np.array([[1 / 3, 1.0], [2 / 3, 1 / 3], [1.0, 2 / 3]])
        found, table = model.yield_of(fractions), model.table
        cost = 0.0
        for i in range(3):
            first, second = table.sizes[i] * fractions[i]
            partial = table.matches[i, 0] * found[i, 0]
            scans = partial * scans_of(found[i, 0], table.scanned[i, 1])
            checks = table.checks[i, 0] * found[i, 0], table.checks[i, 1] * found[i, 1] * partial
            cost += table.rates[i] * (first + scans * second + sum(checks))
        assert model.harvest(fractions).cost == pytest.approx(cost)

    @pytest.mark.parametrize("throttle", [0.05, 0.2, 0.4, 0.7])
    def test_near_the_best_of_all_settings(self, throttle: float) -> None:
        """Nothing is random here: the same problems in every run."""
        shares = []
        for seed, count in product(range(10), (3, 5, 7)):
            model = self.model(seed, count=count)
            best = best_of_all(model, throttle)
            found = best_harvest(model, throttle)
            assert found.cost <= throttle * model.full_cost * (1 + 1e-6)
            assert found.output <= best * (1 + 1e-9)
            shares.append(found.output / best if best else 1.0)
        assert min(shares) > 0.9
        assert np.mean(shares) > 0.99

    def test_a_part_of_a_sub_window_spends_what_is_left(self) -> None:
        for seed, throttle in product(range(10), (1e-4, 0.01, 0.1, 0.4)):
            model = self.model(seed, streams=4, count=10)
            found = best_harvest(model, throttle, parts=True)
            assert found.cost == pytest.approx(throttle * model.full_cost, rel=1e-3)
            assert found.output >= best_harvest(model, throttle).output * (1 - 1e-9)

    def test_the_optimum_by_frontiers_is_for_other_costs(self) -> None:
        with pytest.raises(SpecificationError, match="leave scanned out; best_harvest is near"):
            harvest_optimum(self.model(1), 0.5)
        assert harvest_optimum(replace(self.model(1), scanned=None), 0.5).output > 0.0

    def test_never_below_the_greedy_choice(self) -> None:
        for seed in range(10):
            model = self.model(seed, streams=5, count=20)
            found, peer = best_harvest(model, 0.2), greedy(model, 0.2)
            assert found.cost <= 0.2 * model.full_cost * (1 + 1e-6)
            assert found.output >= peer.output * (1 - 1e-9)


class TestOtherCosts:
    @pytest.mark.parametrize("kind", KINDS)
    def test_what_a_result_costs_is_part_of_the_cost(self, kind: Kind) -> None:
        model = problem(kind, 3, count=5)
        charged = replace(model, result=40.0)
        fractions = np.random.default_rng(1).integers(0, 6, (3, 2)) / 5
        plain, dearer = model.harvest(fractions), charged.harvest(fractions)
        assert dearer.output == pytest.approx(plain.output)
        assert dearer.cost == pytest.approx(plain.cost + 40.0 * plain.output)
        best = best_of_all(charged, 0.3)
        assert best_harvest(charged, 0.3).output == pytest.approx(best, rel=0.02)

    def test_of_an_index_later_hops_cost_by_what_was_found_before(self) -> None:
        model = replace(problem("bells", 4, count=4), skips=False)
        held = model.rates * model.windows
        assert model.unavoidable == pytest.approx(
            sum(model.rates[i] * held[model.orders[i, 0]] for i in range(3))
        )
        one, other = np.full((3, 2), 0.5), np.array([[0.5, 1.0]] * 3)
        assert model.harvest(one).cost == pytest.approx(model.harvest(other).cost)
        whole = replace(model, skips=True)
        full = model.full_cost + model.unavoidable
        assert full == pytest.approx(whole.full_cost)
        found = best_harvest(model, 0.3)
        assert found.cost <= 0.3 * model.full_cost * (1 + 1e-6)
        assert found.output == pytest.approx(best_of_all(model, 0.3), rel=0.02)

    def test_of_an_index_and_two_streams_nothing_is_saved(self) -> None:
        model = replace(problem("bells", 4, streams=2), skips=False)
        assert model.full_cost == 0.0
        assert (best_harvest(model, 0.1).fractions == 1.0).all()

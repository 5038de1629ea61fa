from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import matplotlib.image
import numpy as np
import pytest

from penstock.join import Join
from penstock.statistics.cluster_sample import total_of
from penstock.studies import STUDIES
from penstock.studies.coverage import FIGURES, CoverageRow, covered
from penstock.studies.frequency_scenario import MATCHES, FrequencyScenario, streams_of
from penstock.studies.run import measure_here
from penstock.studies.samplers import OURS, PRINTED, SAMPLERS, SampledResults, sample
from penstock.studies.sampling_error import ErrorPoint, ErrorRow, errors_of, run, seeds_note

if TYPE_CHECKING:
    from pathlib import Path

    from penstock.studies.sampling_error import Errors

IC = FrequencyScenario("IC", windows=8)
UC = FrequencyScenario("UC", zipf=1.0, windows=6)


def printed(scenario: FrequencyScenario, of: str, memories: tuple[float, ...]) -> dict[str, Errors]:
    """Errors of the paper's algorithms over twelve pairs of streams."""
    return errors_of(
        run(ErrorPoint(replace(scenario, seed=seed), name, of, memories))
        for seed in range(12)
        for name in PRINTED
    )


@pytest.fixture(scope="module")
def figure_8() -> dict[str, Errors]:
    return printed(IC, "s1", (0.1, 0.5, 1.0))


@pytest.fixture(scope="module")
def attribute_in_s2() -> dict[str, Errors]:
    return printed(IC, "s2", (0.1, 0.5))


@pytest.fixture(scope="module")
def memory_rows() -> list[ErrorRow]:
    return measure_here(STUDIES["srivastava04-fig8"], quick=True)


@pytest.fixture(scope="module")
def variation_rows() -> list[ErrorRow]:
    return measure_here(STUDIES["srivastava04-fig9"], quick=True)


@pytest.fixture(scope="module")
def coverage_rows() -> list[CoverageRow]:
    return measure_here(STUDIES["coverage"], quick=True)


class TestStreams:
    @pytest.mark.parametrize("scenario", [IC, UC])
    def test_pairs_are_the_results_of_the_exact_join(self, scenario: FrequencyScenario) -> None:
        made = streams_of(scenario)
        join = Join(streams=made.streams, on=made.predicate)
        result = join.replay(made.tables).result
        exact = SampledResults.exact(made)
        assert np.sort(result["time"].to_numpy()).tolist() == exact.times.tolist()
        for name in ("s1", "s2"):
            values = result[name].combine_chunks().field("value").to_numpy()
            assert np.sort(values).tolist() == np.sort(exact.values[name]).tolist()

    def test_matches_are_numbered_as_they_come(self) -> None:
        pairs = streams_of(IC).pairs
        ranks = pairs.ranks()
        counts = np.bincount(pairs.first)
        for row in np.flatnonzero(counts)[:50]:
            assert ranks[pairs.first == row].tolist() == list(range(1, counts[row] + 1))

    def test_matches_are_what_the_frequencies_say_on_average(self) -> None:
        made = streams_of(replace(UC, windows=22))
        # Those that have lived their whole lives.
        lived = made.column("s1", "time") < made.scenario.duration - made.scenario.window
        expected = made.expected[made.column("s1", "key").astype(int)]
        matches = made.column("s1", MATCHES)
        assert matches[lived].mean() == pytest.approx(expected[lived].mean(), rel=0.05)

    def test_full_memory_is_0_8_of_rate_times_window(self) -> None:
        assert IC.full_rows == 400


class TestSamples:
    @pytest.mark.parametrize("name", SAMPLERS)
    def test_the_same_seed_gives_the_same_sample(self, name: str) -> None:
        made = streams_of(UC)
        one, same = (sample(name, made, 0.2, seed=1) for _ in range(2))
        assert one.times.tolist() == same.times.tolist()
        assert (np.diff(one.times) >= 0).all()
        assert (one.weights >= 1).all()

    @pytest.mark.parametrize("name", ["printed-eq", "printed-pps", "printed-true"])
    def test_with_all_memory_all_results_come_once(self, name: str) -> None:
        made = streams_of(UC)
        found = sample(name, made, 1.1, seed=0)
        assert found.times.tolist() == made.pairs.times.tolist()
        assert (found.weights == 1).all()

    @pytest.mark.parametrize("name", PRINTED)
    def test_rows_held_are_those_allowed_on_average(self, name: str) -> None:
        held = [
            sample(name, made, 0.2, seed).held
            for seed in range(8)
            for made in [streams_of(replace(UC, windows=12, seed=seed))]
        ]
        allowed = SAMPLERS[name].rows(0.2, UC.full_rows)
        # The formulas do not know that windows of the last rows are cut off.
        assert np.mean(held) == pytest.approx(allowed, rel=0.12)

    @pytest.mark.parametrize("name", ["printed-eq", "printed-pps", "printed-true", "eq", "pps"])
    def test_counts_are_right_on_average(self, name: str) -> None:
        estimates, truths = [], []
        for seed in range(8):
            made = streams_of(replace(UC, seed=seed))
            estimates.append(sample(name, made, 0.2, seed).count(0.0))
            truths.append(made.pairs.times.size)
        assert sum(estimates) == pytest.approx(sum(truths), rel=0.1)

    def test_clusters_are_whole(self) -> None:
        made = streams_of(UC)
        found = sample("printed-eq", made, 0.2, seed=0)
        counts = np.bincount(made.pairs.first)
        clusters, sizes = np.unique(found.clusters, return_counts=True)
        assert sizes.tolist() == counts[clusters].tolist()

    def test_averages_are_those_of_the_rows_in_each_window(self) -> None:
        found = SampledResults(
            np.array([1.0, 2.0, 7.0]),
            np.array([1.0, 3.0, 2.0]),
            np.array([0, 1, 2]),
            {"s1": np.array([10.0, 20.0, 30.0])},
        )
        averages = found.averages("s1", np.array([1.0, 2.0, 6.5, 9.0]), 5.0)
        assert averages[[0, 1, 3]].tolist() == [10.0, 17.5, 30.0]
        assert averages[2] == 20.0
        assert np.isnan(found.averages("s1", np.array([0.5]), 5.0)).all()
        assert found.count(2.0) == 5.0


class TestFigure8:
    def test_pps_is_better_than_eq(self, figure_8: dict[str, Errors]) -> None:
        pps, eq = (figure_8[name].ratio[:2, 0] for name in ("printed-pps", "printed-eq"))
        assert (pps < 0.6 * eq).all()

    def test_uniform_whose_n_are_rounded_down_misses_half_of_the_results(
        self, figure_8: dict[str, Errors]
    ) -> None:
        assert (figure_8["printed-down"].count < 0.65).all()
        assert (figure_8["printed-down"].ratio[:, 0] > figure_8["printed-pps"].ratio[:, 0]).all()

    def test_the_more_is_rounded_up_the_less_is_missed(self, figure_8: dict[str, Errors]) -> None:
        counts = [
            figure_8[f"printed-{rounding}"].count[1]
            for rounding in ("down", "random", "up", "bound", "true")
        ]
        assert (np.diff(counts[:4]) > 0.05).all()
        assert counts[3:] == pytest.approx([1.0, 1.0], abs=0.05)

    def test_at_full_memory_only_clusters_and_known_numbers_are_without_error(
        self, figure_8: dict[str, Errors]
    ) -> None:
        ends = {name: errors.ratio[-1, 0] for name, errors in figure_8.items()}
        for name in ("printed-eq", "printed-pps", "printed-true"):
            assert ends[name] < 1e-9
        for name in ("printed-down", "printed-random", "printed-up", "printed-bound"):
            assert ends[name] > 0.01

    def test_theorem_4_2_charges_for_rows_that_are_not_held(
        self, figure_8: dict[str, Errors]
    ) -> None:
        assert (figure_8["printed-down"].held < 0.1).all()

    def test_penstocks_pps_is_better_than_its_eq(self) -> None:
        scenarios = [replace(IC, seed=seed) for seed in range(6)]
        errors = errors_of(
            run(ErrorPoint(scenario, name, "s1", (0.2,)))
            for scenario in scenarios
            for name in ("eq", "pps")
        )
        assert errors["pps"].ratio[0, 0] < errors["eq"].ratio[0, 0]

    def test_an_attribute_in_s2_helps_clusters_and_not_uniform(
        self, figure_8: dict[str, Errors], attribute_in_s2: dict[str, Errors]
    ) -> None:
        for name in ("printed-eq", "printed-pps"):
            assert attribute_in_s2[name].ratio[0, 0] < figure_8[name].ratio[0, 0]
        for rounding in ("down", "random", "up"):
            uniform = attribute_in_s2[f"printed-{rounding}"].ratio[0, 0]
            assert attribute_in_s2["printed-pps"].ratio[0, 0] < 0.75 * uniform


class TestErrors:
    def test_what_is_not_sampled_counts_as_an_error_of_all(self) -> None:
        (row,) = (
            run(ErrorPoint(replace(IC, seed=seed), "printed-down", "s1", (0.002,))) for seed in [0]
        )
        assert row.empty[0] > 0.5
        assert row.relative[0, 0] > row.empty[0]

    def test_in_proportion_to_the_variation(self) -> None:
        row = run(ErrorPoint(UC, "printed-eq", "s1", (0.2,), (0.5, 1.0, 2.0)))
        assert row.absolute[0] == pytest.approx(row.absolute[0, 1] * np.array([0.5, 1.0, 2.0]))

    def test_seeds_are_put_together(self) -> None:
        row = run(ErrorPoint(UC, "printed-eq", "s1", (0.2,)))
        other = replace(row, absolute=2 * row.absolute, truth=3 * row.truth)
        (errors,) = errors_of([row, other]).values()
        assert errors.seeds == 2
        assert errors.ratio == pytest.approx(0.75 * row.absolute / row.truth)
        assert errors.deviation[0, 0] > 0

    def test_the_note_says_how_many(self, memory_rows: list[ErrorRow]) -> None:
        note = seeds_note(errors_of(memory_rows))
        assert note.startswith("Printed: over 3 pairs of streams")


class TestCoverage:
    def test_every_window_is_there_for_every_figure(self, coverage_rows: list[CoverageRow]) -> None:
        assert [row.contender for row in coverage_rows] == list(OURS)
        for row in coverage_rows:
            assert row.windows == 10
            assert row.said.shape == row.right.shape == row.mean.shape == (len(FIGURES),)
            assert ((row.right <= row.said) & (row.said <= row.windows)).all()
            assert row.mean == pytest.approx(np.ones(len(FIGURES)), abs=0.25)

    def test_most_intervals_of_single_results_are_right(
        self, coverage_rows: list[CoverageRow]
    ) -> None:
        (row,) = (row for row in coverage_rows if row.contender == "uniform-true")
        assert (row.said == 10).all()
        assert (row.right >= 7).all()

    def test_an_interval_covers_its_ends_but_for_noise(self) -> None:
        everything = total_of(np.full(10, 0.1), np.ones(10), np.arange(10))
        assert covered(everything, 1.0)
        assert not covered(everything, 1.001)

    def test_the_table_says_what_chance_gives(self, coverage_rows: list[CoverageRow]) -> None:
        table = STUDIES["coverage"].table(coverage_rows)
        assert len(table.rows) == len(OURS)
        assert all(len(row) == len(table.headings) for row in table.rows)
        assert "Over 10 windows each" in table.notes[0]


@pytest.mark.parametrize("name", ["srivastava04-fig8", "srivastava04-fig9"])
def test_tables_have_a_column_for_each_sample(
    name: str, memory_rows: list[ErrorRow], variation_rows: list[ErrorRow]
) -> None:
    rows = memory_rows if name.endswith("8") else variation_rows
    table = STUDIES[name].table(rows)
    assert len(table.headings) == 2 + len(SAMPLERS)
    assert all(len(row) == len(table.headings) for row in table.rows)
    assert {row[0] for row in table.rows} >= {"error, %", "mean of relative errors, %"}


@pytest.mark.parametrize("name", ["srivastava04-fig8", "srivastava04-fig9", "coverage"])
def test_pictures_are_drawn(name: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    fixture = {"8": "memory_rows", "9": "variation_rows", "e": "coverage_rows"}[name[-1]]
    STUDIES[name].draw(request.getfixturevalue(fixture), tmp_path / "picture.png")
    image = matplotlib.image.imread(tmp_path / "picture.png")
    assert image.shape[1] == 1200
    assert 0.01 < (image[..., :3] < 0.9).any(axis=2).mean() < 0.5

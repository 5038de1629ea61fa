from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import matplotlib.image
import numpy as np
import pytest

from penstock.studies import STUDIES
from penstock.studies.importance_contenders import CONTENDERS, EXACT, OPTIMUM, OURS
from penstock.studies.importance_points import (
    ImportancePoint,
    ImportanceRow,
    best_of,
    means,
    measure,
)
from penstock.studies.importance_settings import COUNTED, SLOW, USERS, UsersScale, papers_scale
from penstock.studies.importance_streams import exact_importance
from penstock.studies.run import measure_here

if TYPE_CHECKING:
    from pathlib import Path

    from penstock.studies.importance_settings import PapersScale

FIGURES = ("kulkarni08-fig2", "kulkarni08-fig3", "kulkarni08-fig4", "kulkarni08-fig5")
IDS = (*FIGURES, "kulkarni08-table6", "fairness")
SMALL = UsersScale(USERS, rows=100, window=150, keys=100)

_found: dict[str, list[Any]] = {}


def rows_of(name: str) -> list[Any]:
    """Run a study's quick grid, once for all tests."""
    if name not in _found:
        _found[name] = measure_here(STUDIES[name], quick=True)
    return _found[name]


def importance(scale: PapersScale | UsersScale, *contenders: str, seeds: int = 3) -> list[float]:
    """Mean importance per row of contenders, over streams of several seeds."""
    return [
        float(np.mean([scale.seeded(seed).measure(name).importance for seed in range(seeds)]))
        for name in contenders
    ]


@pytest.mark.parametrize("name", FIGURES)
def test_no_contender_has_more_than_the_exact_join_or_is_fairer_than_fair(name: str) -> None:
    rows = rows_of(name)
    exact = means(rows, "importance")
    for row in rows:
        whole = exact[row.setting, EXACT][row.x].value
        assert 0 < row.importance <= whole * (1 + 1e-9)
        assert (row.contender in {EXACT, OPTIMUM}) == np.isnan(row.fairness)
        assert np.isnan(row.fairness) or 0 < row.fairness <= 1


@pytest.mark.parametrize("name", FIGURES)
def test_the_optimum_is_above_all_others_at_the_papers_scale(name: str) -> None:
    found = means(rows_of(name), "importance")
    for (setting, contender), by_x in found.items():
        if setting.startswith(SLOW) and contender not in {EXACT, OPTIMUM}:
            for x, mean in by_x.items():
                assert mean.value < found[setting, OPTIMUM][x].value


@pytest.mark.parametrize("name", FIGURES)
def test_tables_have_a_line_for_each_measure_and_a_column_for_each_contender(name: str) -> None:
    rows = rows_of(name)
    table = STUDIES[name].table(rows)
    places = {(row.setting, row.x) for row in rows}
    assert len(table.rows) == 3 * len(places)
    assert len(table.headings) == 3 + len({row.contender for row in rows})
    assert all(len(row) == len(table.headings) for row in table.rows)
    # The explanation, and at least a note for each setting.
    assert len(table.notes) > len({row.setting for row in rows})


@pytest.mark.parametrize("name", IDS)
def test_pictures_are_drawn(name: str, tmp_path: Path) -> None:
    STUDIES[name].draw(rows_of(name), tmp_path / "picture.png")
    image = matplotlib.image.imread(tmp_path / "picture.png")
    assert image.shape[1] == 1200
    assert 0.01 < (image[..., :3] < 0.9).any(axis=2).mean() < 0.5


def test_exact_importance_is_that_of_the_exact_join() -> None:
    tables = SMALL.tables()
    r, s = (
        {name: table[name].to_numpy() for name in table.column_names} for table in tables.values()
    )
    joined = (r["key"][:, None] == s["key"]) & (
        np.abs(r["time"][:, None] - s["time"]) <= SMALL.lifetime
    )
    least = np.minimum(r["importance"][:, None], s["importance"])
    assert exact_importance(tables, SMALL.lifetime) == (least[joined].sum(), joined.sum())


def test_the_users_streams_have_a_full_window_of_the_rows_that_are_said() -> None:
    tables = UsersScale(USERS, rows=100, window=150, windows=4, keys=100, zipf=1.0).tables()
    times = np.sort(np.concatenate([table["time"].to_numpy() for table in tables.values()]))
    assert times.tolist() == list(range(1200))
    shares = np.bincount(tables["r"]["key"].to_numpy(), minlength=100)
    assert shares[:10].sum() > 4 * shares[50:60].sum()
    drawn = tables["s"]["importance"].to_numpy()
    assert drawn.min() == 1
    assert np.median(drawn) < drawn.mean() < drawn.max() <= 100


def test_almost_every_arrival_costs_ijoin_a_decision() -> None:
    book = papers_scale(COUNTED, 1.0).measure("ijoin")
    assert 0.98 * book.rows < book.recomputations < book.rows


class TestFigure2:
    def test_size_beats_ijoin_on_skewed_keys(self) -> None:
        for speed in (COUNTED, SLOW):
            size, ijoin = importance(papers_scale(speed, 1.0), "size", "ijoin")
            assert size > 1.4 * ijoin

    def test_greedy_beats_ijoin_on_uniform_keys_if_every_arrival_probes(self) -> None:
        for speed in (COUNTED, SLOW):
            greedy, ijoin = importance(papers_scale(speed, 0.0), "greedy", "ijoin")
            assert greedy > 1.15 * ijoin

    def test_and_loses_if_refused_rows_join_nothing(self) -> None:
        for speed in (COUNTED, SLOW):
            greedy, size, ijoin = importance(
                papers_scale(speed, 0.0), "greedy-shed", "size-shed", "ijoin"
            )
            assert max(greedy, size) < 0.85 * ijoin

    def test_maturity_decay_and_penalty_cost_importance_on_skewed_keys(self) -> None:
        bare, ijoin = importance(papers_scale(SLOW, 1.0), "ijoin-bare", "ijoin")
        assert bare > 1.5 * ijoin

    def test_fairness_is_the_papers_at_the_rate_that_its_table_6_counts(self) -> None:
        assert papers_scale(COUNTED, 0.0).measure("ijoin").fairness == pytest.approx(0.83, abs=0.04)

    def test_and_falls_to_nothing_at_the_rates_that_it_prints(self) -> None:
        # A part of the time is enough.
        short = papers_scale("100 to 200/s", 0.0).lasting(20)
        assert short.measure("ijoin").fairness < 0.15
        assert short.measure("fifo").fairness > 0.75

    def test_the_best_is_found_among_those_asked_for(self) -> None:
        rows = [
            ImportanceRow("a", 1.0, name, 0, value, 0.0, 0.0, 1, 0.0)
            for name, value in {"fifo": 3.0, "size": 5.0, "greedy": 9.0, "ijoin": 4.0}.items()
        ]
        assert best_of(rows, "a", ["fifo", "size"]) == {1.0: ("size", 0.25)}


class TestFigure3:
    def test_a_longer_window_gives_ijoin_nothing_on_uniform_keys(self) -> None:
        short, long = (
            importance(replace(papers_scale(SLOW, 0.0), window=window), "ijoin")[0]
            for window in (10.0, 25.0)
        )
        assert long == pytest.approx(short, rel=0.1)

    def test_fairness_of_size_falls_as_the_window_grows(self) -> None:
        found = means(rows_of("kulkarni08-fig3"), "fairness")
        own = found["1 every 2 to 4 s, Zipf 0", "size"]
        assert own[10.0].value > 0.85
        assert own[25.0].value < 0.65


class TestFigure4:
    def test_twice_the_values_halve_the_results(self) -> None:
        found = means(rows_of("kulkarni08-fig4"), "results")[f"{SLOW}, Zipf 0", "ijoin"]
        assert found[20.0].value == pytest.approx(found[10.0].value / 2, rel=0.15)

    def test_greedy_is_the_least_fair_and_by_far_the_worst_where_it_sheds_first(self) -> None:
        rows = rows_of("kulkarni08-fig4")
        results, fairness = means(rows, "results"), means(rows, "fairness")
        setting = f"{SLOW}, Zipf 0"
        assert fairness[setting, "greedy"][20.0].value < 0.2
        for name in ("fifo", "rand", "size-shed", "ijoin"):
            assert (
                results[setting, "greedy-shed"][20.0].value
                < 0.5 * results[setting, name][20.0].value
            )


class TestFigure5:
    def test_the_threshold_hardly_matters(self) -> None:
        low, high = (
            importance(replace(papers_scale(SLOW, 1.0), unproductivity=threshold), "ijoin")[0]
            for threshold in (2.0, 5.0)
        )
        assert high == pytest.approx(low, rel=0.05)

    def test_a_harsh_penalty_does_harm(self) -> None:
        harsh, ijoin = importance(papers_scale(SLOW, 1.0), "ijoin-harsh", "ijoin")
        assert harsh < ijoin


class TestTable6:
    def test_overhead_is_in_the_papers_order(self) -> None:
        found = means(rows_of("kulkarni08-table6"), "recomputations")
        for zipf in (0, 1):
            times = [
                found[f"{COUNTED}, Zipf {zipf}", name][0.0].value
                for name in ("ijoin-few", "ijoin-adaptive", "ijoin")
            ]
            assert times[0] < times[1] < times[2]
            assert times[2] == pytest.approx(1_000, rel=0.05)
            assert times[0] == pytest.approx(100, rel=0.1)

    def test_rows_say_how_often_and_what_came_of_it(self) -> None:
        rows = rows_of("kulkarni08-table6")
        table = STUDIES["kulkarni08-table6"].table(rows)
        assert len(table.rows) == len({(row.setting, row.contender) for row in rows})
        said = {row[1]: row for row in table.rows if row[0] == f"{COUNTED}, Zipf 0"}
        assert said["successive"][-1] == "990"
        assert said["FIFO"][-1] == ""
        assert said["EXACT"][-2] == ""


class TestFairness:
    def test_asking_for_it_gives_it(self) -> None:
        rows = rows_of("fairness")
        for zipf in ("Zipf 0", "Zipf 1"):
            own = {row.asked: row for row in rows if (row.streams, row.contender) == (zipf, OURS)}
            assert own[0.0].fairness < own[0.5].fairness < own[1.0].fairness
            assert own[1.0].fairness > 0.9

    def test_all_of_it_is_fifo(self) -> None:
        rows = [row for row in rows_of("fairness") if row.streams == "Zipf 1"]
        fifo = next(row for row in rows if row.contender == "fifo")
        fairest = next(row for row in rows if row.asked == 1.0)
        assert fairest.share == pytest.approx(fifo.share, rel=0.1)

    def test_the_table_says_what_was_asked_for(self) -> None:
        rows = rows_of("fairness")
        table = STUDIES["fairness"].table(rows)
        assert len(table.rows) == len(rows)
        assert [row[2] for row in table.rows if row[1] == "ours"] == ["0", "0.5", "1"] * 2


def test_points_are_measured_with_their_seed() -> None:
    scale = papers_scale(COUNTED, 0.0)
    one, other = (
        measure(ImportancePoint(scale.seeded(seed), 1.0, "fifo", seed)) for seed in (0, 1)
    )
    assert one.importance != other.importance
    assert one == measure(ImportancePoint(scale.seeded(0), 1.0, "fifo", 0))
    assert (one.setting, one.x, one.contender, one.seed) == (scale.name, 1.0, "fifo", 0)


def test_shedding_first_is_no_strategy_of_the_engine() -> None:
    assert [name for name, each in CONTENDERS.items() if not each.at_users_scale] == [
        "size-shed",
        "greedy-shed",
        "ijoin-below",
    ]

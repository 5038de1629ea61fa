"""What the papers say in a sentence, without a figure: the smallest runs of their studies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import matplotlib.image
import numpy as np
import pyarrow as pa
import pytest

import penstock as ps
from penstock.studies import STUDIES
from penstock.studies.importance_contenders import EXACT, OPTIMUM, OURS, importance_goal
from penstock.studies.importance_points import means
from penstock.studies.importance_settings import SLOW, PapersScale, papers_scale
from penstock.studies.kulkarni08_values import deviations
from penstock.studies.optimum import optimal_importance
from penstock.studies.run import measure_here

if TYPE_CHECKING:
    from pathlib import Path

NAMES = (
    "srivastava04-w1",
    "srivastava04-fraction",
    "srivastava04-hard",
    "kulkarni08-values",
    "kulkarni08-redefined",
)

_found: dict[str, list[Any]] = {}


def rows_of(name: str) -> list[Any]:
    """Run a study's quick grid, once for all tests."""
    if name not in _found:
        _found[name] = measure_here(STUDIES[name], quick=True)
    return _found[name]


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_tables_and_pictures_are_made(name: str, tmp_path: Path) -> None:
    rows = rows_of(name)
    table = STUDIES[name].table(rows)
    assert table.rows
    assert all(len(row) == len(table.headings) for row in table.rows)
    STUDIES[name].draw(rows, tmp_path / "picture.png")
    assert matplotlib.image.imread(tmp_path / "picture.png").std() > 0


@pytest.mark.slow
def test_a_longer_window_harms_until_expiry_and_not_age() -> None:
    found = {(row.minutes, row.contender): row.recall for row in rows_of("srivastava04-w1")}
    assert found[2.0, "until-expiry"] < 0.85 * found[1.5, "until-expiry"]
    assert found[2.0, "theory"] == pytest.approx(found[1.5, "theory"], rel=0.01)
    assert found[2.0, "age-given"] > 0.85 * found[1.5, "age-given"]


@pytest.mark.slow
def test_by_size_much_more_can_be_sampled_than_memory_holds() -> None:
    found = {row.contender: row.fractions for row in rows_of("srivastava04-fraction")}
    for each in found.values():
        assert 0 < each[0] < each[1] <= 1
    pps = next(each for name, each in found.items() if "pps" in name)
    eq = next(each for name, each in found.items() if "eq" in name)
    assert pps[0] > 3 * eq[0]


@pytest.mark.slow
def test_no_online_strategy_finds_more_than_by_lot() -> None:
    """One row in 40 has all results, and 10 are held: a quarter on average."""
    found = {(row.rivals, row.contender): row for row in rows_of("srivastava04-hard")}
    assert found[40, OPTIMUM].recall == pytest.approx(1.0)
    for (rivals, name), row in found.items():
        if rivals == 40 and name != OPTIMUM:
            # Of 30 rounds a quarter are hits: 7.5, with a deviation of 2.4.
            assert row.recall < 0.25 + 3 * 0.08
            assert row.empty > 0.75 - 3 * 0.08


@pytest.mark.slow
def test_results_fall_as_one_over_the_values() -> None:
    line, inverse = deviations(
        [10, 15, 20],
        [
            mean.value
            for mean in means(rows_of("kulkarni08-values"), "results")[_slow(), "fifo"].values()
        ],
    )
    assert inverse < 0.1
    assert inverse < line


def _slow() -> str:
    return papers_scale(SLOW, 0.0).name


@pytest.mark.slow
def test_redefined_importance_is_that_of_all_contenders() -> None:
    found = means(rows_of("kulkarni08-redefined"), "importance")
    for (setting, name), by_x in found.items():
        for x, mean in by_x.items():
            assert 0 < mean.value <= found[setting, EXACT][x].value * (1 + 1e-9), name
    # Other definitions, other totals.
    assert len({mean.value for mean in found[_slow(), EXACT].values()}) == 3


def test_redefined_importance_of_the_engine_and_the_optimum() -> None:
    """With room for all, both have the importance of the exact join by the book."""
    scale = papers_scale(SLOW, 1.0).lasting(40)
    streams = scale.streams
    scale = PapersScale(
        "all", type(streams)(**{**vars(streams), "redefined": 2, "importance": "by value"}), 2_000
    )
    exact = scale.measure(EXACT)
    for name in (OURS, OPTIMUM):
        found = scale.measure(name)
        assert found.results == pytest.approx(exact.results)
        assert found.importance == pytest.approx(exact.importance)
    # By hand: 1 for each result until 2, then 5.
    table = pa.table({"time": [1.0, 3.0], "key": [1, 1], "importance": [1.0, 1.0]})
    tables = {
        name: table.append_column("importance_1", pa.array([5.0, 7.0])) for name in ("r", "s")
    }
    join = ps.Join(
        streams={name: ps.Stream(time="time", window=10.0) for name in tables},
        on=ps.Equal("key"),
        goal=importance_goal(redefined_at=[2.0]),
    )
    importance, results = optimal_importance(join, tables, 10, [2.0])
    assert (importance, results) == (1.0 + 5.0 + 5.0 + 7.0, 4)
    assert join.replay(tables).metrics.importance == importance
    assert np.isfinite(importance)

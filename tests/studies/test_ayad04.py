"""The studies of queries, on their quick grids."""

from __future__ import annotations

from typing import TYPE_CHECKING

import matplotlib.image
import pytest

from penstock.studies import STUDIES
from penstock.studies.ayad04_choice import random_query
from penstock.studies.ayad04_fig7 import crossing
from penstock.studies.run import measure_here

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("name", ["ayad04-example1", "ayad04-fig7", "ayad04-choice"])
def test_each_has_a_table_and_a_picture(name: str, tmp_path: Path) -> None:
    study = STUDIES[name]
    rows = measure_here(study, quick=True)
    assert study.table(rows).as_markdown().startswith("| ")
    study.draw(rows, tmp_path / "study.png")
    assert matplotlib.image.imread(tmp_path / "study.png").std() > 0


def test_figure_7_crosses_where_the_formulas_say() -> None:
    assert crossing("a", "c", 0.03, 0.09) == pytest.approx(1 / 20)
    assert crossing("b", "c", 0.01, 0.04) == pytest.approx(2 / 95)
    assert crossing("c", "b", 0.06, 0.14) == pytest.approx(1 / 10)


def test_neither_way_to_choose_is_above_the_best() -> None:
    for row in measure_here(STUDIES["ayad04-choice"], quick=True):
        assert row.in_turn <= 1 + 1e-9
        assert row.cheapest <= row.in_turn + 1e-9


def test_random_queries_follow_from_their_seed() -> None:
    assert random_query("rows", 5, 3) == random_query("rows", 5, 3)
    assert random_query("rows", 5, 3) != random_query("rows", 5, 4)
    by_time = random_query("time", 5, 3).relations
    assert [each.window for each in by_time] == pytest.approx(
        [each.window for each in random_query("rows", 5, 3).relations]
    )

from __future__ import annotations

import json
import pickle
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pytest

from penstock.errors import SpecificationError
from penstock.report.tables import read_page
from penstock.studies import STUDIES, Study, Table, study_of
from penstock.studies.run import _reporting, measure_here
from penstock.studies.study import as_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence


@dataclass(frozen=True)
class Point:
    number: int


def square(point: Point) -> int:
    return point.number**2


SQUARES = Study(
    id="squares",
    title="squares",
    reference="our own",
    grid=[Point(number) for number in range(5)],
    quick_grid=[Point(9)],
    run=square,
    table=lambda rows: Table(["square"], [[str(row)] for row in rows]),
    draw=lambda _rows, path: path.touch(),
)


def test_points_are_measured_in_the_grids_order() -> None:
    assert measure_here(SQUARES) == [0, 1, 4, 9, 16]
    assert measure_here(SQUARES, quick=True) == [81]


def test_progress_is_told_point_by_point() -> None:
    said: list[str] = []

    @contextmanager
    def step(words: str) -> Iterator[Callable[[str], object]]:
        said.append(words)
        yield said.append

    measure_here(SQUARES, step=step)
    assert said == ["Measuring 5 points ...", *(f"{done} of 5 done" for done in range(5))]


def test_reporting_ends_with_what_it_tells_of() -> None:
    told: list[None] = []
    with pytest.raises(KeyError), _reporting(lambda: told.append(None)):
        raise KeyError
    assert not told


def test_the_table_of_contents_has_each_study_under_its_own_id() -> None:
    assert list(STUDIES) == [study.id for study in STUDIES.values()]
    assert len(set(STUDIES)) == len(STUDIES)


@pytest.mark.parametrize("name", STUDIES)
def test_points_and_what_measures_them_can_be_pickled(name: str) -> None:
    study = STUDIES[name]
    for grid in (study.grid, study.quick_grid):
        assert pickle.loads(pickle.dumps(grid)) == grid  # noqa: S301 -- our own bytes
    assert pickle.loads(pickle.dumps(study.run)) is study.run  # noqa: S301 -- as above


@pytest.mark.parametrize("name", STUDIES)
def test_the_quick_grid_has_all_contenders_of_the_whole_one(name: str) -> None:
    study = STUDIES[name]

    def taking_part(grid: Sequence[object]) -> set[str | None]:
        named = ("contender", "way", "plan", "windows")
        found = ([getattr(point, name, None) for name in named] for point in grid)
        return {next((each for each in names if each), None) for names in found}

    contenders, quick = taking_part(study.grid), taking_part(study.quick_grid)
    assert quick == contenders
    assert None not in contenders


@pytest.mark.parametrize("name", STUDIES)
def test_titles_are_lines_for_a_list(name: str) -> None:
    study = STUDIES[name]
    assert study.title
    assert not study.title.endswith(".")
    assert study.reference == "our own" or study.id.startswith(
        ("ayad04", "ayad05", "gedik05", "kulkarni08", "srivastava04")
    )


def test_an_unknown_study_names_the_nearest() -> None:
    with pytest.raises(SpecificationError) as caught:
        study_of("srivastava04-fig4")
    words = str(caught.value)
    assert words.startswith('study must be one of "srivastava04-fig5", ')
    assert "got 'srivastava04-fig4'; did you mean \"srivastava04-fig" in words


def test_a_study_that_is_near_none_points_to_the_list() -> None:
    with pytest.raises(SpecificationError, match="see them by: penstock study list"):
        study_of("?")


def test_rows_become_json() -> None:
    row = {"a": np.array([[1.5, np.inf]]), "b": (Point(3), np.float64(2.0)), "c": None}
    assert json.loads(json.dumps(as_json(row))) == {
        "a": [[1.5, None]],
        "b": [{"number": 3}, 2.0],
        "c": None,
    }


@pytest.mark.parametrize("name", STUDIES)
def test_each_study_has_a_page_with_its_table_and_picture(
    name: str, request: pytest.FixtureRequest
) -> None:
    folder = request.config.rootpath / "docs" / "studies"
    text = read_page(folder / f"{name}.md", ["table"])
    assert f"]({name}.png)" in text
    assert (folder / f"{name}.png").is_file()
    assert f"penstock study run {name}" in text
    assert f"({name}.md)" in (folder / "index.md").read_text()

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from penstock.errors import SpecificationError
from penstock.studies import STUDIES, Table
from penstock.studies.page import BEGIN, END, check_page, markdown, write_table

if TYPE_CHECKING:
    from pathlib import Path

TABLE = Table(["streams", "memory\n%", "recall\n%"], [["INC", "5", ""], ["INC", "10", "9.5"]])


def test_figures_are_right_aligned_and_headings_are_one_line() -> None:
    assert markdown(TABLE).splitlines() == [
        "| streams | memory % | recall % |",
        "| --- | ---: | ---: |",
        "| INC | 5 |  |",
        "| INC | 10 | 9.5 |",
    ]


def test_a_table_takes_the_place_of_the_one_before(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"# A study\n\n{BEGIN}\n\n| old |\n\n{END}\n\nWhat it says.\n")
    write_table(page, TABLE)
    write_table(page, TABLE)
    text = page.read_text()
    assert text == f"# A study\n\n{BEGIN}\n\n{markdown(TABLE)}\n\n{END}\n\nWhat it says.\n"


@pytest.mark.parametrize("text", ["", BEGIN, f"{END} {BEGIN}", f"{BEGIN} {BEGIN} {END}"])
def test_a_page_without_a_place_for_it_is_refused(text: str, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(text)
    with pytest.raises(SpecificationError, match="--write must be a page with a line"):
        check_page(page)


def test_a_page_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SpecificationError, match="add these lines"):
        check_page(tmp_path / "none.md")


@pytest.mark.parametrize("name", STUDIES)
def test_each_study_has_a_page_with_its_table_and_picture(
    name: str, request: pytest.FixtureRequest
) -> None:
    folder = request.config.rootpath / "docs" / "studies"
    text = check_page(folder / f"{name}.md")
    assert f"]({name}.png)" in text
    assert (folder / f"{name}.png").is_file()
    assert f"penstock study run {name}" in text
    assert f"({name}.md)" in (folder / "index.md").read_text()

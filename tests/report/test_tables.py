from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from penstock.errors import SpecificationError
from penstock.report.tables import Table, read_page, section_markers, write_sections

if TYPE_CHECKING:
    from pathlib import Path

BEGIN, END = section_markers("table")
TABLE = Table(["streams", "memory\n%", "recall\n%"], [["INC", "5", ""], ["INC", "10", "9.5"]])


def test_figures_are_right_aligned_and_headings_are_one_line() -> None:
    assert TABLE.as_markdown().splitlines() == [
        "| streams | memory % | recall % |",
        "| --- | ---: | ---: |",
        "| INC | 5 |  |",
        "| INC | 10 | 9.5 |",
    ]


def test_a_table_takes_the_place_of_the_one_before(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"# A study\n\n{BEGIN}\n\n| old |\n\n{END}\n\nWhat it says.\n")
    write_sections(page, {"table": TABLE.as_markdown()})
    write_sections(page, {"table": TABLE.as_markdown()})
    text = page.read_text()
    assert text == f"# A study\n\n{BEGIN}\n\n{TABLE.as_markdown()}\n\n{END}\n\nWhat it says.\n"


@pytest.mark.parametrize("text", ["", BEGIN, f"{END} {BEGIN}", f"{BEGIN} {BEGIN} {END}"])
def test_a_page_without_a_place_for_it_is_refused(text: str, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(text)
    with pytest.raises(SpecificationError, match="--write must be a page with a line"):
        read_page(page, ["table"])


def test_a_page_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SpecificationError, match="add these lines"):
        read_page(tmp_path / "none.md", ["table"])


def test_a_table_with_a_title_has_names_in_its_first_column() -> None:
    table = Table.titled("Windows", ["rows", "speed"], [["10", "fast"]])
    assert table.as_markdown() == "Windows:\n\n| rows | speed |\n| --- | ---: |\n| 10 | fast |"

"""The table of a study on its page of the documentation, written anew when asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.errors import SpecificationError, must

if TYPE_CHECKING:
    from pathlib import Path

    from penstock.studies.study import Table

__all__ = ["BEGIN", "END", "check_page", "markdown", "write_table"]

BEGIN = "<!-- table: begin -->"
END = "<!-- table: end -->"


def markdown(table: Table) -> str:
    r"""Give a table, and its notes after it, in Markdown.

    Examples
    --------
    >>> from penstock.studies.study import Table
    >>> print(markdown(Table(["name", "recall\n%"], [["age", "9.5"]], ["A note."])))
    | name | recall % |
    | --- | ---: |
    | age | 9.5 |
    <BLANKLINE>
    A note.
    """
    figures = [
        all(row[index][:1].isdigit() or not row[index] for row in table.rows)
        for index in range(len(table.headings))
    ]
    lines = [
        [heading.replace("\n", " ") for heading in table.headings],
        ["---:" if each else "---" for each in figures],
        *table.rows,
    ]
    text = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    return "\n\n".join([text, "\n".join(table.notes)]) if table.notes else text


def check_page(page: Path) -> str:
    """Give the text of a page; called before the work that ends on it.

    Raises
    ------
    SpecificationError
        If it has no place for the table.
    """
    text = page.read_text(encoding="utf-8") if page.is_file() else ""
    if text.count(BEGIN) != 1 or text.count(END) != 1 or text.index(BEGIN) > text.index(END):
        requirement = f"a page with a line {BEGIN} and, after it, a line {END}"
        raise SpecificationError(must("--write", requirement, str(page), "add these lines"))
    return text


def write_table(page: Path, table: Table) -> None:
    """Put a table into its place on a page, for the one that is there."""
    text = check_page(page)
    before, after = text[: text.index(BEGIN)], text[text.index(END) :]
    page.write_text(f"{before}{BEGIN}\n\n{markdown(table)}\n\n{after}", encoding="utf-8")

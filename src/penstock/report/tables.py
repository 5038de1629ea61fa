"""Tables as text and as Markdown, and the sections of a page that a program writes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from penstock.errors import SpecificationError, must

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

__all__ = ["Table", "read_page", "replace_sections", "section_markers", "write_sections"]


@dataclass(frozen=True)
class Table:
    r"""A table of figures, for a terminal and for a page.

    Attributes
    ----------
    headings
        One for each column; they may have more than one line.
    rows
        Their cells.
    notes
        Sentences that explain the table or sum it up.
    title
        What it shows; may be empty.
    names
        How many columns, from the left, have names instead of figures. None to tell by the cells:
        figures begin with a digit.

    Examples
    --------
    >>> table = Table.titled("Sizes", ["what", "rows"], [["small", "10"], ["large", "1,000"]])
    >>> print(table.as_text())
    Sizes
    what   | rows
    ------ | -----
    small  |    10
    large  | 1,000
    >>> print(Table(["name", "recall\n%"], [["age", "9.5"]], ["A note."]).as_markdown())
    | name | recall % |
    | --- | ---: |
    | age | 9.5 |
    <BLANKLINE>
    A note.
    """

    headings: Sequence[str]
    rows: Sequence[Sequence[str]]
    notes: Sequence[str] = ()
    title: str = ""
    names: int | None = None

    @classmethod
    def titled(cls, title: str, headings: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
        """Make a table with a title: names in the first column, figures in the others."""
        return cls(headings, rows, title=title, names=1)

    def as_text(self) -> str:
        """Return the padded table: the first column to the left, the others to the right."""
        lines = (self.headings, *self.rows)
        widths = [max(len(line[at]) for line in lines) for at in range(len(self.headings))]
        widths[0] += 1
        padded = [
            " | ".join(
                cell.rjust(width) if at and number else cell.ljust(width)
                for at, (cell, width) in enumerate(zip(line, widths, strict=True))
            ).rstrip()
            for number, line in enumerate(lines)
        ]
        rule = " | ".join("-" * width for width in widths)
        return "\n".join([self.title, padded[0], rule, *padded[1:]])

    def as_markdown(self) -> str:
        """Return the table in Markdown: the title above it, the notes below it."""
        lines = [
            [heading.replace("\n", " ") for heading in self.headings],
            ["---:" if self._has_figures(at) else "---" for at in range(len(self.headings))],
            *self.rows,
        ]
        text = "\n".join(f"| {' | '.join(line)} |" for line in lines)
        parts = [f"{self.title}:" if self.title else "", text, "\n".join(self.notes)]
        return "\n\n".join(part for part in parts if part)

    def _has_figures(self, column: int) -> bool:
        if self.names is not None:
            return column >= self.names
        return all(row[column][:1].isdigit() or not row[column] for row in self.rows)


def section_markers(name: str) -> tuple[str, str]:
    """Return the lines of a page between which a section is.

    Examples
    --------
    >>> section_markers("table")
    ('<!-- table: begin -->', '<!-- table: end -->')
    """
    return f"<!-- {name}: begin -->", f"<!-- {name}: end -->"


def read_page(page: Path, names: Iterable[str], option: str = "--write") -> str:
    """Return the text of a page; called before the work that ends on it.

    Parameters
    ----------
    page
        A file.
    names
        Of the sections that it must have.
    option
        The option that it was given for, as the user wrote it.

    Raises
    ------
    SpecificationError
        If it lacks one of the sections.
    """
    text = page.read_text(encoding="utf-8") if page.is_file() else ""
    for name in names:
        begin, end = section_markers(name)
        if text.count(begin) != 1 or text.count(end) != 1 or text.index(begin) > text.index(end):
            requirement = f"a page with a line {begin} and, after it, a line {end}"
            raise SpecificationError(must(option, requirement, str(page), "add these lines"))
    return text


def write_sections(page: Path, sections: Mapping[str, str]) -> None:
    """Replace the sections of a page, by name; see `read_page`."""
    text = read_page(page, sections)
    page.write_text(replace_sections(text, sections), encoding="utf-8")


def replace_sections(text: str, sections: Mapping[str, str]) -> str:
    r"""Return a text with other sections, by name; it must have the markers of all.

    Examples
    --------
    >>> page = "Before.\n<!-- a: begin -->\nold\n<!-- a: end -->\nAfter.\n"
    >>> print(replace_sections(page, {"a": "new"}), end="")
    Before.
    <!-- a: begin -->
    <BLANKLINE>
    new
    <BLANKLINE>
    <!-- a: end -->
    After.
    """
    for name, section in sections.items():
        begin, end = section_markers(name)
        before, after = text[: text.index(begin)], text[text.index(end) :]
        text = f"{before}{begin}\n\n{section}\n\n{after}"
    return text

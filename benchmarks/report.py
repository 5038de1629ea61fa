"""What a benchmark has to say: tables and targets, on a terminal or on a page."""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass
from importlib.metadata import version
from typing import Protocol


@dataclass(frozen=True)
class Table:
    """A plain table.

    >>> print(Table("Sizes", ("what", "rows"), (("small", "10"), ("large", "1,000"))).as_text())
    Sizes
    what   | rows
    ------ | -----
    small  |    10
    large  | 1,000
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def as_text(self) -> str:
        """Give it padded: the first column to the left, the others to the right."""
        lines = (self.columns, *self.rows)
        widths = [max(len(line[at]) for line in lines) for at in range(len(self.columns))]
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
        """Give it as Markdown, the title above it."""
        marks = ["---", *["---:"] * (len(self.columns) - 1)]
        lines = [self.columns, tuple(marks), *self.rows]
        return "\n".join([f"{self.title}:", "", *(f"| {' | '.join(line)} |" for line in lines)])


@dataclass(frozen=True)
class Target:
    """What was wanted, what was seen, and whether that is enough."""

    wanted: str
    seen: str
    reached: bool

    def as_text(self) -> str:
        """Give it as one line."""
        return f"{'reached' if self.reached else 'NOT reached'}: {self.wanted}: {self.seen}"


class Figures(Protocol):
    """What every benchmark gives: a frozen dataclass that can show itself."""

    def tables(self) -> tuple[Table, ...]:
        """Give the figures as tables."""
        ...

    def targets(self) -> tuple[Target, ...]:
        """Compare them with what is wanted; nothing if they are for information."""
        ...


def as_text(figures: Figures) -> str:
    """Show figures on a terminal."""
    blocks = [table.as_text() for table in figures.tables()]
    targets = [target.as_text() for target in figures.targets()]
    return "\n\n".join([*blocks, "\n".join(targets)] if targets else blocks)


def as_markdown(figures: Figures) -> str:
    """Show figures on a page."""
    blocks = [table.as_markdown() for table in figures.tables()]
    targets = [
        f"- Target, {target.as_text().replace('NOT reached', '**not reached**')}"
        for target in figures.targets()
    ]
    return "\n\n".join([*blocks, "\n".join(targets)] if targets else blocks)


def machine() -> str:
    """Describe the machine in general terms."""
    libraries = ", ".join(f"{name} {version(name)}" for name in ("numba", "numpy", "pyarrow"))
    return (
        f"Measured on {os.cpu_count()} cores ({platform.machine()}, {platform.system()})"
        f"{_memory()}, with Python {platform.python_version()}, {libraries}. "
        f"Everything here runs on one core."
    )


def _memory() -> str:
    try:
        size = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):  # a system that does not say
        return ""
    return f" with {size / 2**30:.0f} GiB of memory"


def rewrite(page: str, sections: dict[str, str]) -> str:
    r"""Replace what a page has between the markers of each section.

    >>> page = "Before.\n<!-- a: begin -->\nold\n<!-- a: end -->\nAfter.\n"
    >>> print(rewrite(page, {"a": "new"}), end="")
    Before.
    <!-- a: begin -->
    <BLANKLINE>
    new
    <BLANKLINE>
    <!-- a: end -->
    After.
    """
    for name, text in sections.items():
        begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
        if page.count(begin) != 1 or page.count(end) != 1 or page.index(begin) > page.index(end):
            raise ValueError(
                f'the page must have the markers "{begin}" and, after it, "{end}", once each'
            )
        before, rest = page.split(begin)
        after = rest.split(end)[1]
        page = f"{before}{begin}\n\n{text}\n\n{end}{after}"
    return page

"""Sentences, tables and progress for a terminal; plain lines for anything else."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from threading import Timer
from typing import TYPE_CHECKING

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

__all__ = ["Terminal"]

# Wide enough for any of our tables: a pipe or a file has no margin to wrap at.
_PLAIN_WIDTH = 240


class Terminal:
    """Standard output for results and standard error for progress, for people and for programs.

    A terminal gets colours, lines wrapped at its margin, and while work goes on a spinner with
    words that change. A pipe or a file gets plain lines: for progress, one for each piece of work
    that takes long.

    Parameters
    ----------
    is_terminal
        Whether a terminal shows both; None to ask the system about each.
    patience
        Seconds of work after which progress is printed where there is no spinner.

    Examples
    --------
    >>> Terminal().table(["name", "rows"], [["auctions", "20"], ["bids", "400"]])
    name      rows
    auctions    20
    bids       400
    """

    def __init__(self, *, is_terminal: bool | None = None, patience: float = 2.0) -> None:
        self._is_terminal = sys.stdout.isatty() if is_terminal is None else is_terminal
        self._patience = patience
        self._console = Console(
            force_terminal=self._is_terminal,
            width=None if self._is_terminal else _PLAIN_WIDTH,
            highlight=False,
            emoji=False,
            markup=False,
        )
        shows_progress = sys.stderr.isatty() if is_terminal is None else is_terminal
        self._progress = (
            Console(stderr=True, force_terminal=True, highlight=False, emoji=False, markup=False)
            if shows_progress
            else None
        )

    def say(self, text: str = "") -> None:
        """Print a paragraph."""
        self._console.print(text, soft_wrap=not self._is_terminal)

    def line(self, text: str) -> None:
        """Print a line without breaking it: a command or a path, to be copied whole."""
        self._console.print(text, soft_wrap=True)

    def table(self, headings: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
        """Print a table: names on the left, and figures, right-aligned, after them.

        Parameters
        ----------
        headings
            One for each column; a column is right-aligned if its cells are figures.
        rows
            Their cells.
        """
        cells = [list(row) for row in rows]
        table = Table(
            box=box.SIMPLE_HEAD if self._is_terminal else None,
            show_edge=False,
            pad_edge=False,
            # A box has a column of its own between cells.
            padding=(0, 1 if self._is_terminal else 2, 0, 0),
            header_style="bold",
        )
        for index, heading in enumerate(headings):
            figures = bool(cells) and all(row[index][:1].isdigit() for row in cells)
            table.add_column(Text(heading), justify="right" if figures else "left", vertical="top")
        for row in cells:
            table.add_row(*map(Text, row))
        with self._console.capture() as captured:
            self._console.print(table)
        # Rich fills every line of a table up to its right edge.
        text = "\n".join(line.rstrip() for line in captured.get().splitlines())
        self._console.file.write(text + "\n")

    @contextmanager
    def step(self, words: str) -> Iterator[Callable[[str], None]]:
        """Report what is going on while the body of a ``with`` runs.

        Yields a function to be called, from any thread, with words on how far it is. Only a
        terminal shows these, each in place of the last.
        """
        if self._progress is not None:
            with self._progress.status(Text(words)) as status:
                yield lambda how_far: status.update(Text(f"{words} {how_far}"))
            return
        timer = Timer(self._patience, lambda: sys.stderr.write(words + "\n"))
        timer.daemon = True
        timer.start()
        try:
            yield lambda _: None
        finally:
            timer.cancel()

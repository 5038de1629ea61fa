"""Output options that several commands share: a picture, and figures for programs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from penstock.report.places import STDOUT, file_place

if TYPE_CHECKING:
    from collections.abc import Mapping

    from penstock.report.terminal import Terminal

__all__ = ["Figures", "JsonOption"]

JsonOption: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--json",
        metavar="FILE",
        help="Also write the figures to this file; - writes only them, to standard output.",
    ),
]
"""The option ``--json``; give its value to `Figures` before the work starts."""


class Figures:
    """Where a command writes its figures for programs.

    Parameters
    ----------
    place
        What the user gave for ``--json``; None if nothing.

    Attributes
    ----------
    alone
        Whether standard output is for the figures, so that nothing else may be printed.

    Raises
    ------
    SpecificationError
        If the file cannot be written.
    """

    def __init__(self, place: Path | None) -> None:
        self.alone = place == STDOUT
        self._place = place if place is None or self.alone else file_place(place, "--json")

    def write(self, figures: Mapping[str, object]) -> None:
        """Write the figures as JSON, if they were asked for."""
        text = json.dumps(figures, indent=2) + "\n"
        if self.alone:
            typer.echo(text, nl=False)
        elif self._place is not None:
            self._place.write_text(text, encoding="utf-8")

    def point_out(self, terminal: Terminal) -> None:
        """Print where the figures are, if they are in a file."""
        if self._place is not None and not self.alone:
            terminal.line(f"The figures, for programs: {self._place}")

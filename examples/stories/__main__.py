"""Join three feeds of headlines by what they say, with a fifth of the comparisons."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from examples.stories.feeds import MINUTES, feeds
from examples.stories.joins import join_all
from examples.stories.picture import save_stories
from penstock.report.tables import read_page, write_sections

if TYPE_CHECKING:
    from collections.abc import Sequence

SECTIONS = ("stories",)
"""Names of the sections that the page has for the figures."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Print what each join found, and draw it."""
    options = _parser().parse_args(arguments)
    if options.write:
        read_page(options.write, SECTIONS)
    print("Writing headlines and joining them, some seconds ...")
    joined = join_all(feeds(options.minutes), options.minutes)
    table = joined.table()
    print(table.as_text())
    save_stories(options.plot, joined)
    print(f"\nThe picture: {options.plot}")
    if options.write:
        write_sections(options.write, {"stories": table.as_markdown()})


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m examples.stories", description=__doc__)
    plot = Path("stories.png")
    parser.add_argument("--plot", type=Path, default=plot, metavar="FILE", help="for the picture")
    words = "how long the feeds are"
    parser.add_argument("--minutes", type=int, default=MINUTES, metavar="N", help=words)
    words = "replace the figures of a Markdown page"
    parser.add_argument("--write", type=Path, metavar="PAGE", help=words)
    return parser


if __name__ == "__main__":
    main()

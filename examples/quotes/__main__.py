"""Join trades with quotes in a burst: exact, with a share of the processor, and of a sample."""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from examples.quotes.courses import courses
from examples.quotes.exchange import exchange
from examples.quotes.picture import save_burst
from penstock.report.tables import read_page, write_sections

if TYPE_CHECKING:
    from collections.abc import Sequence

SECTIONS = ("burst",)
"""Names of the sections that the page has for the figures."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Print what each join did, and draw it."""
    options = _parser().parse_args(arguments)
    if options.write:
        read_page(options.write, SECTIONS)
    streams = exchange()
    found = courses(streams)
    table, sentences = found.table(), found.sentences()
    print(table.as_text())
    print(f"\n{sentences}\n")
    print(found.limited.metrics)
    save_burst(options.plot, found)
    print(f"\nThe picture: {options.plot}")
    if options.write:
        write_sections(options.write, {"burst": f"{table.as_markdown()}\n\n{sentences}"})
    if options.spark:
        # Only here: the rest runs without Spark.
        from examples.quotes.on_spark import run_on_spark  # noqa: PLC0415
        from penstock.spark import session  # noqa: PLC0415

        with tempfile.TemporaryDirectory() as folder:
            print(run_on_spark(session(), streams, Path(folder)))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m examples.quotes", description=__doc__)
    plot = Path("quotes.png")
    parser.add_argument("--plot", type=Path, default=plot, metavar="FILE", help="for the picture")
    words = "replace the figures of a Markdown page"
    parser.add_argument("--write", type=Path, metavar="PAGE", help=words)
    parser.add_argument("--spark", action="store_true", help="run it on Spark as well")
    return parser


if __name__ == "__main__":
    main()

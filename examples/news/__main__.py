"""Join two news agencies by story, with little memory, and see which news are found."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from examples.news.agencies import Day, day, tables
from examples.news.figures import by_hour, by_topic, other_days, scenario, totals
from examples.news.picture import save_news
from penstock.report.tables import Table, read_page, write_sections

if TYPE_CHECKING:
    from collections.abc import Sequence

STORIES = 6_000
# Skew and seed of two more days of the same kind, and of one on which stories are more alike.
OTHERS = ((0.5, 2), (0.5, 3), (0.3, 1))
SECTIONS = ("scenario", "totals", "until", "from", "hours", "days")
"""Names of the sections that the page has for the figures."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Print what each strategy finds, and draw it."""
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.write and options.stories != STORIES:
        parser.error("--write must go without --stories: the page is about the whole day")
    if options.write:
        read_page(options.write, SECTIONS)

    shown = day(tables(options.stories), unchanged=True)
    others = {"this one": shown} | {
        f"zipf={zipf}, seed={seed}": day(tables(options.stories, zipf=zipf, seed=seed))
        for zipf, seed in OTHERS
    }
    figures = sections(shown, others)
    print(
        "\n\n".join(each if isinstance(each, str) else each.as_text() for each in figures.values())
    )
    save_news(options.plot, shown)
    print(f"\nThe picture: {options.plot}")
    if options.write:
        written = {
            name: each if isinstance(each, str) else each.as_markdown()
            for name, each in figures.items()
        }
        write_sections(options.write, written)


def sections(shown: Day, others: dict[str, Day]) -> dict[str, str | Table]:
    """Return what is printed, by the names of `SECTIONS`."""
    figures = (
        scenario(shown),
        totals(shown),
        by_topic(shown, evening=False),
        by_topic(shown, evening=True),
        by_hour(shown),
        other_days(others),
    )
    return dict(zip(SECTIONS, figures, strict=True))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m examples.news", description=__doc__)
    parser.add_argument("--stories", type=int, default=STORIES, help=f"in a day; {STORIES:,}")
    plot = Path("news.png")
    parser.add_argument("--plot", type=Path, default=plot, metavar="FILE", help="for the picture")
    words = "replace the figures of a Markdown page"
    parser.add_argument("--write", type=Path, metavar="PAGE", help=words)
    return parser


if __name__ == "__main__":
    main()

"""The commands ``penstock bench join``, ``burst``, ``harvest`` and ``overload``."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from penstock import __version__
from penstock.errors import SessionError
from penstock.report import outputs
from penstock.report.places import picture_place
from penstock.report.tables import read_page, write_sections
from penstock.report.terminal import Terminal

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

    from penstock.bench import OverloadFigures
    from penstock.bench.live import BurstFigures, HarvestFigures

__all__ = ["bench", "need_spark"]

_BURST_PICTURE = "penstock-burst.png"
_HARVEST_PICTURE = "penstock-harvest.png"
_OVERLOAD_PICTURE = "penstock-overload.png"
# Sections that benchmarks in real time write on their pages.
_LIVE_SECTIONS = ("queries", "targets")

_PageOption: TypeAlias = Annotated[
    Path | None,
    typer.Option("--write", metavar="PAGE", help="Also replace the tables on this Markdown page."),
]

bench = typer.Typer(no_args_is_help=True, help="Measure speed on this machine.")


def need_spark(what: str) -> None:
    """Raise an error that says what to install, if Spark is not there."""
    try:
        import penstock.spark  # noqa: F401, PLC0415  # only some commands need it
    except ModuleNotFoundError as error:
        message = f'{what} needs {error.name}; pip install "penstock[cli,spark]"'
        raise SessionError(message) from error


@bench.command()
def join(
    *,
    rows: Annotated[int, typer.Option(help="Rows of each stream in a micro-batch.")] = 100_000,
    keys: Annotated[int, typer.Option(help="Number of different keys.")] = 20_000,
    batches: Annotated[int, typer.Option(help="Measured micro-batches, after 4 to warm up.")] = 10,
    turns: Annotated[
        int, typer.Option(help="How often the quick queries run; the first time is to warm up.")
    ] = 2,
    spark: Annotated[
        bool, typer.Option(help="Also measure Spark's own join, which takes minutes.")
    ] = True,
    json_file: outputs.JsonOption = None,
) -> None:
    """Measure Penstock's join on Spark and Spark's own join, on the same files.

    The join is an equality of two streams within a time range, with about 5 results for each row
    of the left stream. The floor is the cost of any operator in Python: to Python, through a
    shuffle, and to Python again.
    """
    terminal = Terminal()
    figures = outputs.Figures(json_file)
    need_spark("the benchmark")
    from penstock.bench import Size, bench_join  # noqa: PLC0415  # other commands need no Spark
    from penstock.spark import session  # noqa: PLC0415  # as above

    size = Size(rows=rows, keys=keys, batches=batches, turns=turns)
    with terminal.step("Starting Spark ..."):
        running = session(memory="4g")
    found = bench_join(running, size, with_spark=spark, step=terminal.step)
    figures.write(found.as_json() | {"penstock": __version__})
    if figures.alone:
        return
    terminal.table(found.headings, found.rows())
    terminal.say()
    terminal.table(["ratio", "is", "wanted", ""], [each.cells() for each in found.targets()])
    figures.point_out(terminal)


@bench.command()
def burst(
    *,
    seconds: Annotated[
        int,
        typer.Option(
            help="Length of the burst; before it are half as many that count, after it as many."
        ),
    ] = 30,
    spark: Annotated[bool, typer.Option(help="Also run Spark's own join.")] = True,
    plot: Annotated[
        Path, typer.Option(help="Folder or file (.png, .svg or .pdf) for the picture.")
    ] = Path(_BURST_PICTURE),
    json_file: outputs.JsonOption = None,
    page: _PageOption = None,
) -> None:
    """Join two streams in real time, with a burst for which the exact join is too slow.

    A short calibration chooses the rates for this machine. Then Penstock with a CPU budget,
    Penstock on samples of the rows, Penstock exact and Spark's own join run one after the other
    on the same streams, with triggers of one second, or of more where an empty micro-batch takes
    more than a quarter of one. Recall is measured against the true number of results.
    """
    out = _Output.of(plot, _BURST_PICTURE, json_file, page)
    from penstock.bench import live  # noqa: PLC0415  # as above

    load = live.Burst(live.Phases.of(seconds), with_spark=spark)
    found = live.bench_live(out.start(), load, live.BurstFigures, step=out.terminal.step)
    out.hand_out(found, partial(live.save_live_plot, out.picture, found))


@bench.command()
def harvest(
    *,
    seconds: Annotated[
        int, typer.Option(help="How long each of the three joins is measured, after 15 s.")
    ] = 60,
    plot: Annotated[
        Path, typer.Option(help="Folder or file (.png, .svg or .pdf) for the picture.")
    ] = Path(_HARVEST_PICTURE),
    json_file: outputs.JsonOption = None,
    page: _PageOption = None,
) -> None:
    """Join three streams of vectors in real time, twice as fast as the exact join can.

    A short calibration chooses the rate for this machine. Then Penstock with a CPU budget, the
    same with rows dropped at random, and Penstock exact run one after the other on the same
    streams. Recall is measured against the true number of results.
    """
    out = _Output.of(plot, _HARVEST_PICTURE, json_file, page)
    from penstock.bench import live  # noqa: PLC0415  # as above

    load = live.Harvest(seconds)
    found = live.bench_live(out.start(), load, live.HarvestFigures, step=out.terminal.step)
    out.hand_out(found, partial(live.save_live_plot, out.picture, found))


@bench.command()
def overload(
    *,
    seconds: Annotated[
        int, typer.Option(help="How long each of the two queries is measured, after 33 s.")
    ] = 40,
    plot: Annotated[
        Path, typer.Option(help="Folder or file (.png, .svg or .pdf) for the picture.")
    ] = Path(_OVERLOAD_PICTURE),
    json_file: outputs.JsonOption = None,
    page: _PageOption = None,
) -> None:
    """Run a query of three streams in real time, at twice the rate that it can take.

    A short calibration chooses the rate for this machine. Then the query runs with drop boxes that
    leave out 80 % of each stream, and after that with nothing dropped, on the same streams.
    """
    out = _Output.of(plot, _OVERLOAD_PICTURE, json_file, page)
    from penstock.bench import bench_overload, save_overload_plot  # noqa: PLC0415  # as above

    found = bench_overload(out.start(), seconds, step=out.terminal.step)
    out.hand_out(found, partial(save_overload_plot, out.picture, found))


@dataclass(frozen=True)
class _Output:
    """Where the figures of a benchmark in real time go; checked before it takes its minutes."""

    terminal: Terminal
    picture: Path
    figures: outputs.Figures
    page: Path | None

    @classmethod
    def of(cls, plot: Path, usual: str, json_file: Path | None, page: Path | None) -> _Output:
        """Check what the options name; `usual` is the picture's name if `plot` is a folder."""
        picture = picture_place(plot, "--plot", usual)
        figures = outputs.Figures(json_file)
        if page is not None:
            read_page(page, _LIVE_SECTIONS)
        need_spark("the benchmark")
        return cls(Terminal(), picture, figures, page)

    def start(self) -> SparkSession:
        """Start Spark."""
        from penstock.spark import session  # noqa: PLC0415  # as above

        with self.terminal.step("Starting Spark ..."):
            return session(memory="4g")

    def hand_out(
        self, found: BurstFigures | HarvestFigures | OverloadFigures, draw: Callable[[], None]
    ) -> None:
        """Draw, write and print what was measured."""
        terminal = self.terminal
        with terminal.step("Drawing the picture ..."):
            draw()
        said = {"penstock": __version__, "picture": str(self.picture)}
        self.figures.write(found.as_json() | said)
        tables = found.tables()
        if self.page is not None:
            sections = {name: tables[name].as_markdown() for name in _LIVE_SECTIONS}
            write_sections(self.page, sections)
        if self.figures.alone:
            return
        terminal.say(found.sentences())
        for table in tables.values():
            terminal.say()
            terminal.table(table.headings, table.rows)
        terminal.say()
        terminal.line(f"The picture: {self.picture}")
        self.figures.point_out(terminal)

"""The command line: one function for each command, with its steps in order."""

from __future__ import annotations

import inspect
import logging
import re
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

try:
    import typer
except ModuleNotFoundError as error:
    message = 'penstock: the command line needs more libraries; pip install "penstock[cli]"'
    raise SystemExit(message) from error

from penstock import __version__
from penstock.capacity.command import explain
from penstock.engine.kernel_cache import cache_folder
from penstock.errors import PenstockError, SessionError
from penstock.planning.command import plan
from penstock.report import outputs
from penstock.report.places import picture_place
from penstock.report.recall_plots import save_recall_plot
from penstock.report.tables import read_page, write_sections
from penstock.report.terminal import Terminal
from penstock.state_command import state
from penstock.strategies import STRATEGIES, WORK_STRATEGIES, Resource
from penstock.studies.command import study
from penstock.warm import compile_kernels
from penstock.workload.command import explain_workload

if TYPE_CHECKING:
    from collections.abc import Sequence

    from penstock.bench import OverloadFigures
    from penstock.bench.live import BurstFigures, HarvestFigures
    from penstock.strategies import Strategy

__all__ = ["app", "main"]

_PICTURE = "penstock-demo.png"
_BURST_PICTURE = "penstock-burst.png"
_HARVEST_PICTURE = "penstock-harvest.png"
_OVERLOAD_PICTURE = "penstock-overload.png"
# Sections that benchmarks in real time write on their pages.
_LIVE_SECTIONS = ("queries", "targets")
_SAVED = {Resource.MEMORY: "memory", Resource.CPU: "cpu", Resource.BOTH: "memory, cpu"}
# As docstrings name a paper: author and year.
_PAPER = re.compile(r"`([a-z]+\d\d)`")
# As in shells: 128 plus the number of the signal.
_INTERRUPTED = 130

_PageOption: TypeAlias = Annotated[
    Path | None,
    typer.Option("--write", metavar="PAGE", help="Also replace the tables on this Markdown page."),
]

app = typer.Typer(
    name="penstock",
    no_args_is_help=True,
    # Our own errors are one line; for a bug report Python's own traceback is best.
    pretty_exceptions_enable=False,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

bench = typer.Typer(no_args_is_help=True, help="Measure speed on this machine.")
app.add_typer(bench, name="bench")
app.add_typer(study, name="study")
app.add_typer(state, name="state")
app.command()(explain)
app.command()(explain_workload)
app.command()(plan)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line.

    An error that Penstock raises on purpose is printed as one line, with exit code 2. So is
    Ctrl-C, with exit code 130.

    Parameters
    ----------
    arguments
        The arguments after the program's name; None for those of the process.
    """
    # Ctrl-C interrupts Python while it talks to Java, which would be logged at length.
    logging.getLogger().addHandler(logging.NullHandler())
    try:
        app(args=arguments)
    except PenstockError as error:
        message = " ".join(str(error).split())
        typer.echo(f"penstock: {message}", err=True)
        sys.exit(2)
    except SystemExit as end:
        if end.code == _INTERRUPTED:  # what Typer makes of Ctrl-C, without a message
            typer.echo("penstock: interrupted", err=True)
        raise


def _show_version(*, asked: bool) -> None:
    if asked:
        typer.echo(f"penstock {__version__}")
        raise typer.Exit


@app.callback()
def penstock(
    *,
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    """Join data streams within a memory budget, and report how much of the result was lost."""
    del version


@app.command()
def demo(
    *,
    auctions: Annotated[
        int, typer.Option(help="Number of auctions; each gets about 20 bids.")
    ] = 20_000,
    memory: Annotated[
        str,
        typer.Option(help="Rows that the join may hold, in percent of the exact join's."),
    ] = "10%",
    seed: Annotated[int, typer.Option(help="Seed of the generated market and of the joins.")] = 0,
    output: Annotated[
        Path, typer.Option(help="Folder or file (.png, .svg or .pdf) for the picture.")
    ] = Path(_PICTURE),
    json_file: outputs.JsonOption = None,
) -> None:
    """Join an auction site's bids with its auctions: exactly, then with a part of the memory.

    Runs on Spark, on two cores of this machine. Prints the recall of each strategy, the share of
    the exact results that it finds, and draws it over time.
    """
    terminal = Terminal()
    picture = picture_place(output, "--output", _PICTURE)
    figures = outputs.Figures(json_file)
    _need_spark("the demo")
    from penstock.demo import demonstrate  # noqa: PLC0415  # other commands need no Spark

    found = demonstrate(auctions=auctions, memory=memory, seed=seed, step=terminal.step)
    with terminal.step("Drawing the picture ..."):
        save_recall_plot(
            picture,
            edges=found.edges_days,
            recall={run.strategy: run.recall_in_bins for run in found.runs},
            labels=found.labels,
            title=found.question,
            subtitle=found.subject,
            mark=found.mark,
        )
    figures.write(found.as_json() | {"penstock": __version__, "picture": str(picture)})
    if figures.alone:
        return

    terminal.say(found.sentences)
    terminal.say()
    terminal.table(found.headings, [run.cells() for run in found.runs])
    terminal.say()
    terminal.say(found.note)
    terminal.say()
    terminal.say(f'What "{found.runs[-1].strategy}" reports about itself (print(metrics)):')
    for line in found.runs[-1].summary.splitlines():
        terminal.line(f"  {line}")
    terminal.say()
    terminal.line(f"Recall over time: {picture}")
    figures.point_out(terminal)
    terminal.say()
    terminal.say("Next steps:")
    program = _program()
    ways = {
        f"{program} demo --memory 50%": "the same with half of the memory",
        f"{program} strategies": "what each strategy does",
        "penstock.Join, in Python": "your own streams",
    }
    for way, what in ways.items():
        terminal.line(f"  {way:{max(map(len, ways))}}  {what}")


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
    _need_spark("the benchmark")
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
    terminal = Terminal()
    picture = picture_place(plot, "--plot", _BURST_PICTURE)
    figures = outputs.Figures(json_file)
    if page is not None:
        read_page(page, _LIVE_SECTIONS)
    _need_spark("the benchmark")
    from penstock.bench import live  # noqa: PLC0415  # as above
    from penstock.spark import session  # noqa: PLC0415  # as above

    load = live.Burst(live.Phases.of(seconds), with_spark=spark)
    with terminal.step("Starting Spark ..."):
        running = session(memory="4g")
    found = live.bench_live(running, load, live.BurstFigures, step=terminal.step)
    with terminal.step("Drawing the picture ..."):
        live.save_live_plot(picture, found)
    _hand_out(terminal, found, picture, figures, page)


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
    terminal = Terminal()
    picture = picture_place(plot, "--plot", _HARVEST_PICTURE)
    figures = outputs.Figures(json_file)
    if page is not None:
        read_page(page, _LIVE_SECTIONS)
    _need_spark("the benchmark")
    from penstock.bench import live  # noqa: PLC0415  # as above
    from penstock.spark import session  # noqa: PLC0415  # as above

    load = live.Harvest(seconds)
    with terminal.step("Starting Spark ..."):
        running = session(memory="4g")
    found = live.bench_live(running, load, live.HarvestFigures, step=terminal.step)
    with terminal.step("Drawing the picture ..."):
        live.save_live_plot(picture, found)
    _hand_out(terminal, found, picture, figures, page)


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
    terminal = Terminal()
    picture = picture_place(plot, "--plot", _OVERLOAD_PICTURE)
    figures = outputs.Figures(json_file)
    if page is not None:
        read_page(page, _LIVE_SECTIONS)
    _need_spark("the benchmark")
    from penstock.bench import bench_overload, save_overload_plot  # noqa: PLC0415  # as above
    from penstock.spark import session  # noqa: PLC0415  # as above

    with terminal.step("Starting Spark ..."):
        running = session(memory="4g")
    found = bench_overload(running, seconds, step=terminal.step)
    with terminal.step("Drawing the picture ..."):
        save_overload_plot(picture, found)
    _hand_out(terminal, found, picture, figures, page)


def _hand_out(
    terminal: Terminal,
    found: BurstFigures | HarvestFigures | OverloadFigures,
    picture: Path,
    figures: outputs.Figures,
    page: Path | None,
) -> None:
    """Write and print what was measured in real time."""
    figures.write(found.as_json() | {"penstock": __version__, "picture": str(picture)})
    tables = found.tables()
    if page is not None:
        write_sections(page, {name: tables[name].as_markdown() for name in _LIVE_SECTIONS})
    if figures.alone:
        return
    terminal.say(found.sentences())
    for table in tables.values():
        terminal.say()
        terminal.table(table.headings, table.rows)
    terminal.say()
    terminal.line(f"The picture: {picture}")
    figures.point_out(terminal)


@app.command()
def strategies() -> None:
    """List the strategies: what each saves and does, the goals that it serves, and its paper."""
    Terminal().table(
        ["strategy", "saves", "goals", "from", "what it does"],
        [
            (
                name,
                _SAVED[strategy.spends],
                ", ".join(goal.__name__ for goal in strategy.serves),
                _origin(strategy),
                (inspect.getdoc(strategy) or "").partition("\n")[0],
            )
            for name, strategy in {**STRATEGIES, **WORK_STRATEGIES}.items()
        ],
    )


def _origin(strategy: type[Strategy]) -> str:
    """Return the paper that a strategy is from, by the references of its docstring.

    >>> _origin(STRATEGIES["age"]), _origin(STRATEGIES["best"])
    ('srivastava04', 'ours')
    """
    references = (inspect.getdoc(strategy) or "").partition("References\n----------\n")[2]
    paper = _PAPER.search(references)
    return "ours" if references.startswith("Ours") or paper is None else paper[1]


@app.command()
def warm(
    *,
    processes: Annotated[
        int, typer.Option(min=1, help="Processes that compile at a time, four at most.")
    ] = 2,
) -> None:
    """Compile the kernels ahead of time, so that the first join does not wait for it.

    For images, and before tests. The code is kept on disk and is good for the same Python, Numba
    and kind of processor. If the package's folder cannot be written, set NUMBA_CACHE_DIR.
    """
    folder = cache_folder()
    if folder is None:
        raise SessionError("the JIT is off: NUMBA_DISABLE_JIT is set; unset it to compile")
    terminal = Terminal()
    with terminal.step("Compiling the kernels, for a few minutes ...") as tell:
        compile_kernels(processes=processes, report=tell)
    terminal.line(f"The kernels are compiled, in {folder} and beside it.")


def _need_spark(what: str) -> None:
    try:
        import penstock.spark  # noqa: F401, PLC0415  # only some commands need it
    except ModuleNotFoundError as error:
        message = f'{what} needs {error.name}; pip install "penstock[cli,spark]"'
        raise SessionError(message) from error


def _program() -> str:
    """Return the command that starts this program from the user's folder."""
    return "penstock" if shutil.which("penstock") else sys.argv[0]

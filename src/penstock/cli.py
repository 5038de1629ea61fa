"""The command line: one function for each command, with its steps in order."""

from __future__ import annotations

import inspect
import logging
import re
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

try:
    import typer
except ModuleNotFoundError as error:
    message = 'penstock: the command line needs more libraries; pip install "penstock[cli]"'
    raise SystemExit(message) from error

from penstock import __version__
from penstock.bench_command import bench, need_spark
from penstock.capacity.command import explain
from penstock.engine.kernel_cache import cache_folder
from penstock.errors import PenstockError, SessionError
from penstock.planning.command import plan
from penstock.report import outputs
from penstock.report.places import picture_place
from penstock.report.recall_plots import save_recall_plot
from penstock.report.terminal import Terminal
from penstock.state_command import state
from penstock.strategies import STRATEGIES, WORK_STRATEGIES, Resource
from penstock.studies.command import study
from penstock.warm import compile_kernels
from penstock.workload.command import explain_workload

if TYPE_CHECKING:
    from collections.abc import Sequence

    from penstock.strategies import Strategy

__all__ = ["app", "main"]

_PICTURE = "penstock-demo.png"
_SAVED = {Resource.MEMORY: "memory", Resource.CPU: "cpu", Resource.BOTH: "memory, cpu"}
# As docstrings name a paper: author and year.
_PAPER = re.compile(r"`([a-z]+\d\d)`")
# As in shells: 128 plus the number of the signal.
_INTERRUPTED = 130

app = typer.Typer(
    name="penstock",
    no_args_is_help=True,
    # Our own errors are one line; for a bug report Python's own traceback is best.
    pretty_exceptions_enable=False,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

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
    need_spark("the demo")
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


def _program() -> str:
    """Return the command that starts this program from the user's folder."""
    return "penstock" if shutil.which("penstock") else sys.argv[0]

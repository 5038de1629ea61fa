"""The command line: one function for each command, which says what happens in what order."""

from __future__ import annotations

import inspect
import json
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
from penstock.demo import demonstrate
from penstock.errors import PenstockError
from penstock.report.places import STDOUT, file_place, picture_place
from penstock.report.recall_plot import save_recall_plot
from penstock.report.terminal import Terminal
from penstock.strategies import STRATEGIES

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["app", "main"]

_PICTURE = "penstock-demo.png"

app = typer.Typer(
    name="penstock",
    no_args_is_help=True,
    # Errors of ours are one line, and Python's own traceback serves a report of any other best.
    pretty_exceptions_enable=False,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; errors that Penstock raises on purpose are one line and exit code 2.

    Parameters
    ----------
    arguments
        What follows the program's name; None for what the program was called with.
    """
    try:
        app(args=arguments)
    except PenstockError as error:
        message = " ".join(str(error).split())
        typer.echo(f"penstock: {message}", err=True)
        sys.exit(2)


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
            "--version", callback=_show_version, is_eager=True, help="Say the version and exit."
        ),
    ] = False,
) -> None:
    """Join data streams within a memory budget, and say how much of the answer was lost."""
    del version


@app.command()
def demo(
    *,
    auctions: Annotated[
        int, typer.Option(help="How many auctions open; about 20 bids come in for each.")
    ] = 20_000,
    memory: Annotated[
        str, typer.Option(help="Rows to make do with, in percent of what the exact join holds.")
    ] = "10%",
    seed: Annotated[int, typer.Option(help="Of the market and the joins.")] = 0,
    output: Annotated[
        Path, typer.Option(help="Folder or file (.png, .svg or .pdf) for the picture.")
    ] = Path(_PICTURE),
    json_file: Annotated[
        Path | None,
        typer.Option(
            "--json",
            metavar="FILE",
            help="Also write the figures here; - for standard output, and then nothing else there.",
        ),
    ] = None,
) -> None:
    """Join an auction site's bids with its auctions: exactly, then with a part of the memory.

    Prints how much of the exact answer each strategy gives, and draws it over time.
    """
    terminal = Terminal()
    picture = picture_place(output, "--output", _PICTURE)
    if json_file is not None and json_file != STDOUT:
        json_file = file_place(json_file, "--json")

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
    if json_file is not None:
        figures = found.as_json() | {"penstock": __version__, "picture": str(picture)}
        text = json.dumps(figures, indent=2) + "\n"
        if json_file == STDOUT:
            typer.echo(text, nl=False)
            return
        json_file.write_text(text, encoding="utf-8")

    terminal.say(found.sentences)
    terminal.say()
    terminal.table(found.headings, [run.cells() for run in found.runs])
    terminal.say()
    terminal.line(f"Recall over time: {picture}")
    if json_file is not None:
        terminal.line(f"The figures, for programs: {json_file}")
    terminal.say()
    terminal.say("To go on:")
    program = _program()
    ways = {
        f"{program} demo --memory 50%": "the same with half of the memory",
        f"{program} strategies": "what each strategy does",
        "penstock.Join, in Python": "your own tables",
    }
    for way, what in ways.items():
        terminal.line(f"  {way:{max(map(len, ways))}}  {what}")


@app.command()
def strategies() -> None:
    """List the strategies: what each does when memory is short, and the goals that it serves."""
    Terminal().table(
        ["strategy", "goals", "what it does"],
        [
            (
                name,
                ", ".join(goal.__name__ for goal in strategy.serves),
                (inspect.getdoc(strategy) or "").partition("\n")[0],
            )
            for name, strategy in STRATEGIES.items()
        ],
    )


def _program() -> str:
    """Say how this program can be called from where the user is."""
    return "penstock" if shutil.which("penstock") else sys.argv[0]

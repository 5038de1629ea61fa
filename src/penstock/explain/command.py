"""The command ``penstock explain``."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from penstock import __version__ as version
from penstock.budget import Budget
from penstock.errors import SpecificationError, must
from penstock.explain.answer import Answer
from penstock.explain.files import alike, read_sample
from penstock.explain.trial import try_strategies
from penstock.explain.words import by_stream, duration, named, predicate, share
from penstock.join import Join
from penstock.report.places import STDOUT, file_place, picture_place
from penstock.report.recall_plots import BudgetQuestion, save_memory_plot
from penstock.report.terminal import Terminal
from penstock.spec import Stream

__all__ = ["explain"]

_PICTURE = "penstock-explain.png"
_EACH = "NAME=... for one stream, without NAME= for the others"


def explain(
    *,
    stream: Annotated[
        list[str],
        typer.Option(
            metavar="NAME=FILE",
            help="A stream and a sample of it: Parquet (a file or a folder) or CSV. Two or more.",
        ),
    ],
    time: Annotated[
        list[str], typer.Option(metavar="COLUMN", help=f"That holds the time; {_EACH}.")
    ],
    window: Annotated[
        list[str],
        typer.Option(metavar="DURATION", help=f'As "7 days", or a number if time is one; {_EACH}.'),
    ],
    on: Annotated[
        list[str],
        typer.Option(metavar="COLUMN", help=f"That is compared, or several with commas; {_EACH}."),
    ],
    within: Annotated[
        str | None,
        typer.Option(metavar="DISTANCE", help="Join what is no further apart, instead of equals."),
    ] = None,
    band: Annotated[
        str | None,
        typer.Option(
            metavar="LOW:HIGH",
            help="Join if the later stream's value less the earlier's is in this.",
        ),
    ] = None,
    compare: Annotated[
        str | None, typer.Option(metavar="OPERATOR", help="Join by one of < <= = != > >=.")
    ] = None,
    rows: Annotated[int | None, typer.Option(help="Rows that the join may hold.")] = None,
    memory: Annotated[
        str | None,
        typer.Option(
            help="The same in bytes (64MB), or in percent of what the exact join holds.",
            show_default="10%",
        ),
    ] = None,
    try_: Annotated[
        bool, typer.Option("--try", help="Also run every strategy over the sample: slower, surer.")
    ] = False,
    recall: Annotated[str, typer.Option(help="Share of the exact results that you wish.")] = "90%",
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
    """Predict from a sample of your own data how much of a join a budget would give.

    Says what recall each strategy should reach with the memory, how many rows
    a wished recall takes, and which strategy to choose. For example:

    penstock explain --memory 10% --recall 90%
    --stream auctions=auctions.parquet --stream bids=bids.csv
    --time auctions=opened_at --time bids=at
    --window auctions="7 days" --window bids="0 seconds"
    --on auctions=id --on bids=auction_id
    """
    terminal = Terminal()
    wished = share(recall, "--recall", "90%")
    files = named(stream, "--stream", "bids=bids.parquet")
    columns = by_stream(on, "--on", list(files))
    times = by_stream(time, "--time", list(files))
    windows = by_stream(window, "--window", list(files))
    join = Join(
        streams={name: Stream(time=times[name], window=duration(windows[name])) for name in files},
        on=predicate(columns, within=within, band=band, compare=compare),
    )
    budget = _budget(rows, memory)
    picture = picture_place(output, "--output", _PICTURE)
    if json_file is not None and json_file != STDOUT:
        json_file = file_place(json_file, "--json")

    tables = {}
    for name, file in files.items():
        with terminal.step(f"Reading {file} ..."):
            tables[name] = read_sample(name, file)
    tables = alike(tables, times)
    with terminal.step("Joining the sample exactly, and measuring ..."):
        statistics = join.measure(tables)
    if not statistics.needed_rows:
        hint = "without one no row waits for others, and there is no memory to save"
        raise SpecificationError(must("--window", "above zero for a stream", windows, hint))
    if isinstance(budget, float):
        budget = Budget(rows=max(round(budget * statistics.needed_rows), len(files)))
    limited = replace(join, budget=budget)
    tried = try_strategies(limited, tables, statistics.results, terminal.step) if try_ else {}
    answer = Answer(limited, limited.predict(statistics), wished, tried)
    with terminal.step("Drawing the picture ..."):
        curve = answer.prediction.curve()
        best = answer.prediction.best
        save_memory_plot(
            picture,
            rows=curve.rows,
            recall=answer.lines(curve),
            title="How much of the join does memory buy?",
            subtitle=answer.sample(),
            question=BudgetQuestion(answer.rows, wished, answer.prediction.rows_for(wished, best)),
        )
    if json_file is not None:
        figures = answer.as_json(curve) | {"penstock": version, "picture": str(picture)}
        text = json.dumps(figures, indent=2) + "\n"
        if json_file == STDOUT:
            typer.echo(text, nl=False)
            return
        json_file.write_text(text, encoding="utf-8")
    _show(terminal, answer)
    terminal.line(f"Recall against memory: {picture}")
    if json_file is not None:
        terminal.line(f"The figures, for programs: {json_file}")


def _budget(rows: int | None, memory: str | None) -> Budget | float:
    """Give the budget, or the share of the exact join's rows that it is to be."""
    if rows is not None and memory is not None:
        hint = "leave one of them out"
        raise SpecificationError(must("budget", "--rows or --memory", (rows, memory), hint))
    if rows is not None:
        return Budget(rows=rows)
    if memory is None or memory.rstrip().endswith("%"):
        return share(memory or "10%", "--memory", "10%")
    return Budget(memory=memory)


def _show(terminal: Terminal, answer: Answer) -> None:
    terminal.say(answer.sample())
    terminal.say()
    terminal.table(*answer.streams())
    terminal.say()
    terminal.table(*answer.strategies())
    terminal.say()
    if answer.tried:
        terminal.table(*answer.trials())
        terminal.say()
    terminal.say(answer.choice())
    for warning in answer.warnings():
        terminal.say(f"Beware: {warning}")
    terminal.say()

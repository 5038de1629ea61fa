"""The command ``penstock explain``."""

from __future__ import annotations

from dataclasses import replace
from importlib.metadata import version
from pathlib import Path  # noqa: TC003  # Typer reads annotations when the program runs
from typing import TYPE_CHECKING, Annotated

import typer

from penstock.budget import Budget
from penstock.capacity.explanation import Explanation
from penstock.capacity.measure import measure
from penstock.capacity.options import (
    parse_duration,
    parse_files,
    parse_predicate,
    parse_share,
    per_stream,
)
from penstock.capacity.prediction import predict
from penstock.capacity.recommendation import try_strategies
from penstock.capacity.sample_files import comparable_times, read_sample
from penstock.errors import SpecificationError, must
from penstock.report import outputs
from penstock.report.places import picture_place
from penstock.report.recall_plots import BudgetQuestion, save_memory_plot
from penstock.report.terminal import Terminal
from penstock.spec import Specification, Stream

if TYPE_CHECKING:
    from penstock.capacity.prediction import RecallCurve

__all__ = ["explain"]

_PICTURE = "penstock-explain.png"
_EACH = "NAME=... for one stream, without NAME= for the others"


def explain(
    *,
    stream: Annotated[
        list[str],
        typer.Option(
            metavar="NAME=FILE",
            help="A stream and a sample of it: Parquet (a file or a folder), CSV or JSON lines. "
            "Two or more.",
        ),
    ],
    time: Annotated[
        list[str], typer.Option(metavar="COLUMN", help=f"Column that holds the time; {_EACH}.")
    ],
    window: Annotated[
        list[str],
        typer.Option(
            metavar="DURATION", help=f'Such as "7 days", or a number if time is a number; {_EACH}.'
        ),
    ],
    on: Annotated[
        list[str],
        typer.Option(
            metavar="COLUMN", help=f"Column that is compared, or several with commas; {_EACH}."
        ),
    ],
    within: Annotated[
        str | None,
        typer.Option(
            metavar="DISTANCE",
            help="Join values that differ by at most this, instead of equal values.",
        ),
    ] = None,
    band: Annotated[
        str | None,
        typer.Option(
            metavar="LOW:HIGH",
            help="Join if the later stream's value minus the earlier's is in this range.",
        ),
    ] = None,
    compare: Annotated[
        str | None, typer.Option(metavar="OPERATOR", help="Join by one of < <= = != > >=.")
    ] = None,
    rows: Annotated[int | None, typer.Option(help="Rows that the join may hold in memory.")] = None,
    memory: Annotated[
        str | None,
        typer.Option(
            help="The same in bytes (64MB), or in percent of the rows of the exact join.",
            show_default="10%",
        ),
    ] = None,
    try_: Annotated[
        bool,
        typer.Option(
            "--try", help="Also run every strategy over the sample: slower, but measured."
        ),
    ] = False,
    recall: Annotated[str, typer.Option(help="Share of the exact results that you want.")] = "90%",
    output: Annotated[
        Path | None,
        typer.Option(
            help="Also draw recall against memory: folder or file (.png, .svg or .pdf).",
            show_default="no picture",
        ),
    ] = None,
    json_file: outputs.JsonOption = None,
) -> None:
    """Predict from a sample of your own data how much of a join a budget would find.

    Shows the recall that each strategy is expected to reach with the memory, the rows and
    megabytes that a target recall needs, and which strategy to use. For example:

    penstock explain --memory 10% --recall 90%
    --stream auctions=auctions.parquet --stream bids=bids.csv
    --time auctions=opened_at --time bids=at
    --window auctions="7 days" --window bids="0 seconds"
    --on auctions=id --on bids=auction_id
    """
    terminal = Terminal()
    target = parse_share(recall, "--recall", "90%")
    files = parse_files(stream, "--stream", "bids=bids.parquet")
    columns = per_stream(on, "--on", list(files))
    times = per_stream(time, "--time", list(files))
    windows = per_stream(window, "--window", list(files))
    join = Specification(
        streams={
            name: Stream(time=times[name], window=parse_duration(windows[name])) for name in files
        },
        on=parse_predicate(columns, within=within, band=band, compare=compare),
    )
    budget = _budget(rows, memory)
    picture = None if output is None else picture_place(output, "--output", _PICTURE)
    figures = outputs.Figures(json_file)

    tables = {}
    for name, file in files.items():
        with terminal.step(f"Reading {file} ..."):
            tables[name] = read_sample(name, file, times[name])
    tables, remarks = comparable_times(tables, times)
    with terminal.step("Joining the sample exactly and measuring ..."):
        statistics = measure(join, tables)
    if not statistics.needed_rows:
        hint = "if all windows are zero, no row has to be kept in memory"
        raise SpecificationError(must("--window", "above zero for a stream", windows, hint))
    if isinstance(budget, float):
        budget = Budget(rows=max(round(budget * statistics.needed_rows), len(files)))
    limited = replace(join, budget=budget)
    tried = try_strategies(limited, tables, statistics.results, terminal.step) if try_ else {}
    explanation = Explanation(limited, predict(limited, statistics), target, tried, remarks)
    curve = explanation.prediction.curve()
    if picture is not None:
        with terminal.step("Drawing the picture ..."):
            _draw(picture, explanation, curve)
    figures.write(
        explanation.as_json(curve)
        | {"penstock": version("penstock"), "picture": picture and str(picture)}
    )
    if figures.alone:
        return
    _show(terminal, explanation)
    if picture is not None:
        terminal.line(f"Recall against memory: {picture}")
    figures.point_out(terminal)


def _budget(rows: int | None, memory: str | None) -> Budget | float:
    """Return the budget, or the share of the exact join's rows that it is to be."""
    if rows is not None and memory is not None:
        hint = "leave one of them out"
        raise SpecificationError(must("budget", "--rows or --memory", (rows, memory), hint))
    if rows is not None:
        return Budget(rows=rows)
    if memory is None or memory.rstrip().endswith("%"):
        return parse_share(memory or "10%", "--memory", "10%")
    return Budget(memory=memory)


def _draw(picture: Path, explanation: Explanation, curve: RecallCurve) -> None:
    needed = explanation.prediction.rows_for(explanation.target_recall, explanation.prediction.best)
    save_memory_plot(
        picture,
        rows=curve.rows,
        recall=explanation.lines(curve),
        title="How much of the join does memory buy?",
        subtitle=explanation.sample(),
        question=BudgetQuestion(explanation.rows, explanation.target_recall, needed),
    )


def _show(terminal: Terminal, explanation: Explanation) -> None:
    terminal.say(explanation.sample())
    terminal.say()
    terminal.table(*explanation.streams())
    terminal.say()
    terminal.table(*explanation.strategies())
    terminal.say()
    if explanation.tried:
        terminal.table(*explanation.trials())
        terminal.say()
    terminal.say(explanation.choice())
    for hint in explanation.hints():
        terminal.say(f"Hint: {hint}")
    for warning in explanation.warnings():
        terminal.say(f"Beware: {warning}")

"""The command ``penstock explain``."""

from __future__ import annotations

from dataclasses import replace
from importlib.metadata import version
from pathlib import Path  # noqa: TC003  # Typer reads annotations when the program runs
from typing import TYPE_CHECKING, Annotated

import typer

from penstock.budget import Budget
from penstock.capacity.answers import Answers
from penstock.capacity.measure import measure
from penstock.capacity.options import (
    parse_costs,
    parse_duration,
    parse_files,
    parse_predicate,
    parse_share,
    per_stream,
)
from penstock.capacity.sample_files import comparable_times, read_sample
from penstock.costs import Costs
from penstock.errors import SpecificationError, must
from penstock.report import outputs
from penstock.report.places import picture_place
from penstock.report.terminal import Terminal
from penstock.spec import Specification, Stream

if TYPE_CHECKING:
    from penstock.capacity.stream_statistics import Statistics

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
            show_default="10%, without --cpu",
        ),
    ] = None,
    cpu: Annotated[
        str | None,
        typer.Option(
            metavar="SHARE",
            help="Share of the time of one core, in each shard: 50%.",
            show_default="no limit",
        ),
    ] = None,
    costs: Annotated[
        str | None,
        typer.Option(
            metavar="STEP=TIME,...",
            help="What the steps arrival, insert, compare and result cost: in seconds, or in the "
            "unit of times that are numbers.",
            show_default="usual ones on Spark",
        ),
    ] = None,
    shards: Annotated[
        int | None, typer.Option(help="Parts of the join, each with a core.", show_default="1")
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
            help="Also draw recall against memory (with only --cpu: against the share of a core): "
            "folder or file (.png, .svg or .pdf).",
            show_default="no picture",
        ),
    ] = None,
    json_file: outputs.JsonOption = None,
) -> None:
    """Predict from a sample of your own data how much of a join a budget would find.

    Shows the recall that each strategy is expected to reach with the memory, the rows and
    megabytes that a target recall needs, and which strategy to use. With --cpu it does so for a
    share of the processor, and says with which share nothing is lost. For example:

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
    memory_limit = None if cpu and not (rows or memory) else _memory(rows, memory)
    work_limit = _work(cpu, costs, shards)
    picture = None if output is None else picture_place(output, "--output", _PICTURE)
    figures = outputs.Figures(json_file)

    tables = {}
    for name, file in files.items():
        with terminal.step(f"Reading {file} ..."):
            tables[name] = read_sample(name, file, times[name])
    tables, remarks = comparable_times(tables, times)
    with terminal.step("Joining the sample exactly and measuring ..."):
        statistics = measure(join, tables)
    if memory_limit is not None and not statistics.needed_rows:
        hint = "if all windows are zero, no row has to be kept in memory"
        raise SpecificationError(must("--window", "above zero for a stream", windows, hint))
    if isinstance(memory_limit, float):
        memory_limit = Budget(rows=max(round(memory_limit * statistics.needed_rows), len(files)))
    answers = Answers.of(
        replace(join, budget=_together(memory_limit, work_limit, statistics)),
        statistics,
        target,
        1 if shards is None else shards,
        remarks,
    )
    if try_:
        answers = answers.tried_on(tables, terminal.step)
    if picture is not None:
        with terminal.step("Drawing the picture ..."):
            answers.draw(picture)
    figures.write(
        answers.as_json() | {"penstock": version("penstock"), "picture": picture and str(picture)}
    )
    if figures.alone:
        return
    answers.show(terminal)
    if picture is not None:
        terminal.line(f"Recall against {answers.drawn}: {picture}")
    figures.point_out(terminal)


def _memory(rows: int | None, memory: str | None) -> Budget | float:
    """Return the budget of memory, or the share of the exact join's rows that it is to be."""
    if rows is not None and memory is not None:
        hint = "leave one of them out"
        raise SpecificationError(must("budget", "--rows or --memory", (rows, memory), hint))
    if rows is not None:
        return Budget(rows=rows)
    if memory is None or memory.rstrip().endswith("%"):
        return parse_share(memory or "10%", "--memory", "10%")
    return Budget(memory=memory)


def _work(cpu: str | None, costs: str | None, shards: int | None) -> Budget | None:
    """Return the budget of the processor, as far as it was given."""
    if cpu is not None:
        share = parse_share(cpu, "--cpu", "50%")
        return Budget(cpu=share, costs=None if costs is None else parse_costs(costs))
    for option, given in (("--costs", costs), ("--shards", shards)):
        if given is not None:
            hint = "add --cpu 50%, for instance"
            raise SpecificationError(must(option, "given with --cpu", given, hint))
    return None


def _together(memory: Budget | None, work: Budget | None, statistics: Statistics) -> Budget | None:
    """Return the budget with both limits, and with usual costs if none were given."""
    if work is None:
        return memory
    costs = work.costs
    if costs is None:
        if statistics.units_per_second is None:
            hint = "for example --costs insert=0.001,result=0.0002, in the unit of the times"
            requirement = "given with --cpu where times are numbers"
            raise SpecificationError(must("--costs", requirement, "nothing", hint))
        costs = Costs.usual()
    return replace(memory or work, cpu=work.cpu, costs=costs)

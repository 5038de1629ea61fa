"""The command ``penstock explain-workload``."""

from __future__ import annotations

import runpy
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

import typer

from penstock.capacity.options import parse_files
from penstock.capacity.sample_files import comparable_times, read_sample
from penstock.errors import SpecificationError, must
from penstock.report import outputs
from penstock.report.places import picture_place
from penstock.report.terminal import Terminal
from penstock.workload.definition import Workload

__all__ = ["explain_workload"]

_PICTURE = "penstock-workload.png"


def explain_workload(
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE.py", help="A Python file in which a Workload is defined."),
    ],
    *,
    stream: Annotated[
        list[str],
        typer.Option(
            metavar="NAME=FILE",
            help="A stream and a sample of it: Parquet (a file or a folder), CSV or JSON lines.",
        ),
    ],
    name: Annotated[
        str | None,
        typer.Option(help="Name of the Workload in the file.", show_default="the only one"),
    ] = None,
    output: Annotated[
        Path, typer.Option(help="Folder or file (.png, .svg or .pdf) for the picture.")
    ] = Path(_PICTURE),
    json_file: outputs.JsonOption = None,
) -> None:
    """Predict from samples how a workload divides its budget, and the recall of each join.

    The file is run as Python runs it. For example:

    penstock explain-workload work.py
    --stream orders=orders.parquet --stream payments=payments.parquet
    """
    terminal = Terminal()
    picture = picture_place(output, "--output", _PICTURE)
    figures = outputs.Figures(json_file)
    work = _workload_in(file, name)
    times = {
        each: given.time for join in work.joins.values() for each, given in join.streams.items()
    }
    files = parse_files(stream, "--stream", "bids=bids.parquet")
    if set(files) != set(times):
        hint = "give a sample of each stream, and of no other"
        requirement = f"the streams of the workload: {', '.join(times)}"
        raise SpecificationError(must("--stream", requirement, list(files), hint))
    tables = {}
    for each, place in files.items():
        with terminal.step(f"Reading {place} ..."):
            tables[each] = read_sample(each, place, times[each])
    tables, remarks = comparable_times(tables, times)
    with terminal.step("Joining the samples exactly and measuring ..."):
        prediction = work.predict(work.measure(tables))
    with terminal.step("Drawing the picture ..."):
        prediction.draw(picture)
    figures.write(
        {
            "penstock": version("penstock"),
            "budget": {prediction.unit: prediction.budget},
            "allotment": dict(prediction.allotment),
            "recall": dict(prediction.recall),
            "expected error": dict(prediction.error),
            "picture": str(picture),
        }
    )
    if figures.alone:
        return
    for remark in remarks:
        terminal.line(remark)
    table = prediction.table()
    terminal.table(table.headings, table.rows)
    terminal.line(f"{prediction.measure.capitalize()} against {prediction.unit}: {picture}")
    figures.point_out(terminal)


def _workload_in(file: Path, name: str | None) -> Workload:
    """Return the workload that a Python file defines."""
    if not file.is_file():
        raise SpecificationError(must("FILE.py", "a file", str(file), "check the path"))
    found = {n: each for n, each in runpy.run_path(str(file)).items() if isinstance(each, Workload)}
    if name is not None and name in found:
        return found[name]
    if name is None and len(found) == 1:
        return next(iter(found.values()))
    hint = "choose one by --name" if found else "define one: work = penstock.Workload(...)"
    requirement = (
        "that of a Workload in the file" if name else "given, unless there is one Workload"
    )
    raise SpecificationError(must("--name", requirement, name or sorted(found), hint))

"""The command ``penstock plan``."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import pyarrow.parquet as pq
import typer

from penstock.budget import Budget
from penstock.capacity.options import parse_costs, parse_share
from penstock.errors import SpecificationError, must
from penstock.planning.data_folder import read_folder
from penstock.planning.plan_picture import draw_plans
from penstock.planning.plan_text import processor_words
from penstock.planning.query import Query
from penstock.planning.tree import short
from penstock.report import outputs
from penstock.report.places import file_place, picture_place
from penstock.report.terminal import Terminal
from penstock.wording import about

if TYPE_CHECKING:
    from collections.abc import Sequence

    from penstock.planning.node_metrics import NodeMetrics
    from penstock.planning.plan import Plan
    from penstock.planning.run_replay import PlanReplay

__all__ = ["plan"]

_PICTURE = "penstock-plan.png"
_SHOWN = 8


def plan(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="QUERY.sql", help="A file with the query; - reads it from standard input."
        ),
    ],
    *,
    data: Annotated[
        Path,
        typer.Option(
            metavar="FOLDER",
            help="A sample of each stream and table, named after it: bids.parquet, people.csv.",
        ),
    ],
    time: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=COLUMN",
            help="Time column of a stream; not needed if it has one column of timestamps.",
        ),
    ] = None,
    cpu: Annotated[
        str, typer.Option(metavar="SHARE", help="Share of each processor's time: 80%.")
    ] = "100%",
    rows: Annotated[
        int | None,
        typer.Option(help="Rows that all windows may hold.", show_default="no limit"),
    ] = None,
    processors: Annotated[int, typer.Option(min=1, help="Number of processors.")] = 1,
    selectivity: Annotated[
        list[str] | None,
        typer.Option(
            metavar="CONDITION=SHARE",
            help="Share of the rows for which a condition holds, if it is known: 'b.x > 1=0.3'. "
            "Between streams two shares, if rows of the two find different ones: 0,0.001.",
        ),
    ] = None,
    costs: Annotated[
        str | None,
        typer.Option(
            metavar="STEP=TIME,...",
            help="What the steps arrival, insert, compare and result cost, in seconds.",
            show_default="usual ones on Spark",
        ),
    ] = None,
    output: Annotated[
        Path, typer.Option(help="Folder or file (.png, .svg or .pdf) for the picture.")
    ] = Path(_PICTURE),
    run: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.parquet",
            help="Run the chosen plan over the sample, and write its results there.",
        ),
    ] = None,
    json_file: outputs.JsonOption = None,
) -> None:
    """Choose a plan for a query over streams with windows, from a sample of them.

    Measures rates and selectivities, says which plans are feasible and what each needs, and draws
    how many results each gives with less of a processor. If none is feasible, it says how much of
    each stream to drop. For example:

    penstock plan query.sql --data samples --cpu 80%
    """
    terminal = Terminal()
    text = _read(file)
    picture = picture_place(output, "--output", _PICTURE)
    figures = outputs.Figures(json_file)
    results = None if run is None else _parquet_place(run)
    budget = Budget(
        cpu=parse_share(cpu, "--cpu", "80%"),
        rows=rows,
        costs=None if costs is None else parse_costs(costs),
    )
    with terminal.step(f"Reading {data} ..."):
        folder = read_folder(text, data, _times(time or []))
    query = Query(
        text,
        streams=folder.times,
        tables=folder.stored,
        schemas={name: table.schema for name, table in folder.tables.items()},
    )
    with terminal.step("Measuring rates and selectivities ..."):
        statistics = query.measure(folder.tables, selectivities=_selectivities(selectivity or []))
    with terminal.step("Comparing plans ..."):
        chosen = query.optimize(statistics, budget=budget, processors=processors)
        ranked = query.plans(statistics, budget=budget, processors=processors)
    plans = [chosen, *(each for each in ranked if each.tree != chosen.tree)]
    with terminal.step("Drawing the picture ..."):
        draw_plans(picture, plans)
    replay = None
    if results is not None:
        with terminal.step("Running the plan ..."):
            replay = chosen.replay(folder.tables)
            pq.write_table(replay.result, results)
    figures.write(
        {
            "rates": dict(statistics.rates),
            "selectivities": dict(statistics.selectivities),
            "plans": [_as_json(each) for each in plans],
            "nodes": [] if replay is None else [_node_as_json(each) for each in replay.nodes],
            "picture": str(picture),
            "penstock": version("penstock"),
        }
    )
    if figures.alone:
        return
    terminal.table(
        ["plan", "feasible", "processor", "rows kept", "results per second"],
        [_cells(each) for each in plans[:_SHOWN]],
    )
    if len(plans) > _SHOWN:
        terminal.say(f"... and {len(plans) - _SHOWN} more.")
    terminal.say()
    for line in str(chosen).splitlines():
        terminal.line(line)
    for remark in folder.remarks:
        terminal.say(remark)
    if replay is not None:
        _say_what_ran(terminal, replay, results)
    terminal.say()
    terminal.line(f"Results against the processor, and the plan: {picture}")
    figures.point_out(terminal)


def _read(file: Path) -> str:
    if str(file) == "-":
        return typer.get_text_stream("stdin").read()
    if not file.is_file():
        raise SpecificationError(must("QUERY.sql", "a file", str(file), "check the path"))
    return file.read_text(encoding="utf-8")


def _times(given: Sequence[str]) -> dict[str, str]:
    times: dict[str, str] = {}
    for each in given:
        name, _, column = each.partition("=")
        if not name or not column:
            hint = "for example --time bids=at"
            raise SpecificationError(must("--time", "NAME=COLUMN", each, hint))
        times[name] = column
    return times


def _selectivities(given: Sequence[str]) -> dict[str, float | tuple[float, float]]:
    found: dict[str, float | tuple[float, float]] = {}
    for each in given:
        text, _, value = each.rpartition("=")
        try:
            shares = [float(share) for share in value.split(",")]
        except ValueError:
            shares = []
        if not text.strip() or not 1 <= len(shares) <= 2:
            hint = "for example --selectivity 'b.price > 100=0.3'"
            raise SpecificationError(must("--selectivity", "CONDITION=SHARE", each, hint))
        found[text] = shares[0] if len(shares) == 1 else (shares[0], shares[1])
    return found


def _cells(each: Plan) -> tuple[str, ...]:
    full = each.full
    return (
        short(each.tree, each.model.names),
        ("yes" if each.feasible else "no") + (", cannot be run" if each.why_not_run else ""),
        processor_words(full.cost),
        about(full.memory),
        about(each.rate) if each.feasible else f"{about(each.rate)} of {about(full.rate)}",
    )


def _as_json(each: Plan) -> dict[str, object]:
    full = each.full
    return {
        "plan": short(each.tree, each.model.names),
        "feasible": each.feasible,
        "runs": not each.why_not_run,
        "why": each.why,
        "cost": full.cost,
        "memory_rows": full.memory,
        "full_rate": full.rate,
        "rate": each.rate,
        "kept": dict(each.kept),
    }


def _parquet_place(given: Path) -> Path:
    if given.suffix.lower() != ".parquet":
        hint = "write --run results.parquet, say"
        raise SpecificationError(must("--run", "a file that ends in .parquet", str(given), hint))
    return file_place(given, "--run")


def _node_as_json(node: NodeMetrics) -> dict[str, object]:
    return {
        "operator": node.name,
        "taken": dict(node.taken),
        "given": node.given,
        "cost": node.cost,
        "modelled": node.modelled,
        "measured": node.measured,
    }


def _say_what_ran(terminal: Terminal, replay: PlanReplay, place: Path | None) -> None:
    terminal.say()
    terminal.table(
        ["operator", "rows taken", "rows given", "cost, measured", "counted", "by the model"],
        [
            (
                node.name,
                f"{sum(node.taken.values()):,}",
                f"{node.given:,}",
                "-" if node.measured is None else processor_words(node.measured),
                "-" if node.cost is None else processor_words(node.cost),
                "-" if node.modelled is None else processor_words(node.modelled),
            )
            for node in replay.nodes
        ],
    )
    terminal.line(f"{replay.result.num_rows:,} results of the sample: {place}")

"""The commands ``penstock study list`` and ``penstock study run``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from penstock.errors import SessionError
from penstock.report import outputs
from penstock.report.places import picture_place
from penstock.report.tables import read_page, write_sections
from penstock.report.terminal import Terminal
from penstock.studies import STUDIES, study_of
from penstock.studies.run import measure_here, measure_on_spark
from penstock.studies.study import as_json

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["study"]

# The section of a study's page that has its table.
_SECTION = "table"

study = typer.Typer(
    no_args_is_help=True, help="Run figures of the papers again, and studies of our own."
)


@study.command(name="list")
def list_studies() -> None:
    """List the studies: what each shows, and which figure of which paper it is."""
    Terminal().table(
        ["study", "what it shows", "figure of"],
        [(each.id, each.title, each.reference) for each in STUDIES.values()],
    )


@study.command()
def run(
    name: Annotated[str, typer.Argument(metavar="ID", help="A name from penstock study list.")],
    *,
    quick: Annotated[bool, typer.Option("--quick", help="A few small points, in seconds.")] = False,
    local: Annotated[
        bool, typer.Option("--local", help="Without Spark: one point after the other.")
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option(
            help="Folder or file (.png, .svg or .pdf) for the picture.",
            show_default="penstock-ID.png",
        ),
    ] = None,
    json_file: outputs.JsonOption = None,
    page: Annotated[
        Path | None,
        typer.Option(
            "--write", metavar="PAGE", help="Also replace the table on this Markdown page."
        ),
    ] = None,
) -> None:
    """Run a study on this machine's cores, print what it found and draw it.

    The points of its grid are spread over Spark, which does not change the figures.
    """
    terminal = Terminal()
    asked = study_of(name)
    file_name = f"penstock-{asked.id}.png"
    picture = picture_place(output or Path(file_name), "--output", file_name)
    figures = outputs.Figures(json_file)
    if page is not None:
        read_page(page, [_SECTION])
    if local:
        found = measure_here(asked, quick=quick, step=terminal.step)
    else:
        found = measure_on_spark(asked, _session, quick=quick, step=terminal.step)
    with terminal.step("Drawing the picture ..."):
        asked.draw(found, picture)
    table = asked.table(found)
    if page is not None:
        write_sections(page, {_SECTION: table.as_markdown()})
    figures.write(
        {
            "study": asked.id,
            "reference": asked.reference,
            "quick": quick,
            "rows": [as_json(row) for row in found],
            "notes": list(table.notes),
            "picture": str(picture),
        }
    )
    if figures.alone:
        return
    terminal.say(f"{asked.title[0].upper()}{asked.title[1:]} ({asked.reference}).")
    terminal.say()
    terminal.table(table.headings, table.rows)
    terminal.say()
    for note in table.notes:
        terminal.say(note)
    terminal.line(f"The picture: {picture}")
    figures.point_out(terminal)


def _session() -> SparkSession:
    try:
        from penstock.spark import session  # noqa: PLC0415  # --local needs no Spark
    except ModuleNotFoundError as error:
        message = (
            f"a study on Spark needs {error.name}; "
            f'pip install "penstock[cli,spark]", or add --local'
        )
        raise SessionError(message) from error
    return session()

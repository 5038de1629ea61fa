"""The commands ``penstock state show``, ``check`` and ``repartition``."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from penstock.errors import SessionError, StateError
from penstock.report import outputs
from penstock.report.terminal import Terminal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import SparkSession

    from penstock.spark.checkpoint import SavedDivision, SavedJoin, SavedState

__all__ = ["state"]

state = typer.Typer(
    no_args_is_help=True, help="Look at the checkpoint of a stopped query, check it, or grow it."
)

_Checkpoint: TypeAlias = Annotated[
    str, typer.Argument(metavar="CHECKPOINT", help="The query's checkpointLocation.")
]


@state.command()
def show(checkpoint: _Checkpoint, *, json_file: outputs.JsonOption = None) -> None:
    """Print what is in a checkpoint: the joins, their rows by stream and shard, what was learned.

    Nothing is written into the checkpoint.
    """
    terminal, figures = Terminal(), outputs.Figures(json_file)
    spark = _session(terminal)
    saved = _read(terminal, spark, checkpoint)
    figures.write(asdict(saved))
    if figures.alone:
        return
    for join in saved.joins:
        _show(terminal, join)
    if saved.divisions:
        _show_divisions(terminal, saved.divisions)
    figures.point_out(terminal)


@state.command()
def check(checkpoint: _Checkpoint) -> None:
    """Verify every chunk of a checkpoint's joins, and name what is damaged.

    Nothing is written into the checkpoint. The exit code is 2 if something is damaged: chunks, or
    files that Spark cannot read, with their partitions.
    """
    terminal = Terminal()
    saved = _read(terminal, _session(terminal), checkpoint)
    for what in saved.damaged:
        terminal.line(what)
    if saved.damaged:
        raise StateError(
            f"the state in {checkpoint} must be intact; {len(saved.damaged)} things are wrong, "
            f"printed above; restore the folder from a copy, or start without it"
        )
    for join in saved.joins:
        chunks = sum(each.chunks for each in join.shards)
        size = sum(each.bytes for each in join.shards)
        terminal.line(
            f'join "{join.name}": {chunks:,} chunks of {len(join.shards)} shards, {size:,} bytes, '
            f"all intact"
        )
    if saved.divisions:
        terminal.line(f"division of the budget: {len(saved.divisions)} shards, all intact")


@state.command()
def repartition(
    checkpoint: _Checkpoint,
    *,
    partitions: Annotated[
        int, typer.Option(min=1, help="Partitions that Spark's state is to have.")
    ],
) -> None:
    """Change the number of partitions of a stopped query's state, with Spark's own means.

    Shards move whole, so that the join gives the same rows as before. Start the query with the same
    shards= afterwards. A copy of the checkpoint is kept beside it, and put back if something goes
    wrong. Not for queries that write with Spark's own file sink, whose log would have a gap.
    """
    terminal = Terminal()
    spark = _session(terminal)
    from penstock.spark.repartitioning import repartition_checkpoint  # noqa: PLC0415  # needs Spark

    with terminal.step("Moving the shards ..."):
        moved = repartition_checkpoint(spark, checkpoint, partitions)
    terminal.line(
        f"{moved.before} partitions are {moved.after} now; the checkpoint as it was: {moved.kept}"
    )
    terminal.line(f'Start the query with spark.sql.shuffle.partitions set to "{moved.after}".')


def _read(terminal: Terminal, spark: SparkSession, checkpoint: str) -> SavedState:
    from penstock.spark.checkpoint import read_checkpoint  # noqa: PLC0415  # needs Spark

    with terminal.step("Reading the state ..."):
        return read_checkpoint(spark, checkpoint)


def _session(terminal: Terminal) -> SparkSession:
    try:
        from penstock.spark import session  # noqa: PLC0415  # other commands need no Spark
    except ModuleNotFoundError as error:
        message = f'reading a checkpoint needs {error.name}; pip install "penstock[cli,spark]"'
        raise SessionError(message) from error
    with terminal.step("Starting Spark ..."):
        return session(cores=2)


def _show(terminal: Terminal, join: SavedJoin) -> None:
    good = [each for each in join.shards if each.shard >= 0]
    terminal.line(f'Join "{join.name}", {len(join.shards)} shards in {join.partitions} partitions')
    if good:
        for name, said in good[0].join.items():
            terminal.line(f"  {name:10}{said}")
        terminal.line(f"  {'kept by':10}{', '.join(good[0].strategies) or 'all rows are kept'}")
        terminal.line(f"  {'format':10}{good[0].format}")
    terminal.say()
    terminal.table(
        ["shard", "stream", "rows", "bytes", "waiting", "oldest row", "age", "newest row"],
        [
            (
                str(shard.shard),
                stream,
                f"{held.rows:,}",
                f"{held.bytes:,}",
                f"{held.waiting:,}",
                held.oldest or "-",
                "-" if held.age is None else f"{held.age:,.6g}",
                held.newest or "-",
            )
            for shard in good
            for stream, held in shard.streams.items()
        ],
    )
    for shard in good:
        if shard.learned:
            terminal.line(f"Learned by shard {shard.shard}: {'; '.join(shard.learned)}")
    for what in join.damaged:
        terminal.line(f"Damaged: {what}")
    terminal.say()


def _show_divisions(terminal: Terminal, divisions: Sequence[SavedDivision]) -> None:
    terminal.line("Division of the workload's budget")
    terminal.say()
    terminal.table(
        ["shard", "resource", "join", "has", "divided"],
        [
            (str(each.shard), resource, join, f"{amount:,}", f"{each.times:,} times")
            for each in divisions
            for resource, amounts in each.amounts.items()
            for join, amount in amounts.items()
        ],
    )
    for each in divisions:
        for what in each.damaged:
            terminal.line(f"Damaged: shard {each.shard}: {what}")
    terminal.say()

"""The demonstration's joins on Spark: one query after the other, in one local session."""

from __future__ import annotations

import shutil
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias
from uuid import uuid4

from penstock.demo import scenario
from penstock.errors import PenstockError, SessionError
from penstock.join import progress
from penstock.spark import Listener, cause, session

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from pyspark.sql import DataFrame, SparkSession

    from penstock.join import Join
    from penstock.metrics import Metrics
    from penstock.spark import Update

    Tell: TypeAlias = Callable[[int, int], object]
    """Called after each micro-batch with the number of micro-batches and of their rows."""

    Runner: TypeAlias = Callable[[Join, Tell], "Streamed"]
    """Runs one join over the market."""

__all__ = ["SHARDS", "Streamed", "on_spark"]

SHARDS = 2
"""The same on every machine, so that all figures but speed are the same."""

# Java's second compiler and its parallel collector do not pay in a minute: without them Java took a
# third less processor time.
_SHORT_RUN = {"spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}


@dataclass(frozen=True, kw_only=True)
class Streamed:
    """What one join found on Spark, and what it cost.

    Attributes
    ----------
    metrics
        What the join did.
    counts
        Results in each bin of time, by the bin's number; bins without results may be missing.
    batch_rows, batch_seconds
        Rows of each micro-batch, and its seconds by Spark's own clock.
    """

    metrics: Metrics
    counts: Mapping[int, int]
    batch_rows: tuple[int, ...]
    batch_seconds: tuple[float, ...]


@contextmanager
def on_spark(*, auctions: int, seed: int, rows_per_batch: int) -> Iterator[Runner]:
    """Start Spark, if it does not run yet, and yield a function that runs joins over a market.

    Checkpoints are in a temporary folder that is removed in the end. So is Spark's log, unless
    something fails: then the error says where it is. Spark itself runs on, as after
    `penstock.spark.session`, until this process ends.

    Parameters
    ----------
    auctions, seed
        Of the market, as in `scenario.tables`.
    rows_per_batch
        Of both streams together, in each micro-batch.

    Raises
    ------
    SessionError
        If Spark cannot be started, or fails.
    PenstockError
        If a join fails for a reason of Penstock's own.
    """
    folder = Path(tempfile.mkdtemp(prefix="penstock-demo-"))
    checkpoints, log = folder / "checkpoints", folder / "spark.log"
    checkpoints.mkdir()
    to_remove = folder
    try:
        with _failures_on_one_line(log):
            spark = session(cores=SHARDS, log=log, settings=_SHORT_RUN)
            options = scenario.source_options(auctions, seed)
            source = spark.readStream.format("penstock-market").options(**options)
            source = source.option("rowsPerBatch", rows_per_batch)
            # Shared by all joins, as Spark starts Python to find the columns of each.
            frames = {name: source.option("stream", name).load() for name in ("auctions", "bids")}

        def run(join: Join, tell: Tell) -> Streamed:
            with _failures_on_one_line(log):
                return _run(spark, join, frames, Path(tempfile.mkdtemp(dir=checkpoints)), tell)

        yield run
    except _SparkError:
        if log.exists():  # the error says where it is
            to_remove = checkpoints
        raise
    finally:
        shutil.rmtree(to_remove, ignore_errors=True)


def _run(
    spark: SparkSession, join: Join, frames: Mapping[str, DataFrame], checkpoint: Path, tell: Tell
) -> Streamed:
    """Run one query to the end of the market, and count its results by the time of the match."""
    name = f"demo_{uuid4().hex}"  # of the query, and of the table of its results
    rows = 0

    def report(update: Update) -> None:
        nonlocal rows
        if update.query == name:  # another join may run in the same session
            rows += update.rows
            tell(update.batch + 1, rows)

    listener = Listener(report)
    spark.streams.addListener(listener)
    try:
        query = (
            join.stream(frames, shards=SHARDS)
            .selectExpr(f"{scenario.BIN} AS bin")
            .writeStream.format("memory")
            .queryName(name)
            .option("checkpointLocation", str(checkpoint))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
        counts = {row[0]: row[1] for row in spark.table(name).groupBy("bin").count().collect()}
    finally:
        for each in spark.streams.active:  # one that was interrupted, perhaps while it started
            if each.name == name:
                each.stop()
        spark.streams.removeListener(listener)
        spark.catalog.dropTempView(name)
    batches = [update for update in query.recentProgress if update.numInputRows]
    return Streamed(
        metrics=progress(query),
        counts=counts,
        batch_rows=tuple(batch.numInputRows for batch in batches),
        batch_seconds=tuple(batch.durationMs["triggerExecution"] / 1000 for batch in batches),
    )


class _SparkError(SessionError):
    """Spark failed, for a reason that is not Penstock's."""


@contextmanager
def _failures_on_one_line(log: Path) -> Iterator[None]:
    """Raise the failures of Spark with messages of one line."""
    try:
        yield
    except PenstockError:
        raise
    except Exception as error:
        ours = cause(error)
        if ours is not None:
            raise ours from error
        lines = (line.strip() for line in str(error).splitlines())
        first = next((line for line in lines if line), type(error).__name__)
        # A session that ran before has its log elsewhere.
        where = f"; Spark's log: {log}" if log.exists() else ""
        raise _SparkError(f"Spark could not run the demonstration: {first}{where}") from error

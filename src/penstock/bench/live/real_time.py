"""How a query is monitored in real time: what each of its micro-batches read, took and gave."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from penstock.errors import SessionError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.listener import StreamingQueryProgress

__all__ = ["Batch", "Monitored", "monitor"]

# Seconds after the end of the streams until a query is stopped.
_GRACE = 4.0
# Seconds until a source must have begun.
_PATIENCE = 120.0
_SOURCE = "RateStream"


@dataclass(frozen=True)
class Batch:
    """A micro-batch.

    Attributes
    ----------
    began
        Seconds since the streams began, by the clock.
    seconds
        That it took.
    read
        Seconds of each stream that were read when it was over.
    results
        That it gave.
    """

    began: float
    seconds: float
    read: tuple[int, ...]
    results: int

    @property
    def ended(self) -> float:
        """When it was over, by the clock."""
        return self.began + self.seconds


@dataclass(frozen=True)
class Monitored:
    """All micro-batches of a query.

    Attributes
    ----------
    batches
        Those with rows that were over when the query was stopped.
    stopped
        When that was, in seconds since the streams began.
    """

    batches: tuple[Batch, ...]
    stopped: float


def monitor(
    frame: DataFrame,
    checkpoint: Path,
    *,
    trigger: int,
    seconds: int,
    tell: Callable[[str], object],
    grace: float | None = None,
    clock: Callable[[], float] = time.time,
) -> Monitored:
    """Run a query until its streams end, and stop it, wherever it has got to.

    Parameters
    ----------
    frame
        What it computes, from sources that count seconds.
    checkpoint
        A folder.
    trigger
        Seconds from one micro-batch to the next.
    seconds
        How long the streams are.
    tell
        Called with words on how far it is.
    grace
        Seconds after the end of the streams until it is stopped; None for 4.
    clock
        Tells the time in seconds since 1970, as Spark does.

    Raises
    ------
    SessionError
        If the source does not begin.
    """
    query = (
        frame.writeStream.format("noop")
        .option("checkpointLocation", str(checkpoint))
        .trigger(processingTime=f"{trigger} seconds")
        .start()
    )
    try:
        began = _when_source_began(checkpoint, clock)
        after = _GRACE if grace is None else grace
        while query.isActive and clock() < began + seconds + after:
            time.sleep(0.2)
            last = query.lastProgress
            if last is not None:
                _, end = _offsets(last)
                tell(f"second {clock() - began:.0f} of {seconds}, joined until {min(end)}")
        stopped = clock() - began
    finally:
        query.stop()
    if query.exception() is not None:
        query.awaitTermination()  # raises it
    return Monitored(tuple(_batches(query.recentProgress, began, seconds)), stopped)


def _batches(
    updates: Iterable[StreamingQueryProgress], began: float, seconds: int
) -> Iterable[Batch]:
    """Yield the micro-batches with rows of the streams."""
    for update in updates:
        begin, end = _offsets(update)
        if begin == end or min(begin) >= seconds:
            continue
        at = datetime.fromisoformat(update.timestamp).timestamp()
        yield Batch(
            began=at - began,
            seconds=update.durationMs["triggerExecution"] / 1000,
            read=tuple(min(each, seconds) for each in end),
            results=max(0, update.sink.numOutputRows),
        )


def _offsets(update: StreamingQueryProgress) -> tuple[Sequence[int], Sequence[int]]:
    """Return how many seconds of each stream were read before a micro-batch, and after it."""
    sources = [each for each in update.sources if each.description.startswith(_SOURCE)]
    begin, end = (
        [int(offset) if offset not in {None, "null"} else 0 for offset in offsets]
        for offsets in (
            (each.startOffset for each in sources),
            (each.endOffset for each in sources),
        )
    )
    return begin, end


def _when_source_began(checkpoint: Path, clock: Callable[[], float]) -> float:
    """Return when the first second of the streams began, from the log of Spark's source."""
    log = checkpoint / "sources" / "0" / "0"
    deadline = clock() + _PATIENCE
    while clock() < deadline:
        if log.is_file():
            version, _, milliseconds = log.read_text(encoding="utf-8").partition("\n")
            if version == "v1" and milliseconds:
                return int(milliseconds) / 1000
        time.sleep(0.05)
    raise SessionError(
        f"the source of the streams must begin within {_PATIENCE:.0f} s; it has not; see "
        f"Spark's log, whose place is the session's setting spark.penstock.log"
    )

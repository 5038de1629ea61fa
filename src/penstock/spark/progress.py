"""Progress of a join in a running query: on request, or after each micro-batch."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql.streaming.listener import StreamingQueryListener

from penstock import errors
from penstock.errors import PenstockError
from penstock.metrics import Metrics
from penstock.spark.observed_metrics import from_observed

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pyspark.sql.streaming.listener import (
        QueryIdleEvent,
        QueryProgressEvent,
        QueryStartedEvent,
        QueryTerminatedEvent,
        StreamingQueryProgress,
    )
    from pyspark.sql.streaming.query import StreamingQuery

_NO_PROGRESS = Metrics(
    streams={},
    strategy=None,
    emitted=0,
    budget_rows=None,
    held_most=0,
    bytes_most=0,
    inserted=0,
    compared=0,
)


def progress(query: StreamingQuery, name: str) -> Metrics:
    """Return what a query's join has done so far; see `penstock.progress`."""
    for update in reversed(query.recentProgress):
        metrics = _metrics(update, name)
        if metrics is not None:
            return metrics
    return _NO_PROGRESS


def _metrics(update: StreamingQueryProgress, name: str) -> Metrics | None:
    """Return the metrics in one update; None if the micro-batch had no rows for the join."""
    row = update.observedMetrics.get(name)
    observed: Mapping[str, int | str | None] = {} if row is None else row.asDict()
    return None if observed.get("emitted") is None else from_observed(observed)


@dataclass(frozen=True)
class Update:
    """The progress of a query after a micro-batch.

    Attributes
    ----------
    query
        Name of the query; None if it has none.
    batch
        Number of the micro-batch.
    rows
        Rows that the micro-batch read from all sources.
    seconds
        Duration of the micro-batch.
    metrics
        What the join has done so far.
    """

    query: str | None
    batch: int
    rows: int
    seconds: float
    metrics: Metrics


class Listener(StreamingQueryListener):
    """Calls a function after each micro-batch of a query with a Penstock join.

    Parameters
    ----------
    callback
        Called with an `Update`, from one of Spark's threads: it should return soon.
    name
        Name that the join was given in `Join.stream`.

    Examples
    --------
    >>> spark.streams.addListener(Listener(print))  # doctest: +SKIP
    """

    def __init__(self, callback: Callable[[Update], object], name: str = "penstock") -> None:
        self._callback = callback
        self._name = name

    def onQueryStarted(self, event: QueryStartedEvent) -> None:  # noqa: N802
        """Do nothing; called by Spark when a query starts."""

    def onQueryProgress(self, event: QueryProgressEvent) -> None:  # noqa: N802
        """Call the callback; called by Spark after a micro-batch."""
        update = event.progress
        metrics = _metrics(update, self._name)
        if metrics is not None:
            seconds = update.durationMs.get("triggerExecution", 0) / 1000
            self._callback(
                Update(update.name, update.batchId, update.numInputRows, seconds, metrics)
            )

    def onQueryIdle(self, event: QueryIdleEvent) -> None:  # noqa: N802
        """Do nothing; called by Spark when there are no new rows."""

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:  # noqa: N802
        """Do nothing; called by Spark when a query ends."""


# What follows Penstock's message in one of Spark's, in any of these forms.
_END = r"\s*(?:SQLSTATE:|=== Streaming Query ===|\n\s*\n|\n\tat |\Z)"
_RAISED = re.compile(rf"^penstock\.errors\.(\w+): (.*?){_END}", re.MULTILINE | re.DOTALL)


def cause(error: BaseException | None) -> PenstockError | None:
    """Return Penstock's error that is inside one of Spark's, without the pages around it.

    Parameters
    ----------
    error
        What ``query.exception()`` returned, or what ``awaitTermination`` raised.

    Returns
    -------
    PenstockError or None
        None if the error has another cause.

    Examples
    --------
    >>> raised = ["Job aborted", "penstock.errors.StateError: seed must be 1; got 2", "SQLSTATE: 1"]
    >>> cause(RuntimeError(chr(10).join(raised)))
    StateError('seed must be 1; got 2')
    """
    found = _RAISED.search(str(error))
    if found is None:
        return None
    kind = getattr(errors, found[1], PenstockError)
    raised: PenstockError = kind(found[2].strip())
    return raised

"""Progress of a join in a running query: on request, or after each micro-batch."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql.streaming.listener import StreamingQueryListener

from penstock import errors
from penstock.errors import PenstockError, StateError
from penstock.spark.observed_metrics import from_observed
from penstock.spark.saved_metrics import metrics_in_checkpoint

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from pyspark.sql.streaming.listener import (
        QueryIdleEvent,
        QueryProgressEvent,
        QueryStartedEvent,
        QueryTerminatedEvent,
        StreamingQueryProgress,
    )
    from pyspark.sql.streaming.query import StreamingQuery

    from penstock.metrics import Metrics

# What was last read from the checkpoint, for some runs of queries: the number of the micro-batch
# that was to come then, and the metrics. So a query that waits for rows is read once, and not
# whenever it is asked for its progress.
_MAX_RUNS = 64
_read: dict[tuple[str, str], tuple[int | None, Metrics]] = {}


def progress(query: StreamingQuery, name: str) -> Metrics:
    """Return what a query's join has done so far; see `penstock.progress`.

    Spark keeps the last hundred updates. Micro-batches without rows for the join, and triggers
    without any rows, have updates without metrics. If there are only such ones, the metrics are in
    the checkpoint.
    """
    recent = query.recentProgress
    for update in reversed(recent):
        metrics = metrics_of(update, name)
        if metrics is not None:
            return metrics
    batch = recent[-1].batchId if recent else None
    key = (str(query.runId), name)
    known = _read.pop(key, None)
    if known is None or known[0] != batch:
        known = (batch, metrics_in_checkpoint(query, name))
    _read[key] = known  # comes last
    for oldest in list(_read)[:-_MAX_RUNS]:
        del _read[oldest]
    return known[1]


def metrics_of(update: StreamingQueryProgress, name: str) -> Metrics | None:
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
        metrics = metrics_of(update, self._name)
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
# Spark's name for a micro-batch whose state was not saved in all partitions.
_NOT_SAVED = "STATE_STORE_COMMIT_VALIDATION_FAILED"
_RAISED = re.compile(rf"^penstock\.errors\.(\w+): (.*?){_END}", re.MULTILINE | re.DOTALL)


def cause(error: BaseException | None) -> PenstockError | None:
    """Return Penstock's error that is inside one of Spark's, without the pages around it.

    Also says in plain words what is wrong if a function of `foreachBatch` has read only a part of a
    micro-batch, as ``batch.take(1)`` does. Spark then ends the query, because the rest of the join
    was not computed and its state not saved.

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
    text = "\n".join(_messages(error))
    found = _RAISED.search(text)
    if found is None:
        return StateError(_PART_OF_A_BATCH) if _NOT_SAVED in text else None
    kind = getattr(errors, found[1], PenstockError)
    raised: PenstockError = kind(found[2].strip())
    return raised


_PART_OF_A_BATCH = (
    "the function of foreachBatch must read the whole micro-batch; it has read a part, as take, "
    "first, show, isEmpty and limit do, so that not all of the join's state was saved; write or "
    "count all of it first: batch.persist(), batch.count(), then what you like, and "
    "batch.unpersist() at the end; nothing is lost: start the query again"
)


def _messages(error: BaseException | None) -> Iterator[str]:
    """Yield the messages of an error and of its causes in Java; Spark shows only the first."""
    while error is not None:
        yield str(error)
        yield str(getattr(error, "_stackTrace", ""))  # has the causes of what Spark did not convert
        error = getattr(error, "_cause", None) or error.__cause__

"""`Join`: one specification, three ways to run it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.engine.replay import Replay, replay
from penstock.errors import SpecificationError, must
from penstock.spec import Specification
from penstock.strategies import strategies_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import pyarrow as pa
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery

    from penstock.capacity import Prediction, Statistics
    from penstock.metrics import Metrics


class Join(Specification):
    """A window join of two or more streams, within a budget or exact.

    Frozen, and checked when it is made. Two rows join if the predicate holds and the older one
    is still in its own stream's window at the newer one's time.

    Parameters
    ----------
    streams
        The streams by name: their time columns and windows.
    on
        When rows join: `Equal`, `Within`, `Band`, `Compare` or `Similar`.
    goal
        What to lose least of, if the budget does not suffice.
    budget
        What there is to spend; None, the default, for the exact join.
    seed
        Of all random draws.
    align
        How far rows may be ahead of the slowest stream and take part at once; rows further ahead
        wait on disk. None, the default, is 0 with a budget; without one no row waits ("off"). It
        must be None with a window of rows: there rows wait until no older ones can come.
    spool
        How much may wait on disk, ``"10GB"`` by default; more is an error.

    Examples
    --------
    >>> import pyarrow as pa
    >>> import penstock as ps
    >>> join = ps.Join(
    ...     streams={
    ...         "auctions": ps.Stream(time="opened", window=10),
    ...         "bids": ps.Stream(time="at", window=0),
    ...     },
    ...     on=ps.Equal(auctions="id", bids="auction"),
    ... )
    >>> auctions = pa.table({"id": [1, 2], "opened": [0, 5]})
    >>> bids = pa.table({"auction": [1, 2, 1], "at": [9, 9, 11]})
    >>> replay = join.replay({"auctions": auctions, "bids": bids})
    >>> replay.result.to_pylist()[0]
    {'auctions': {'id': 1, 'opened': 0}, 'bids': {'auction': 1, 'at': 9}, 'time': 9, 'weight': 1.0}
    >>> replay.metrics.emitted  # the third bid came after its auction's window
    2
    """

    def __post_init__(self) -> None:
        """Check what was said, also whether there is a strategy for it."""
        super().__post_init__()
        strategies = strategies_of(self)
        monitors = all(strategy.needs.monitoring for strategy in strategies)
        if self.budget is not None and self.budget.monitor and not monitors:
            raise SpecificationError(
                must(
                    "monitor of the budget",
                    f'left out with strategy "{strategies[0].name}"',
                    self.budget.monitor,
                    "samples of clusters need no monitored rows: totals follow from the sample",
                )
            )

    def replay(
        self,
        tables: Mapping[str, pa.Table | Sequence[pa.Table]],
        shards: int = 1,
        *,
        ended: bool = True,
        callback: Callable[[Metrics], object] | None = None,
    ) -> Replay:
        """Run the join over tables, in process.

        Parameters
        ----------
        tables
            One table for each stream: one micro-batch. Or a list of tables for each: as many
            micro-batches, as Spark would deliver them; rows of a later one are late if they are
            older than the stream's greatest time so far by more than its lateness.
        shards
            Parts into which the join is divided, and the budget with it, as on Spark.
        ended
            Whether the streams end with the tables. If not, rows at the end may still wait for the
            slowest stream, as in a streaming query that goes on.
        callback
            Called after each micro-batch with the metrics so far, as a `Listener` is on Spark.

        Returns
        -------
        Replay
            The result and the metrics.

        Raises
        ------
        SchemaError
            If the tables do not fit the join.
        SpecificationError
            If the budget cannot be divided over so many shards, or a window is one of rows and
            there is more than one shard.
        """
        return replay(self, tables, shards, ended=ended, callback=callback)

    def stream(
        self,
        frames: Mapping[str, DataFrame],
        shards: int | None = None,
        *,
        name: str = "penstock",
        watermark: bool = True,
    ) -> DataFrame:
        """Run the join over streaming frames, on Spark.

        Parameters
        ----------
        frames
            One streaming DataFrame for each stream.
        shards
            Parts into which the join is divided, and the budget with it; each is one task. None
            for the session's ``spark.sql.shuffle.partitions`` if you have set it, otherwise for
            one for each core; for 1 if a window is one of rows, where there can be no more. A query
            can be restarted only with as many as it began with.
        name
            The name under which the metrics are found. Needed only if a query has several joins.
        watermark
            Whether the result has a watermark. Only the last join of a query may set one: give the
            others False, so that their results can be joined further. See also `Query`.

        Returns
        -------
        DataFrame
            A streaming frame with a struct column for each stream, named after it, that holds the
            stream's whole row; ``time``, the greatest of the joined times; ``weight``; and, of a
            sample, ``cluster``. If the times are timestamps, ``time`` has a watermark, so that
            event-time windows over it work; see docs/spark.md.

        Raises
        ------
        SchemaError
            If the frames do not fit the join.
        SpecificationError
            If the budget cannot be divided over so many shards.
        SessionError
            If the Spark session has settings that the join cannot run with.
        """
        from penstock.spark import stream  # noqa: PLC0415  # only callers of this need Spark

        return stream.stream(self, frames, shards, name, watermark=watermark)

    def batch(self, frames: Mapping[str, DataFrame], shards: int | None = None) -> DataFrame:
        """Run the join over bounded frames, on Spark: a backfill, or a what-if.

        Returns the rows that `replay` returns for one table per stream and as many shards.

        Parameters
        ----------
        frames
            One bounded DataFrame for each stream. All rows of a shard are in memory at a time.
        shards
            As in `stream`; None for one for each core, or for 1 if a window is one of rows.

        Returns
        -------
        DataFrame
            As `stream` gives.

        Raises
        ------
        SchemaError
            If the frames do not fit the join.
        SpecificationError
            If the budget cannot be divided over so many shards.
        """
        from penstock.spark import stream  # noqa: PLC0415  # only callers of this need Spark

        return stream.batch(self, frames, shards)

    def measure(self, tables: Mapping[str, pa.Table], parts: int = 64) -> Statistics:
        """Measure the streams' statistics on a sample, by running the exact join over it.

        Parameters
        ----------
        tables
            One table for each stream, all of one stretch of time: best of several windows.
        parts
            Into how many parts each window is divided for its age curve.

        Returns
        -------
        Statistics
            Rates, age curves and frequencies; see docs/capacity.md.

        Raises
        ------
        SchemaError
            If the tables do not fit the join, have no stretch of time in common, or give no
            result.
        SpecificationError
            If a window is one of rows.

        Examples
        --------
        See `predict`.
        """
        from penstock.capacity import measure  # noqa: PLC0415  # above a plain join's needs

        return measure(self, tables, parts)

    def predict(self, statistics: Statistics, shards: int = 1) -> Prediction:
        """Predict the recall of each strategy with the join's budget, and the budget for a recall.

        Parameters
        ----------
        statistics
            Of the join's streams: from `measure`, or given.
        shards
            Parts into which the join will be divided, as in `stream`. A share of the processor is
            one in each of them; their work is taken to be alike.

        Returns
        -------
        Prediction
            The recall expected of each strategy; `Prediction.rows_for` is the inverse. For a share
            of the processor `Prediction.cpu` has both, and the share of the exact join.

        Raises
        ------
        SpecificationError
            If the statistics are not of this join's streams, or do not suffice for its budget, or
            if a window is one of rows.

        Examples
        --------
        >>> import penstock as ps
        >>> from penstock.testing import age_model
        >>> sample = age_model(curve="BELL", seed=1)
        >>> join = ps.Join(
        ...     streams={
        ...         "s1": ps.Stream(time="time", window=sample.window),
        ...         "s2": ps.Stream(time="time", window=0.0),
        ...     },
        ...     on=ps.Equal("id"),
        ...     budget=ps.Budget(rows=100),
        ... )
        >>> prediction = join.predict(join.measure({"s1": sample.s1, "s2": sample.s2}))
        >>> prediction
        <Prediction for 100 rows: age 33.4%, prob 24.9%, fifo 10.7%, random 24.9%, \
until-expiry 24.9%>
        >>> prediction.best, prediction.rows_for(0.9)
        ('age', 273)
        """
        from penstock.capacity import predict  # noqa: PLC0415  # above a plain join's needs

        return predict(self, statistics, shards)


def progress(query: StreamingQuery, name: str = "penstock") -> Metrics:
    """Return what the join of a streaming query has done so far.

    Parameters
    ----------
    query
        The query, running or ended.
    name
        That the join was given in `Join.stream`.

    Returns
    -------
    Metrics
        As of the last micro-batch with rows, also after a restart and while no rows come. Before
        the first rows all counts are 0, and `recall` is None.

    Raises
    ------
    SpecificationError
        If the query has no join of this name.
    """
    from penstock.spark.progress import progress as spark_progress  # noqa: PLC0415  # as above

    return spark_progress(query, name)

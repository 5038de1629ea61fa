"""`MarketSource`, the data source of the generated market.

Auctions and bids are two streams of one market. Their offsets are in the market's own time and not
in rows of either stream, so that two queries, or the two sides of one, advance together.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSource
from pyspark.sql.pandas.types import from_arrow_schema

from penstock.spark.market.options import FORMAT, read_options
from penstock.spark.market.readers import StreamReader, WholeReader
from penstock.spark.market.rows import table_of
from penstock.testing import market

if TYPE_CHECKING:
    from collections.abc import Callable, MutableMapping

    from pyspark.sql.datasource import DataSourceReader, DataSourceStreamReader
    from pyspark.sql.types import StructType

__all__ = ["MarketSource"]


class MarketSource(DataSource):
    """Auctions and bids of `penstock.testing.market` as the data source ``penstock-market``.

    Register it once in a session, then read either stream, whole or as a stream::

        spark.dataSource.register(MarketSource)
        spark.read.format("penstock-market").option("stream", "bids").load()
        spark.readStream.format("penstock-market").option("stream", "auctions").load()

    The same options give the same rows in every read. The times are those of `market`: both
    streams begin on 1 January 2026 (UTC).

    ==================  ================  =======================================================
    option              default           meaning
    ==================  ================  =======================================================
    ``stream``          must be given     ``auctions`` or ``bids``
    ``auctions``        ``1000``          number of auctions
    ``bidsPerAuction``  ``20``            the mean, before bids after the end are left out
    ``zipf``            ``0.5``           skew of the bids towards hot auctions; 0 for none
    ``life``            ``7 days``        from the opening of an auction to its closing
    ``over``            ``30 days``       auctions open evenly over this time
    ``seed``            ``0``             seed of all random numbers
    ``end``             ``last-auction``  where both streams end: ``last-auction``, when the last
                                          auction opens, or ``last-bid``, with all bids
    ``rowsPerSecond``   no pace           rows of both streams together that fall due in a second
    ``rowsPerBatch``    ``100000``        rows of both streams together in a micro-batch, at most
    ``partitions``      ``1``             partitions of a read or of a micro-batch
    ==================  ================  =======================================================

    ``rowsPerSecond`` and ``rowsPerBatch`` are for ``readStream``; ``read`` ignores them.

    An offset of a stream is ``{"until": t}``: all rows up to the time t, in microseconds since
    1970, have been read. Without a pace, micro-batch k ends after k times ``rowsPerBatch`` rows of
    the market, bids and auctions counted together. So two streams with the same options are cut at
    the same times, and a micro-batch may have no rows of one of them. Rows of the same microsecond
    stay together, which may add a few to a micro-batch.

    With ``rowsPerSecond``, time starts when the query starts, at the offset in its checkpoint. A
    query that is too slow for the pace catches up later, ``rowsPerBatch`` at a time. Rows fall due
    ten times a second. If one of these moments is between Spark's questions to the two streams,
    one stream is ahead by a tenth of a second until the next micro-batch.

    With the trigger ``availableNow`` (and with ``once``) the pace is ignored: all rows are
    available, and the query ends when they have been read.

    Every Python process that reads generates the market for itself and keeps it: one for each
    stream and one for each core. A million rows take about 60 MB and a second in each.

    Parameters
    ----------
    options
        The options. Upper and lower case are the same, as everywhere in Spark.
    clock
        Returns the time in seconds, for the pace.

    Raises
    ------
    SpecificationError
        If an option is unknown, missing or wrong. Spark wraps it in an ``AnalysisException``.

    Examples
    --------
    >>> source = MarketSource({"stream": "bids", "auctions": "50"})
    >>> source.schema().simpleString()
    'struct<auction_id:bigint,bidder:string,price:decimal(12,2),at:timestamp>'
    >>> MarketSource({"stream": "bids", "rowPerBatch": "10"})
    Traceback (most recent call last):
    ...
    penstock.errors.SpecificationError: options of penstock-market must be among stream, \
auctions, bidsPerAuction, zipf, life, over, seed, end, rowsPerSecond, rowsPerBatch, partitions; \
got 'rowPerBatch'; did you mean "rowsPerBatch"?
    """

    def __init__(
        self, options: MutableMapping[str, str], clock: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__(options)
        self._parsed = read_options(options)
        self._clock = clock

    @classmethod
    def name(cls) -> str:
        """Return the name to be used as the format."""
        return FORMAT

    def schema(self) -> StructType:
        """Return the columns of the stream; times are timestamps, whatever the session's zone."""
        # The smallest market has the same columns as any other.
        smallest = table_of(market(auctions=1), self._parsed.stream)
        return from_arrow_schema(smallest.schema, prefer_timestamp_ntz=False)

    def reader(self, schema: StructType) -> DataSourceReader:
        """Return a reader of the whole stream."""
        del schema
        return WholeReader(self._parsed)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802  # Spark's
        """Return a reader of the stream in micro-batches."""
        del schema
        return StreamReader(self._parsed, self._clock)

"""The generated auction market as a Spark data source, so that streams need no broker.

============  ================================================================
file          what it has
============  ================================================================
`source`      `MarketSource`, the data source
`options`     its options, checked
`readers`     reading a stream whole, and in micro-batches
`rows`        the rows of both streams, generated once in each process
============  ================================================================
"""

from __future__ import annotations

from penstock.spark.market.source import MarketSource

__all__ = ["MarketSource"]

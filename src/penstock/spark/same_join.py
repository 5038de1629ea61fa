"""The check at the start of a query that its checkpoint is one of the same join.

Spark keeps the offsets of all sources in the checkpoint, and hands a source its last offset as soon
as the query starts, before it reads a row. So each join has one more source. It never has rows, and
its offset is the join itself in words. A restart with another join ends at once, with nothing
written, also if no rows come.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    SupportsTriggerAvailableNow,
)

from penstock.engine.description import check_same
from penstock.errors import StateError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

    from penstock.engine.plan import Plan

_OPTION = "join"


def same_join_check(spark: SparkSession, plan: Plan, shards: int, schema: str) -> DataFrame:
    """Return a streaming frame without rows that ends a query on another join's checkpoint."""
    spark.dataSource.register(JoinSource)
    described = plan.description | {"shards": shards}
    source = spark.readStream.format(JoinSource.name()).schema(schema)
    return source.option(_OPTION, json.dumps(described)).load()


class JoinSource(DataSource):
    """A source without rows, whose offset is the description of a join."""

    @classmethod
    def name(cls) -> str:
        """Return the name by which Spark finds it."""
        return "penstock-join"

    def streamReader(self, schema: StructType) -> JoinReader:  # noqa: ARG002, N802  # Spark's
        """Return the reader of a query."""
        return JoinReader(json.loads(self.options[_OPTION]))


class JoinReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Compares the join that Spark has in the checkpoint with the one that is started."""

    def __init__(self, described: dict[str, Any]) -> None:
        self._described = described

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802  # Spark's
        """Return the join that is started; called if there is no checkpoint yet."""
        return self._described

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802  # Spark's
        """Set no limit."""
        return ReadAllAvailable()

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802  # Spark's
        """Do nothing: nothing is ever available."""

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: ARG002, N802  # Spark's
        """Check the join in the checkpoint, and return it: there is nothing new.

        Raises
        ------
        StateError
            If it is not the one that is started.
        """
        check_same(start, self._described)
        if start["shards"] != self._described["shards"]:
            raise StateError(
                f"shards must be what the saved state was made with: {start['shards']}; got "
                f"{self._described['shards']}; use {start['shards']} shards, or start without the "
                f"saved state"
            )
        return start

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:  # noqa: ARG002  # Spark's
        """Return none: there are no rows."""
        return []

    def read(self, partition: InputPartition) -> Iterator[tuple[Any, ...]]:  # noqa: ARG002  # Spark's
        """Yield nothing."""
        return iter(())

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

from penstock.engine.description import changes_of
from penstock.errors import StateError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

    from penstock.engine.plan import Plan

_OPTION = "join"


def same_join_check(spark: SparkSession, plan: Plan, shards: int, schema: str) -> DataFrame:
    """Return a streaming frame without rows that ends a query on another join's checkpoint."""
    return _check(spark, plan.description | {"shards": shards}, schema)


def same_workload_check(
    spark: SparkSession, plans: Mapping[str, Plan], shards: int, schema: str
) -> DataFrame:
    """Return a streaming frame without rows that ends a query on another workload's checkpoint."""
    described: dict[str, Any] = {"join": {"joins": repr(list(plans))}, "columns": {}}
    described["joins"] = {name: plan.description for name, plan in plans.items()}
    return _check(spark, described | {"shards": shards}, schema)


def _check(spark: SparkSession, described: dict[str, Any], schema: str) -> DataFrame:
    _register(spark)
    source = spark.readStream.format(JoinSource.name()).schema(schema)
    return source.option(_OPTION, json.dumps(described)).load()


def _register(spark: SparkSession) -> None:
    """Register the source, also in a session that is not the active one of this thread.

    Spark replaces a source of the same session, but looks in the active session for one of the same
    name, and refuses to register a second one.
    """
    sessions = spark._get_j_spark_session_class(spark._jvm)  # noqa: SLF001  # no public way
    active = sessions.getActiveSession()
    sessions.setActiveSession(spark._jsparkSession)  # noqa: SLF001
    try:
        spark.dataSource.register(JoinSource)
    finally:
        if active.isDefined():
            sessions.setActiveSession(active.get())
        else:
            sessions.clearActiveSession()


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
        changes_of(start, self._described)
        for name, own in start.get("joins", {}).items():
            try:
                changes_of(own, self._described["joins"][name])
            except StateError as error:
                raise StateError(f'join "{name}": {error}') from None
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

"""What is in the checkpoint of a streaming query: each join's shards, read and checked.

Spark reads the state itself, in a job whose tasks check the chunks of a shard each. Nothing is
written into the checkpoint.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import pandas as pd
from pyspark.errors import PySparkException

from penstock.engine.inspection import ShardState, StreamState, inspect
from penstock.errors import StateError, must
from penstock.spark.processor import METRICS
from penstock.spark.saved_metrics import OPERATORS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame, SparkSession

__all__ = ["SavedJoin", "joins_in_checkpoint", "partitions_of"]

# What Spark has in every checkpoint of a query that has run.
_PARTS = ("metadata", "offsets", "commits", "state")
_HINT = "give the folder that the query has as checkpointLocation"
_FOUND = "found STRING"


@dataclass(frozen=True)
class SavedJoin:
    """A join in a checkpoint.

    Attributes
    ----------
    name
        That it has in the query.
    operator
        Number of Spark's operator.
    partitions
        Of Spark's state.
    shards
        Its shards, in order.
    """

    name: str
    operator: int
    partitions: int
    shards: tuple[ShardState, ...]

    @property
    def damaged(self) -> tuple[str, ...]:
        """What is wrong, each with its shard before it."""
        words = [f"shard {each.shard}: {what}" for each in self.shards for what in each.damaged]
        good = [each for each in self.shards if each.shard >= 0]
        if good and len(good) == len(self.shards):
            missing = sorted(set(range(good[0].shards)) - {each.shard for each in good})
            # A shard that has had no rows has no state.
            if len(missing) == good[0].shards:
                words.append("no shard has a state")
        return tuple(words)


def joins_in_checkpoint(spark: SparkSession, place: str) -> list[SavedJoin]:
    """Read and check all chunks of all joins in a checkpoint, as of the last commit.

    Raises
    ------
    StateError
        If it is no checkpoint of a streaming query, or one without a join of Penstock's.
    """
    found = []
    for number, partitions in _operators(spark, place):
        heads = _variable(spark, place, number, "head")
        names = {row.name for row in _metrics(spark, place, number)}
        chunks = [
            _pieces(_variable(spark, place, number, variable)) for variable in ("chunks", "waiting")
        ]
        head = heads.selectExpr("key.shard AS shard", "'head' AS name", "value.data AS data")
        everything = head.unionByName(chunks[0]).unionByName(chunks[1])
        looked_at = everything.groupBy("shard").applyInPandas(_inspect, _FOUND).collect()
        shards = sorted((_shard(json.loads(row.found)) for row in looked_at), key=_number)
        name = ", ".join(sorted(names)) or "-"
        found.append(SavedJoin(name, number, partitions, tuple(shards)))
    return found


def partitions_of(spark: SparkSession, place: str) -> int:
    """Return the number of partitions that the state of a checkpoint's joins has."""
    return max(partitions for _, partitions in _operators(spark, place))


def _operators(spark: SparkSession, place: str) -> list[tuple[int, int]]:
    """Return the number of each join's operator in a checkpoint, and of its partitions."""
    _check_place(spark, place)
    try:
        listed = spark.read.format("state-metadata").load(place)
        columns = ("operatorId", "operatorName", "numPartitions")
        rows = {tuple(row) for row in listed.select(*columns).collect()}
    except PySparkException as error:
        raise StateError(
            must("CHECKPOINT", "readable by Spark", place, f"Spark says: {_first_line(error)}")
        ) from error
    joins = sorted((number, partitions) for number, kind, partitions in rows if kind in OPERATORS)
    ours = [each for each in joins if _is_ours(spark, place, each[0])]
    if not ours:
        kinds = ", ".join(sorted({str(kind) for _, kind, _ in rows})) or "no stateful operator"
        raise StateError(
            must("CHECKPOINT", "that of a query with a join", place, f"it has: {kinds}")
        )
    return ours


def _check_place(spark: SparkSession, place: str) -> None:
    java: Any = spark._jvm  # noqa: SLF001  # checkpoints may be on any file system of Hadoop's
    path = java.org.apache.hadoop.fs.Path(place)
    files = path.getFileSystem(spark._jsparkSession.sessionState().newHadoopConf())  # noqa: SLF001
    if not files.exists(path):
        raise StateError(must("CHECKPOINT", "a folder that is there", place, _HINT))
    missing = [p for p in _PARTS if not files.exists(java.org.apache.hadoop.fs.Path(path, p))]
    if missing:
        requirement = f"a checkpoint of a streaming query, with {', '.join(_PARTS)}"
        hint = f"it has no {', '.join(missing)}; {_HINT}"
        raise StateError(must("CHECKPOINT", requirement, place, hint))


def _is_ours(spark: SparkSession, place: str, number: int) -> bool:
    try:
        frame = _variable(spark, place, number, METRICS)
    except PySparkException:
        return False  # an operator in Python that has no such variable
    return "counters" in frame.select("value.*").columns


def _metrics(spark: SparkSession, place: str, number: int) -> list[Any]:
    return _variable(spark, place, number, METRICS).select("value.name").collect()


def _variable(spark: SparkSession, place: str, number: int, name: str) -> DataFrame:
    reader = spark.read.format("statestore").option("path", place).option("operatorId", number)
    return reader.option("stateVarName", name).load()


def _pieces(frame: DataFrame) -> DataFrame:
    """Return the entries of a map of chunks as rows."""
    return frame.selectExpr(
        "key.shard AS shard", "user_map_key.name AS name", "user_map_value.data AS data"
    )


def _inspect(chunks: pd.DataFrame) -> pd.DataFrame:
    """Check a shard's chunks; called by Spark in its workers."""
    named = {name: bytes(data) for name, data in zip(chunks["name"], chunks["data"], strict=True)}
    return pd.DataFrame({"found": [json.dumps(asdict(inspect(named)))]})


def _shard(found: Mapping[str, Any]) -> ShardState:
    streams = {name: StreamState(**each) for name, each in found["streams"].items()}
    lists = {name: tuple(found[name]) for name in ("strategies", "learned", "damaged")}
    return ShardState(**{**found, **lists, "streams": streams})


def _number(shard: ShardState) -> int:
    return shard.shard


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]

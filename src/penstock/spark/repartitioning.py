"""The number of partitions of a stopped query's state is changed, by Spark itself.

A shard is a key of Spark's state, so shards move whole, and a join does not notice: its rows are
the same. Spark writes the new state into the checkpoint; a copy of the checkpoint is made before,
and put back if something goes wrong.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException

from penstock.errors import SessionError, StateError, must
from penstock.spark.checkpoint import joins_in_checkpoint

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from penstock.spark.checkpoint import SavedJoin

__all__ = ["Repartitioned", "repartition_checkpoint"]


@dataclass(frozen=True)
class Repartitioned:
    """What was done.

    Attributes
    ----------
    before, after
        Partitions.
    kept
        Where the checkpoint is as it was.
    """

    before: int
    after: int
    kept: str


def repartition_checkpoint(spark: SparkSession, place: str, partitions: int) -> Repartitioned:
    """Change the number of partitions of the state in a checkpoint; see `penstock state`.

    Raises
    ------
    StateError
        If the checkpoint is none, is damaged, or cannot be changed. Then it is as it was.
    SessionError
        If this Spark cannot do it.
    """
    place = place.rstrip("/")
    joins = joins_in_checkpoint(spark, place)
    for join in joins:
        for what in join.damaged:
            raise StateError(
                f"the state in {place} must be intact; {what}; see `penstock state check`"
            )
    before = max(join.partitions for join in joins)
    if before == partitions:
        hint = "nothing has to be done"
        raise StateError(must("partitions", f"other than the {before} there are", partitions, hint))
    manager = _manager(spark)
    copy = f"{place}.with-{before}-partitions"
    files = _Files(spark)
    if files.exists(copy):
        hint = "remove it if you do not need it any more"
        raise StateError(must(f"{copy}, for a copy of the checkpoint,", "free", "a folder", hint))
    files.copy(place, copy)
    try:
        manager.repartition(place, partitions)
        _check_same(joins, joins_in_checkpoint(spark, place), partitions)
    except (PySparkException, Py4JError, StateError) as error:
        files.remove(place)
        files.rename(copy, place)
        reason = str(error).partition("\n")[0]
        raise StateError(
            f"the state in {place} must be one that Spark can divide into {partitions} partitions; "
            f"{reason}; the checkpoint is as it was before"
        ) from error
    return Repartitioned(before, partitions, copy)


def _manager(spark: SparkSession) -> Any:  # noqa: ANN401  # experimental in Spark, without a type
    try:
        return spark._streamingCheckpointManager  # noqa: SLF001  # not public yet
    except (AttributeError, PySparkException, Py4JError) as error:
        message = must(
            "Spark",
            "4.2 or later, in a classic session, to change the partitions of a state",
            spark.version,
            "start with a new checkpoint and as many partitions as you need",
        )
        raise SessionError(message) from error


def _check_same(before: list[SavedJoin], after: list[SavedJoin], partitions: int) -> None:
    """Raise if a shard has changed, or is gone."""
    expected = [replace(join, partitions=partitions) for join in before]
    if expected != after:
        raise StateError("the shards are not the same afterwards")


class _Files:
    """Folders on any file system of Hadoop's."""

    def __init__(self, spark: SparkSession) -> None:
        self._java: Any = spark._jvm  # noqa: SLF001  # no other way to Hadoop's file systems
        self._settings = spark._jsparkSession.sessionState().newHadoopConf()  # noqa: SLF001

    def _at(self, place: str) -> tuple[Any, Any]:
        path = self._java.org.apache.hadoop.fs.Path(place)
        return path.getFileSystem(self._settings), path

    def exists(self, place: str) -> bool:
        """Return whether there is something."""
        files, path = self._at(place)
        return bool(files.exists(path))

    def copy(self, place: str, to: str) -> None:
        """Copy a folder."""
        (files, path), (others, other) = self._at(place), self._at(to)
        util = self._java.org.apache.hadoop.fs.FileUtil
        util.copy(files, path, others, other, False, self._settings)  # noqa: FBT003  # deletes nothing

    def remove(self, place: str) -> None:
        """Remove a folder."""
        files, path = self._at(place)
        files.delete(path, True)  # noqa: FBT003  # with all that is in it

    def rename(self, place: str, to: str) -> None:
        """Rename a folder."""
        files, path = self._at(place)
        files.rename(path, self._at(to)[1])

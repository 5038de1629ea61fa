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
from penstock.spark.checkpoint import read_checkpoint
from penstock.spark.folders import Folders

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from penstock.spark.checkpoint import SavedState

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
    saved = read_checkpoint(spark, place)
    for what in saved.damaged:
        raise StateError(f"the state in {place} must be intact; {what}; see `penstock state check`")
    before = max(join.partitions for join in saved.joins)
    if before == partitions:
        hint = "nothing has to be done"
        raise StateError(must("partitions", f"other than the {before} there are", partitions, hint))
    manager = _manager(spark)
    copy = f"{place}.with-{before}-partitions"
    folders = Folders(spark)
    for taken, use in ((copy, "a copy of the checkpoint"), (_aside(place), "a state that fails")):
        if folders.exists(taken):
            hint = "remove it if you do not need it any more"
            raise StateError(must(f"{taken}, for {use},", "free", "a folder", hint))
    folders.copy(place, copy)
    try:
        manager.repartition(place, partitions)
        _check_same(saved, read_checkpoint(spark, place), partitions)
    except (PySparkException, Py4JError, StateError) as error:
        reason = str(error).partition("\n")[0]
        _put_back(folders, place, copy, reason)
        raise StateError(
            f"the state in {place} must be one that Spark can divide into {partitions} partitions; "
            f"{reason}; the checkpoint is as it was before"
        ) from error
    return Repartitioned(before, partitions, copy)


def _aside(place: str) -> str:
    """Return where a state goes that was to be divided, and is not what it must be."""
    return f"{place}.failed"


def _put_back(folders: Folders, place: str, copy: str, reason: str) -> None:
    """Put the copy of a checkpoint back; nothing is removed before it is in its place.

    Raises
    ------
    StateError
        If that cannot be done; it says what is where.
    """
    try:
        folders.rename(place, _aside(place))
        folders.rename(copy, place)
    except StateError as error:
        raise StateError(
            f"{reason}, so the checkpoint must be put back, which was not done; {error}; rename "
            f"{copy}, which is the checkpoint as it was, to {place} yourself"
        ) from error
    folders.remove(_aside(place))


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


def _check_same(before: SavedState, after: SavedState, partitions: int) -> None:
    """Raise if a shard has changed, or is gone."""
    joins = tuple(replace(join, partitions=partitions) for join in before.joins)
    if replace(before, joins=joins) != after:
        raise StateError("the shards are not the same afterwards")

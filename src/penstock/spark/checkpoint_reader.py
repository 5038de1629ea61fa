"""State of stateful operators, read from a checkpoint by Spark; errors that name what is damaged.

Nothing is written into the checkpoint.
"""

from __future__ import annotations

import re
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException

from penstock.errors import StateError, must
from penstock.spark.processor import METRICS
from penstock.spark.saved_metrics import OPERATORS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import DataFrame, SparkSession

__all__ = ["SavedOperator", "operators_in_checkpoint", "reading"]

# What Spark has in every checkpoint of a query that has run.
_PARTS = ("metadata", "offsets", "commits", "state")
_HINT = "give the folder that the query has as checkpointLocation"
_RESTORE = "restore the folder from a copy, or start without it"
# Spark's own name for what it says of a variable that an operator does not have.
_NO_SUCH_VARIABLE = "STDS_INVALID_OPTION_VALUE"


@dataclass(frozen=True)
class SavedOperator:
    """An operator in a checkpoint, of one join or of a workload.

    Attributes
    ----------
    number
        Of Spark's operator.
    partitions
        Of its state.
    is_workload
        Whether it has several joins.
    """

    number: int
    partitions: int
    is_workload: bool

    def variable(self, spark: SparkSession, place: str, name: str) -> DataFrame:
        """Return a variable of the state, as of the last commit."""
        return _variable(spark, place, self.number, name)


def operators_in_checkpoint(spark: SparkSession, place: str) -> list[SavedOperator]:
    """Return the operators of joins and workloads in a checkpoint, by their numbers.

    Raises
    ------
    StateError
        If it is no checkpoint of a streaming query, or one without a join of Penstock's, or if
        Spark cannot read it.
    """
    _check_place(spark, place)
    with reading(place):
        listed = spark.read.format("state-metadata").load(place)
        columns = ("operatorId", "operatorName", "numPartitions")
        rows = {tuple(row) for row in listed.select(*columns).collect()}
        joins = sorted((number, count) for number, kind, count in rows if kind in OPERATORS)
        found = [_operator(spark, place, number, count) for number, count in joins]
    ours = [each for each in found if each is not None]
    if not ours:
        kinds = ", ".join(sorted({str(kind) for _, kind, _ in rows})) or "no stateful operator"
        raise StateError(
            must("CHECKPOINT", "that of a query with a join", place, f"it has: {kinds}")
        )
    return ours


@contextmanager
def reading(place: str, operator: int = 0, frame: DataFrame | None = None) -> Iterator[None]:
    """Turn what Spark raises while it reads a checkpoint into an error that names what is damaged.

    Parameters
    ----------
    place
        The checkpoint.
    operator, frame
        Number of an operator, and its state, which is read inside. If that fails, each of its
        partitions is read by itself, to find all that cannot be.

    Raises
    ------
    StateError
        If Spark raises anything inside.
    """
    try:
        yield
    except (PySparkException, Py4JError) as error:
        found = [] if frame is None else _unreadable(operator, frame)
        said = "; ".join(found) or _reason(error)
        hint = _RESTORE if found or frame is None else "each partition can be read, so try again"
        raise StateError(
            f"the state in {place} must be readable by Spark; {said}; {hint}"
        ) from error


def _unreadable(operator: int, frame: DataFrame) -> list[str]:
    """Return which partitions of a state cannot be read, and why."""
    # In Java: a process of Python that cannot be started is no damage. A partition of the rows is
    # one of the state.
    rows: Any = frame._jdf.javaRDD()  # noqa: SLF001  # no other way to one partition in Java
    gateway: Any = frame.sparkSession.sparkContext._gateway  # noqa: SLF001
    found = []
    for number in range(rows.getNumPartitions()):
        numbers = gateway.new_array(gateway.jvm.int, 1)
        numbers[0] = number
        try:
            rows.collectPartitions(numbers)
        except (PySparkException, Py4JError) as error:
            folder = f"state/{operator}/{number}"
            found.append(f"partition {number}, in {folder}, is damaged: {_reason(error)}")
    return found


def _reason(error: Exception) -> str:
    """Return the first line of what was at the bottom of an error of Spark's."""
    # PySpark turns some of Java's errors into its own.
    at: Any = getattr(error, "java_exception", None) or getattr(error, "_origin", None)
    words = [_first_line(str(error))]
    while at is not None:
        words.append(_first_line(str(at.getMessage() or at.getClass().getSimpleName())))
        at = at.getCause()
    # The file is named where it was opened, or where its checksum was found to be wrong.
    with_file = [each for each in words if re.search(r"(:|\s)/", each)]
    return with_file[-1] if with_file else words[-1]


def _operator(
    spark: SparkSession, place: str, number: int, partitions: int
) -> SavedOperator | None:
    """Return an operator, or None if it is not of Penstock's."""
    try:
        columns = _variable(spark, place, number, METRICS).columns
    except PySparkException as error:
        if not str(error.getCondition()).startswith(_NO_SUCH_VARIABLE):
            raise
        return None  # an operator in Python that has no such variable
    if "user_map_value" in columns:
        return SavedOperator(number, partitions, is_workload=True)
    fields = _variable(spark, place, number, METRICS).select("value.*").columns
    return SavedOperator(number, partitions, is_workload=False) if "counters" in fields else None


def _variable(spark: SparkSession, place: str, number: int, name: str) -> DataFrame:
    reader = spark.read.format("statestore").option("path", place).option("operatorId", number)
    return reader.option("stateVarName", name).load()


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


def _first_line(text: str) -> str:
    return text.partition("\n")[0]

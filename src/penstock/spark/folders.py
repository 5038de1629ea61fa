"""Folders on any file system of Hadoop's; what was not done is an error."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from py4j.protocol import Py4JError, Py4JJavaError  # type: ignore[import-untyped]

from penstock.errors import StateError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

__all__ = ["Folders"]


class Folders:
    """Copies, renames and removes folders, each in full or with a `StateError`.

    Hadoop's file systems return whether they have done something, or raise.
    """

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
        """Copy a folder, and compare the sizes."""
        (files, path), (others, other) = self._at(place), self._at(to)
        util = self._java.org.apache.hadoop.fs.FileUtil
        with _doing(f"{place} must be copied to {to}", "what is there may be incomplete"):
            yes = util.copy(files, path, others, other, False, self._settings)  # noqa: FBT003  # deletes nothing
            _check(yes)
            _check(_size(files, path) == _size(others, other))

    def remove(self, place: str) -> None:
        """Remove a folder."""
        files, path = self._at(place)
        with _doing(f"{place} must be removed", "remove it yourself"):
            _check(files.delete(path, True))  # noqa: FBT003  # with all that is in it

    def rename(self, place: str, to: str) -> None:
        """Rename a folder; there must be nothing of the new name, into which it would be moved."""
        files, path = self._at(place)
        with _doing(f"{place} must be renamed to {to}", "both are as they were"):
            _check(not self.exists(to))
            _check(files.rename(path, self._at(to)[1]))


class _NotDoneError(Exception):
    """The file system has returned that it has not done something."""


def _check(done: object) -> None:
    if not done:
        raise _NotDoneError


@contextmanager
def _doing(what: str, then: str) -> Iterator[None]:
    """Raise an error that says what was not done, and what to do then."""
    try:
        yield
    except (_NotDoneError, Py4JError) as error:
        reason = "the file system has not done it"
        if isinstance(error, Py4JJavaError):
            reason = str(error.java_exception.toString()).partition("\n")[0]
        raise StateError(f"{what}; {reason}; {then}") from error


def _size(files: Any, path: Any) -> tuple[int, int]:  # noqa: ANN401  # objects of Java
    """Return how many files a folder has, and their bytes."""
    known = files.getContentSummary(path)
    return int(known.getFileCount()), int(known.getLength())

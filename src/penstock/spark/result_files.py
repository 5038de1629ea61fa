"""Results passed from the operator to the unpacker in a file without a name, not through Java.

Both are Python processes of the same task on the same host, with Java in between. As bytes in
Spark's rows the results would cross to Java, be copied into a row, cross back to Python, and then
cross to Java once more, as rows. So the operator writes them to a file in Spark's scratch folder,
and only the file's address goes through Java.

The file has no name in the folder, so nothing stays behind, whatever is killed. It exists as long
as a process has it open. The unpacker opens it through the operator's process, which keeps it open
until then. Only processes of the same user can do so.

======================  ==========================================================================
what happens            when the space is free again
======================  ==========================================================================
all results are read    at once: the unpacker empties the file, but for how long it took
some are read           when the operator's process gets its next task, or ends
none is read            when it gets a task of the query's next micro-batch, or ends
======================  ==========================================================================

Spark ends Python processes that have had nothing to do for a minute.
"""

from __future__ import annotations

import os
import struct
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Self

import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Iterator
    from io import BufferedRandom

# Rows that Java gets at a time: enough to make the cost per row small, and not too much memory.
_MAX_ROWS = 1 << 16
# Files of earlier tasks that were never opened: more than tasks that run at the same time.
_MAX_WAITING = 256
# The unpacker takes the right to write from a file that it has opened: so the operator knows.
_OPENED = 0o400

_PROCESSES = Path("/proc")

_waiting: list[ResultFile] = []

# What the unpacker leaves in a file: how many results it had, and for how many seconds the
# unpacker was busy with them, until Java had taken the last.
_HANDED_OVER = struct.Struct("qd")


def is_possible() -> bool:
    """Return whether a process can open the files of another, and lives until that has happened.

    Only Linux has such addresses. Spark's setting ``spark.python.worker.reuse``, which is on unless
    changed, lets a process live on after its task.
    """
    return _PROCESSES.joinpath("self", "fd").is_dir() and "SPARK_REUSE_WORKER" in os.environ


class Address(NamedTuple):
    """Where some results are: in which process's file, and from where on."""

    process: int
    descriptor: int
    inode: int  # tells whether it is the same file: numbers of processes are used again
    start: int

    @classmethod
    def from_text(cls, text: str) -> Address:
        """Read what `to_text` has written."""
        return cls(*(int(part) for part in text.split("/")))

    def to_text(self) -> str:
        """Return the address as a text, which goes through Java."""
        return "/".join(str(part) for part in self)


class ResultFile:
    """The results of one shard and micro-batch, on their way to the unpacker.

    Parameters
    ----------
    query, batch
        Which query's micro-batch this is.
    """

    def __init__(self, query: str, batch: int) -> None:
        self.query = query
        self.batch = batch
        self._file = tempfile.TemporaryFile(dir=_scratch_folder())  # noqa: SIM115  # read later
        _waiting.append(self)

    def append(self, table: pa.Table) -> str:
        """Write a table, and return its address as a text, for `ResultReader`."""
        start = self._file.seek(0, os.SEEK_END)
        with pa.ipc.new_stream(self._file, table.schema) as writer:
            writer.write_table(table, max_chunksize=_MAX_ROWS)
        self._file.flush()
        descriptor = self._file.fileno()
        inode = os.fstat(descriptor).st_ino
        return Address(os.getpid(), descriptor, inode, start).to_text()

    def is_opened(self) -> bool:
        """Return whether the unpacker has opened the file, so that it need not be kept open."""
        return os.fstat(self._file.fileno()).st_mode & 0o777 == _OPENED

    def handed_over(self) -> tuple[int, float]:
        """Return how many results Java has taken, and the seconds that this took; 0 if none yet."""
        size = os.fstat(self._file.fileno()).st_size
        if not self.is_opened() or size != _HANDED_OVER.size:
            return 0, 0.0
        rows, seconds = _HANDED_OVER.unpack(os.pread(self._file.fileno(), size, 0))
        return rows, seconds

    def close(self) -> None:
        """Close the file; if the unpacker does not have it open, it is gone."""
        self._file.close()


def close_old_files(query: str, batch: int) -> tuple[int, float]:
    """Close the files of earlier tasks that are not needed any more; called at a task's start.

    Returns how many of the query's results Java has taken from them, and the seconds that took.
    """
    rows, seconds = 0, 0.0
    for file in list(_waiting):
        outdated = file.query == query and file.batch < batch
        if file.query == query:
            taken = file.handed_over()
            rows, seconds = rows + taken[0], seconds + taken[1]
        if outdated or file.is_opened() or len(_waiting) >= _MAX_WAITING:
            file.close()
            _waiting.remove(file)
    return rows, seconds


class ResultReader:
    """Reads the results of a task, and empties their files at the end.

    >>> file = ResultFile("query", 1)
    >>> address = file.append(pa.table({"x": [1, 2]}))
    >>> with ResultReader() as reader:
    ...     [batch.to_pydict() for batch in reader.read(address)]
    [{'x': [1, 2]}]
    >>> file.is_opened(), file.handed_over()[0]
    (True, 2)
    """

    def __init__(self) -> None:
        self._files: dict[int, BufferedRandom] = {}
        self._taken: dict[int, list[float]] = {}  # of each file: results, and seconds

    def __enter__(self) -> Self:
        """Do nothing: files are opened when they are read."""
        return self

    def __exit__(self, *_: object) -> None:
        """Empty and close all files, and leave in each how long it took."""
        for inode, file in self._files.items():
            rows, seconds = self._taken[inode]
            with suppress(OSError):
                file.truncate(0)
                file.seek(0)
                file.write(_HANDED_OVER.pack(int(rows), seconds))
            file.close()
        self._files.clear()

    def read(self, text: str) -> Iterator[pa.RecordBatch]:
        """Yield the results at an address, `_MAX_ROWS` at a time.

        Raises
        ------
        OSError
            If they are not there any more: the process that wrote them has ended.
        """
        address = Address.from_text(text)
        if address.inode not in self._files:
            self._files[address.inode] = _open(address)
            self._taken[address.inode] = [0.0, 0.0]
        file, taken = self._files[address.inode], self._taken[address.inode]
        began = time.perf_counter()
        file.seek(address.start)
        with pa.ipc.open_stream(file) as reader:
            for batch in reader:
                yield batch
                taken[0] += batch.num_rows
        taken[1] += time.perf_counter() - began


def _open(address: Address) -> BufferedRandom:
    path = _PROCESSES / str(address.process) / "fd" / str(address.descriptor)
    file = path.open("r+b")
    if os.fstat(file.fileno()).st_ino != address.inode:
        file.close()
        raise OSError(f"the results at {path} must be those of this task; they are others'")
    os.fchmod(file.fileno(), _OPENED)
    return file


def _scratch_folder() -> Path:
    """Return Spark's folder for such files, which may be on a larger disk."""
    folders = [Path(each) for each in os.environ.get("SPARK_LOCAL_DIRS", "").split(",") if each]
    return next((each for each in folders if each.is_dir()), Path(tempfile.gettempdir()))

"""Results passed from the operator to the unpacker in a file, not through Java.

Both are Python processes of the same task on the same host, with Java in between. As bytes in
Spark's rows the results would cross to Java, be copied into a row, cross back to Python, and then
cross to Java once more, as rows. So they are written to a file in Spark's own scratch folder, and
only the file's name goes through Java. The file is removed from the folder as soon as it is opened:
long before the system would write it to disk.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from uuid import uuid4

import pyarrow as pa

_PREFIX = "penstock-"


def write(table: pa.Table) -> str:
    """Write a table to a new file for `read_and_remove`, and return the file's path."""
    path = _scratch_folder() / f"{_PREFIX}{uuid4().hex}"
    try:
        with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, table.schema) as writer:
            writer.write_table(table)
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    return str(path)


def read_and_remove(path: str) -> pa.Table:
    """Read a table that `write` has written, and remove its file.

    >>> read_and_remove(write(pa.table({"x": [1, 2]}))).to_pydict()
    {'x': [1, 2]}
    """
    with pa.memory_map(path) as file:
        Path(path).unlink()
        with pa.ipc.open_stream(file) as reader:
            return reader.read_all()


def _scratch_folder() -> Path:
    """Return a folder that Spark empties when it ends."""
    folders = [Path(each) for each in os.environ.get("SPARK_LOCAL_DIRS", "").split(",") if each]
    return next((each for each in folders if each.is_dir()), Path(tempfile.gettempdir()))

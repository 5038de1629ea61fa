"""Files of results: private, without a name, and gone when they have been read or given up."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from penstock.engine.ipc import from_ipc
from penstock.spark import result_files
from penstock.spark.handing_over import HandingOver
from penstock.spark.result_files import Address, ResultFile, ResultReader, close_old_files

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

if sys.platform != "linux":
    pytest.skip("only Linux has files without a name", allow_module_level=True)

TABLE = pa.table({"x": range(200_000), "text": ["some text"] * 200_000})


@pytest.fixture(autouse=True)
def no_files(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    monkeypatch.setattr(result_files, "_waiting", [])
    monkeypatch.setenv("SPARK_LOCAL_DIRS", str(tmp_path))
    yield
    for file in result_files._waiting:
        file.close()


def size(address: str) -> int:
    """Return the size of the file; raise an error if this process does not have it open."""
    return os.fstat(Address.from_text(address).descriptor).st_size


def test_what_is_written_is_read_in_parts() -> None:
    file = ResultFile("query", 0)
    addresses = [file.append(TABLE), file.append(TABLE.slice(0, 5)), file.append(TABLE.slice(7))]
    with ResultReader() as reader:
        parts = [list(reader.read(address)) for address in addresses]
    assert max(batch.num_rows for part in parts for batch in part) < TABLE.num_rows
    read = pa.concat_tables([pa.Table.from_batches(part) for part in parts])
    assert read.equals(pa.concat_tables([TABLE, TABLE.slice(0, 5), TABLE.slice(7)]))


def test_a_file_has_no_name_and_is_private(tmp_path: Path) -> None:
    address = ResultFile("query", 0).append(TABLE)
    assert size(address) > 1_000_000
    assert list(tmp_path.iterdir()) == []
    assert stat.S_IMODE(os.fstat(Address.from_text(address).descriptor).st_mode) == 0o600


def test_a_file_is_emptied_when_it_has_been_read_but_for_how_long_it_took() -> None:
    file = ResultFile("query", 0)
    address = file.append(TABLE)
    assert file.handed_over() == (0, 0.0)
    with ResultReader() as reader:
        assert sum(batch.num_rows for batch in reader.read(address)) == TABLE.num_rows
    assert size(address) == 16
    rows, seconds = file.handed_over()
    assert rows == TABLE.num_rows
    assert seconds > 0
    assert close_old_files("query", 1) == (rows, seconds)
    assert close_old_files("query", 2) == (0, 0.0)


def test_a_file_of_which_a_part_was_read_is_closed_in_the_next_task() -> None:
    address = ResultFile("query", 0).append(TABLE)
    # A process that reads one batch and is killed, as Spark does once it has enough rows.
    program = (
        "import os, sys\n"
        "from penstock.spark.result_files import ResultReader\n"
        "next(iter(ResultReader().read(sys.argv[1])))\n"
        "os.kill(os.getpid(), 9)\n"
    )
    process = subprocess.run([sys.executable, "-c", program, address], check=False)  # noqa: S603
    assert process.returncode == -9
    assert size(address) > 1_000_000
    close_old_files("query", 0)
    with pytest.raises(OSError, match="Bad file descriptor"):
        size(address)


def test_a_file_that_is_not_read_is_kept_until_the_next_micro_batch() -> None:
    address = ResultFile("query", 7).append(TABLE)
    # Another task of the micro-batch, and another query: the reader of the first may yet come.
    close_old_files("query", 7)
    close_old_files("another", 8)
    assert size(address) > 1_000_000
    close_old_files("query", 8)
    with pytest.raises(OSError, match="Bad file descriptor"):
        size(address)


def test_files_of_queries_that_have_ended_do_not_pile_up() -> None:
    addresses = []
    for number in range(300):
        close_old_files(f"query {number}", 0)
        addresses.append(ResultFile(f"query {number}", 0).append(TABLE.slice(0, 1)))
    assert len(result_files._waiting) == 256
    assert size(addresses[-256]) > 0


def test_results_of_another_file_are_refused() -> None:
    address = Address.from_text(ResultFile("query", 0).append(TABLE))
    with ResultReader() as reader, pytest.raises(OSError, match="must be those of this task"):
        list(reader.read(address._replace(inode=address.inode + 1).to_text()))


def test_files_are_used_only_if_a_process_outlives_its_task(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SPARK_REUSE_WORKER", "1")
    assert result_files.is_possible()
    monkeypatch.delenv("SPARK_REUSE_WORKER")
    assert not result_files.is_possible()


def test_results_in_rows_are_counted_as_they_are_taken() -> None:
    table = pa.table({"x": list(range(10))})
    handing = HandingOver("a query without files", 1, may_use_files=False)
    rows = list(handing.rows(iter([table, table.slice(0, 3)])))
    found = [from_ipc(pa.py_buffer(row["results"][0])).num_rows for row in rows]
    assert found == [10, 3]
    assert all(row["address"][0] is None for row in rows)
    taken, seconds = handing.handed_over
    assert taken == 13
    assert seconds >= 0

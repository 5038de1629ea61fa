"""Damaged files of a real checkpoint: the query fails, and writes no wrong row."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from penstock.cli import main
from penstock.errors import StateError
from penstock.spark import cause
from tests.spark.damage import JOIN, flip_byte, make_batches
from tests.spark.support import Stopped, run_and_stop

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

    from penstock.errors import PenstockError

pytestmark = pytest.mark.spark


def remove_checksum(file: Path) -> None:
    """Remove the checksum that Hadoop keeps beside a file, on a local file system only."""
    (file.parent / f".{file.name}.crc").unlink()


def flip(file: Path, place: float) -> None:
    """Change a byte of a file; `place` is a fraction of its length."""
    data = file.read_bytes()
    file.write_bytes(flip_byte(data, int(place * (len(data) - 1))))


def truncate(file: Path, length: float) -> None:
    """Cut off the end of a file; `length` is the fraction that is left."""
    data = file.read_bytes()
    file.write_bytes(data[: int(length * len(data))])


def assert_no_wrong_rows(spark: SparkSession, copied: Stopped, folder: Path) -> None:
    """Resume from damaged state: it fails and writes nothing, or the rows are right."""
    error = copied.resume(spark, folder).exception()
    assert copied.rows(spark, folder) == (copied.after if error is None else copied.before)


def assert_fails(spark: SparkSession, copied: Stopped, folder: Path) -> PenstockError | None:
    """Resume from damaged state: it fails and writes nothing; return Penstock's error."""
    error = copied.resume(spark, folder).exception()
    assert error is not None
    assert copied.rows(spark, folder) == copied.before
    return cause(error)


@pytest.fixture(scope="module")
def stopped(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Stopped:
    folder = tmp_path_factory.mktemp("stopped")
    return run_and_stop(spark, JOIN, make_batches(4), folder, before=3)


def changelog(folder: Path) -> Path:
    """Return the file with the last changes of the first shard."""
    return folder / "checkpoint" / "state" / "0" / "0" / "3.changelog"


def test_a_damaged_byte_that_the_file_system_finds(
    spark: SparkSession, stopped: Stopped, tmp_path: Path
) -> None:
    stopped.copy(tmp_path)
    flip(changelog(tmp_path), 0.5)
    assert_fails(spark, stopped, tmp_path)


@pytest.mark.parametrize("place", [0.3])
def test_a_damaged_byte_that_the_compression_finds(
    spark: SparkSession, stopped: Stopped, tmp_path: Path, place: float
) -> None:
    stopped.copy(tmp_path)
    flip(changelog(tmp_path), place)
    remove_checksum(changelog(tmp_path))
    assert_fails(spark, stopped, tmp_path)


@pytest.mark.parametrize("length", [0.6])
def test_a_truncated_file(
    spark: SparkSession, stopped: Stopped, tmp_path: Path, length: float
) -> None:
    stopped.copy(tmp_path)
    truncate(changelog(tmp_path), length)
    remove_checksum(changelog(tmp_path))
    assert_fails(spark, stopped, tmp_path)


def test_a_damaged_byte_that_is_never_read(
    spark: SparkSession, stopped: Stopped, tmp_path: Path
) -> None:
    stopped.copy(tmp_path)
    flip(changelog(tmp_path), 1.0)
    remove_checksum(changelog(tmp_path))
    assert_no_wrong_rows(spark, stopped, tmp_path)


def test_a_missing_file(spark: SparkSession, stopped: Stopped, tmp_path: Path) -> None:
    stopped.copy(tmp_path)
    remove_checksum(changelog(tmp_path))
    changelog(tmp_path).unlink()
    assert_fails(spark, stopped, tmp_path)


# Bytes that were changed before compression, so that only Penstock can find them.


@dataclass(frozen=True)
class Entry:
    """An entry of a changelog: the places of its key and its value."""

    key: slice
    value: slice


def entries(data: bytes) -> Iterator[Entry]:
    """Find what was put into the state: a byte for the action, then key and value with sizes."""
    put, remove, size = 0x01, 0x10, 4
    at = 2 + int.from_bytes(data[:2], "big")  # after the version
    while data[at] in {put, remove}:
        kind, at = data[at], at + 1
        key = slice(at + size, at + size + int.from_bytes(data[at : at + size], "big"))
        at = key.stop
        length = int.from_bytes(data[at : at + size], "big", signed=True)
        value = slice(at + size, at + size + max(0, length))
        at = value.stop
        if kind == put:
            yield Entry(key, value)


def read_compressed(spark: SparkSession, file: Path) -> bytes:
    machine, codec = java_codec(spark)
    stream = codec.compressedInputStream(machine.java.io.FileInputStream(str(file)))
    return bytes(stream.readAllBytes())


def write_compressed(spark: SparkSession, file: Path, data: bytes) -> None:
    machine, codec = java_codec(spark)
    stream = codec.compressedOutputStream(machine.java.io.FileOutputStream(str(file)))
    stream.write(data)
    stream.close()


def java_codec(spark: SparkSession) -> tuple[Any, Any]:
    machine: Any = spark._jvm
    settings = spark.sparkContext._jsc.sc().conf()
    return machine, machine.org.apache.spark.io.LZ4CompressionCodec(settings)


@pytest.mark.parametrize(
    ("mark", "place", "message"),
    [
        (b'"join"', "value", 'chunk "head" of the saved state must be intact; its checksum is'),
        pytest.param(
            b"rows/",
            "value",
            'chunk "rows/./.*" of the saved state must be intact; its checksum is',
            marks=pytest.mark.slow,
        ),
        pytest.param(
            b'"join"', "key", 'chunk ".*" of the saved state must be', marks=pytest.mark.slow
        ),
    ],
    ids=["head", "rows", "key of head"],
)
def test_a_damaged_byte_that_only_penstock_finds(
    spark: SparkSession, stopped: Stopped, tmp_path: Path, mark: bytes, place: str, message: str
) -> None:
    stopped.copy(tmp_path)
    file = changelog(tmp_path)
    data = read_compressed(spark, file)
    entry = next(e for e in entries(data) if mark in data[e.key] + data[e.value])
    # The last 8 bytes of a key may end with padding, but do not begin with it.
    at = entry.key.stop - 8 if place == "key" else (entry.value.start + entry.value.stop) // 2
    write_compressed(spark, file, flip_byte(data, at))
    remove_checksum(file)
    error = assert_fails(spark, stopped, tmp_path)
    assert isinstance(error, StateError)
    assert re.match(message, str(error))
    write_compressed(spark, file, data)
    assert_no_wrong_rows(spark, stopped, tmp_path)
    assert stopped.rows(spark, tmp_path) == stopped.after


def flip_where_the_file_system_finds_it(file: Path) -> None:
    flip(file, 0.5)


def flip_where_the_compression_finds_it(file: Path) -> None:
    flip(file, 0.3)
    remove_checksum(file)


def remove(file: Path) -> None:
    file.unlink()
    remove_checksum(file)


def said_by_check(folder: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """Return what `penstock state check` says, which ends with exit code 2."""
    with pytest.raises(SystemExit) as end:
        main(["state", "check", str(folder / "checkpoint")])
    assert end.value.code == 2
    return capsys.readouterr().err


@pytest.mark.slow
def test_the_command_names_the_files_that_spark_cannot_read(
    stopped: Stopped, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for damage, words in (
        (flip_where_the_file_system_finds_it, ""),
        (flip_where_the_compression_finds_it, ""),
        (remove, "3.changelog does not exist"),
    ):
        folder = tmp_path / damage.__name__
        folder.mkdir()
        stopped.copy(folder)
        damage(changelog(folder))
        said = said_by_check(folder, capsys)
        assert "must be readable by Spark; partition 0, in state/0/0, is damaged: " in said
        assert "partition 1" not in said
        assert words in said
    stopped.copy(tmp_path)
    log = tmp_path / "checkpoint" / "commits" / "2"
    log.write_text("not what Spark writes")
    remove_checksum(log)
    said = said_by_check(tmp_path, capsys)
    assert re.search("must be readable by Spark; .*commits/2", said)

"""Damaged state: an error, never a wrong row."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import penstock as ps
from penstock.errors import StateError
from penstock.spark import cause
from penstock.spark.packing import Packer
from penstock.spark.processor import JoinProcessor
from tests.spark.support import Stopped, run_and_stop

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

    from penstock.errors import PenstockError

SCHEMA = pa.schema([("t", pa.int64()), ("k", pa.int64()), ("text", pa.string())])
JOIN = ps.Join(
    streams={n: ps.Stream(time="t", window=50) for n in ("a", "b")},
    on=ps.Equal("k"),
    goal=ps.MaxSubset(strategy="random"),
    budget=ps.Budget(rows=60),
)


def make_batches(count: int) -> dict[str, list[pa.Table]]:
    """Give micro-batches each of which joins rows of those before."""

    def rows(name: str, first: int) -> pa.Table:
        t = range(first, first + 20)
        text = [f"{name}{i}" for i in t]
        return pa.table({"t": t, "k": [i % 5 for i in t], "text": text}).cast(SCHEMA)

    return {name: [rows(name, 20 * batch) for batch in range(count)] for name in ("a", "b")}


# The operator, over state that the test has at hand.


class FakeHandle:
    """What Spark keeps for one shard: as `StatefulProcessorHandle`, and its own map and value."""

    def __init__(self) -> None:
        self.chunks: dict[str, bytes] = {}
        self.head: bytes | None = None

    def getMapState(self, *_: str) -> FakeHandle:  # noqa: N802
        return self

    def getValueState(self, *_: str) -> FakeHandle:  # noqa: N802
        return self

    def iterator(self) -> Iterator[tuple[tuple[str], tuple[bytes]]]:
        return (((name,), (data,)) for name, data in self.chunks.items())

    def updateValue(self, key: tuple[str], value: tuple[bytes]) -> None:  # noqa: N802
        self.chunks[key[0]] = value[0]

    def removeKey(self, key: tuple[str]) -> None:  # noqa: N802
        del self.chunks[key[0]]

    def get(self) -> tuple[bytes] | None:
        return None if self.head is None else (self.head,)

    def update(self, value: tuple[bytes]) -> None:
        (self.head,) = value


def join_batch(handle: FakeHandle, tables: dict[str, pa.Table]) -> None:
    """Join a micro-batch as a worker does that has no operator at hand."""
    schemas = dict.fromkeys(JOIN.names, SCHEMA)
    packed = [
        batch
        for name, table in tables.items()
        for batch in Packer(JOIN, schemas, name, 1)(iter(table.to_batches()))
    ]
    processor = JoinProcessor(JOIN, schemas, 1)
    processor.init(handle)  # type: ignore[arg-type]
    rows = pa.Table.from_batches(packed).to_pandas()
    for _ in processor.handleInputRows((0,), iter([rows]), None):
        pass


@pytest.fixture
def state() -> FakeHandle:
    """Give a state that has every kind of chunk."""
    handle = FakeHandle()
    batches = make_batches(4)
    for place in range(4):
        join_batch(handle, {name: tables[place] for name, tables in batches.items()})
    kinds = {name.split("/")[0] for name in handle.chunks}
    assert kinds == {"rows", "live", "learnt"}
    return handle


def next_batch() -> dict[str, pa.Table]:
    return {name: tables[4] for name, tables in make_batches(5).items()}


def test_intact_it_goes_on(state: FakeHandle) -> None:
    before = state.head
    join_batch(state, next_batch())
    assert state.head != before


def flipped(data: bytes, place: int) -> bytes:
    damaged = bytearray(data)
    damaged[place] ^= 0x10
    return bytes(damaged)


@pytest.mark.parametrize("place", [1, 5, 40, -1])
def test_a_damaged_chunk_is_named(state: FakeHandle, place: int) -> None:
    intact = dict(state.chunks)
    for name, data in intact.items():
        state.chunks = intact | {name: flipped(data, min(place, len(data) - 1))}
        with pytest.raises(StateError) as caught:
            join_batch(state, next_batch())
        assert str(caught.value) == (
            f'chunk "{name}" of the saved state must be intact; its checksum is wrong; restore it '
            "from a copy, or start without the saved state"
        )


@pytest.mark.parametrize("place", [1, 5, 40, -1])
def test_a_damaged_head_is_named(state: FakeHandle, place: int) -> None:
    assert state.head is not None
    state.head = flipped(state.head, place)
    with pytest.raises(StateError, match='chunk "head" of the saved state must be intact; its'):
        join_batch(state, next_batch())


def test_a_chunk_that_is_gone_is_named(state: FakeHandle) -> None:
    intact = dict(state.chunks)
    for name in intact:
        state.chunks = {other: data for other, data in intact.items() if other != name}
        with pytest.raises(StateError, match=f'chunk "{name}" .* must be there; it is missing;'):
            join_batch(state, next_batch())


def test_another_format_is_named(state: FakeHandle) -> None:
    assert state.head is not None
    now = state.head[0]
    state.head = bytes([now + 1]) + state.head[1:]
    with pytest.raises(StateError) as caught:
        join_batch(state, next_batch())
    assert str(caught.value) == (
        f'chunk "head" of the saved state must be of format {now}; got format {now + 1}; run the '
        "version of Penstock that wrote it, or start without it"
    )


def test_a_chunk_of_another_time_is_refused(state: FakeHandle) -> None:
    old, changed = dict(state.chunks), [""]
    for place in range(20):  # row by row, until one only leaves a gap
        old = dict(state.chunks)
        join_batch(state, {name: table.slice(place, 1) for name, table in next_batch().items()})
        changed = [name for name in old if state.chunks.get(name, old[name]) != old[name]]
        if changed:
            break
    (name, *_) = changed
    state.chunks[name] = old[name]
    with pytest.raises(StateError, match=f'chunk "{name}" .* is from another time; restore the'):
        join_batch(state, next_batch())


def test_a_head_that_is_gone_is_not_taken_for_a_beginning(state: FakeHandle) -> None:
    state.head = None
    with pytest.raises(StateError, match=r'chunk "head" .* must be there; it is missing;'):
        join_batch(state, next_batch())


def test_a_head_of_another_time_is_refused() -> None:
    # The second micro-batch changes nothing of what the first has written of rows, it only adds.
    state = FakeHandle()
    batches = {name: tables[0].slice(0, 8) for name, tables in make_batches(1).items()}
    join_batch(state, batches)
    old = state.head
    before = {name: data for name, data in state.chunks.items() if name != "learnt"}
    join_batch(state, {name: table.slice(6) for name, table in batches.items()})
    assert before.items() < state.chunks.items()
    state.head = old
    with pytest.raises(StateError, match="from another time; restore the whole state"):
        join_batch(state, next_batch())


# Files of a real checkpoint.


def without_checksum(file: Path) -> None:
    """Remove the checksum that Hadoop keeps beside a file on the local file system only."""
    (file.parent / f".{file.name}.crc").unlink()


def flip(file: Path, place: float) -> None:
    """Change a byte, at so much of the length of a file."""
    data = file.read_bytes()
    file.write_bytes(flipped(data, int(place * (len(data) - 1))))


def cut_off(file: Path, length: float) -> None:
    data = file.read_bytes()
    file.write_bytes(data[: int(length * len(data))])


def assert_no_wrong_rows(spark: SparkSession, copied: Stopped, folder: Path) -> None:
    """Go on from damaged state: it fails, and nothing is written, or the rows are right."""
    error = copied.resume(spark, folder).exception()
    assert copied.rows(spark, folder) == (copied.after if error is None else copied.before)


def assert_fails(spark: SparkSession, copied: Stopped, folder: Path) -> PenstockError | None:
    """Go on from damaged state: it fails, and nothing is written; give what Penstock says."""
    error = copied.resume(spark, folder).exception()
    assert error is not None
    assert copied.rows(spark, folder) == copied.before
    return cause(error)


@pytest.fixture(scope="module")
def stopped(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Stopped:
    folder = tmp_path_factory.mktemp("stopped")
    return run_and_stop(spark, JOIN, make_batches(4), folder, before=3)


def changelog(folder: Path) -> Path:
    """Give the file with the last changes of the first shard."""
    return folder / "checkpoint" / "state" / "0" / "0" / "3.changelog"


@pytest.mark.spark
def test_a_byte_that_the_file_system_finds(
    spark: SparkSession, stopped: Stopped, tmp_path: Path
) -> None:
    stopped.copy(tmp_path)
    flip(changelog(tmp_path), 0.5)
    assert_fails(spark, stopped, tmp_path)


@pytest.mark.spark
@pytest.mark.parametrize("place", [0.0, 0.3, 0.7])
def test_a_byte_that_the_compression_finds(
    spark: SparkSession, stopped: Stopped, tmp_path: Path, place: float
) -> None:
    stopped.copy(tmp_path)
    flip(changelog(tmp_path), place)
    without_checksum(changelog(tmp_path))
    assert_fails(spark, stopped, tmp_path)


@pytest.mark.spark
@pytest.mark.parametrize("length", [0.0, 0.6])
def test_a_file_that_is_cut_off(
    spark: SparkSession, stopped: Stopped, tmp_path: Path, length: float
) -> None:
    stopped.copy(tmp_path)
    cut_off(changelog(tmp_path), length)
    without_checksum(changelog(tmp_path))
    assert_fails(spark, stopped, tmp_path)


@pytest.mark.spark
def test_the_end_of_a_file_that_nobody_reads(
    spark: SparkSession, stopped: Stopped, tmp_path: Path
) -> None:
    stopped.copy(tmp_path)
    flip(changelog(tmp_path), 1.0)
    without_checksum(changelog(tmp_path))
    assert_no_wrong_rows(spark, stopped, tmp_path)


@pytest.mark.spark
def test_a_file_that_is_gone(spark: SparkSession, stopped: Stopped, tmp_path: Path) -> None:
    stopped.copy(tmp_path)
    without_checksum(changelog(tmp_path))
    changelog(tmp_path).unlink()
    assert_fails(spark, stopped, tmp_path)


# What was changed before it was compressed, so that only Penstock can find it.


@dataclass(frozen=True)
class Entry:
    """An entry of a changelog: where its key and its value are."""

    key: slice
    value: slice


def entries(data: bytes) -> Iterator[Entry]:
    """Find what was put into the state: a byte for what is done, key and value with their sizes."""
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


@pytest.mark.spark
@pytest.mark.parametrize(
    ("mark", "place", "words"),
    [
        (b'"join"', "value", 'chunk "head" of the saved state must be intact; its checksum is'),
        pytest.param(
            b"rows/",
            "value",
            'chunk "rows/./.*" of the saved state must be intact; its checksum is',
            marks=pytest.mark.slow,
        ),
        pytest.param(
            b"rows/",
            "key",
            'chunk ".ows/./.*" of the saved state must be one that its head knows;',
            marks=pytest.mark.slow,
        ),
        pytest.param(
            b'"join"', "key", 'chunk ".*" of the saved state must be', marks=pytest.mark.slow
        ),
    ],
    ids=["head", "rows", "name of rows", "key of head"],
)
def test_a_byte_that_only_penstock_finds(
    spark: SparkSession, stopped: Stopped, tmp_path: Path, mark: bytes, place: str, words: str
) -> None:
    stopped.copy(tmp_path)
    file = changelog(tmp_path)
    data = read_compressed(spark, file)
    entry = next(e for e in entries(data) if mark in data[e.key] + data[e.value])
    # The last byte of a key's last word may be padding, the first is not.
    at = entry.key.stop - 8 if place == "key" else (entry.value.start + entry.value.stop) // 2
    write_compressed(spark, file, flipped(data, at))
    without_checksum(file)
    error = assert_fails(spark, stopped, tmp_path)
    assert isinstance(error, StateError)
    assert re.match(words, str(error))
    write_compressed(spark, file, data)
    assert_no_wrong_rows(spark, stopped, tmp_path)
    assert stopped.rows(spark, tmp_path) == stopped.after


# Snapshots, from which Spark starts if there is one.


@pytest.fixture(scope="module")
def with_snapshot(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Stopped]:
    folder = tmp_path_factory.mktemp("with-snapshot")
    machine: Any = spark._jvm
    stores = getattr(machine, "org.apache.spark.sql.execution.streaming.state.StateStore$")
    prefix = "spark.sql.streaming.stateStore"
    settings = {f"{prefix}.maintenanceInterval": "50ms", f"{prefix}.minDeltasForSnapshot": "1"}
    for name, value in settings.items():
        spark.conf.set(name, value)
    # Ends the thread that writes snapshots once a minute; the next query starts another.
    getattr(stores, "MODULE$").stop()
    try:
        made = run_and_stop(spark, JOIN, make_batches(4), folder, before=3)
        end = time.monotonic() + 60
        while not list(state_folder(folder).glob("[23].zip")):
            assert time.monotonic() < end
            time.sleep(0.05)
        yield made
    finally:
        getattr(stores, "MODULE$").stop()
        for name in settings:
            spark.conf.unset(name)


def state_folder(folder: Path) -> Path:
    return folder / "checkpoint" / "state" / "0" / "0"

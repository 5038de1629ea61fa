"""Nothing stays in the temporary folder: after a session, and after one that was killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

import penstock as ps
from penstock.spark import stream
from penstock.spark.session import may_use_files
from tests.spark.support import assert_equals_replay

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

PROGRAM = """
import sys
import time
import penstock as ps
from penstock.spark import session

spark = session(cores=1, memory="600m", settings={"spark.io.encryption.enabled": sys.argv[2]})
frames = {
    name: spark.readStream.format("rate").option("rowsPerSecond", 100).load()
    for name in ("a", "b")
}
each = ps.Stream(time="timestamp", window="1 minute")
join = ps.Join(streams={"a": each, "b": each}, on=ps.Equal("value"))
query = join.stream(frames, shards=1).writeStream.format("noop").start()
while not any(update.observedMetrics["penstock"].emitted for update in query.recentProgress):
    time.sleep(0.1)
print("running", flush=True)
if sys.argv[1] == "wait":
    input()
query.stop()
"""


def start(folder: Path, way: str, encrypted: str = "false") -> subprocess.Popen[str]:
    """Start a program that joins, and wait until it has results."""
    program = subprocess.Popen(  # noqa: S603  # our own program
        [sys.executable, "-c", PROGRAM, way, encrypted],
        env=os.environ | {"TMPDIR": str(folder)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert program.stdout is not None
    assert program.stdout.readline() == "running\n"
    return program


def kill_session(program: subprocess.Popen[str]) -> None:
    """Kill a program with Java and all workers, and wait until they have ended."""
    while True:
        listed = subprocess.run(
            ["ps", "-A", "-o", "pid=,sid=,stat="],  # noqa: S607  # wherever the system has it
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        rows = [line.split() for line in listed.splitlines()]
        alive = [int(p) for p, sid, status in rows if int(sid) == program.pid and status[0] != "Z"]
        if not alive:
            break
        for pid in alive:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.01)
    program.communicate()


@pytest.mark.crash
@pytest.mark.parametrize("encrypted", ["false", "true"])
def test_nothing_is_left_by_a_session_nor_by_one_that_was_killed(
    tmp_path: Path, encrypted: str
) -> None:
    killed = start(tmp_path, "wait", encrypted)
    (left,) = tmp_path.iterdir()
    assert left.stat().st_mode & 0o777 == 0o700
    kill_session(killed)
    assert list(tmp_path.iterdir()) == [left]
    program = start(tmp_path, "end", encrypted)
    program.communicate()
    assert program.returncode == 0
    assert list(tmp_path.iterdir()) == []


def test_results_that_may_not_be_in_files_are_the_same(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert may_use_files(spark)
    monkeypatch.setattr(stream, "may_use_files", lambda _: False)
    each = ps.Stream(time="t", window=5)
    join = ps.Join(streams={"a": each, "b": each}, on=ps.Equal("k"))
    tables = [
        pa.table({"t": range(first, first + 60), "k": [i % 3 for i in range(60)]})
        for first in (0, 60)
    ]
    expected = assert_equals_replay(spark, join, {"a": tables, "b": tables}, tmp_path)
    assert expected.metrics.emitted > 0

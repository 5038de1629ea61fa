"""A chain of joins whose driver is killed in the middle loses nothing and repeats nothing."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from penstock.testing import canonical_rows
from tests.processes import kill_session
from tests.spark.crash_driver import HALT, HALTED
from tests.spark.plan_crash_driver import CHAIN, SHARDS, WRITTEN
from tests.spark.plan_streams import ROWS, TIMES, in_batches, plan_of
from tests.spark.support import make_sources
from tests.spark.test_crash import wait_for

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

pytestmark = [pytest.mark.spark, pytest.mark.crash]

BATCHES = 7
ROOT = Path(__file__).parents[2]


def start(folder: Path) -> subprocess.Popen[bytes]:
    scratch = folder / "scratch"
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir()
    return subprocess.Popen(  # noqa: S603  # our own program
        [sys.executable, "-m", "tests.spark.plan_crash_driver", str(folder)],
        cwd=ROOT,
        env=os.environ | {"TMPDIR": str(scratch)},
        start_new_session=True,
    )


def micros(times: pa.ChunkedArray) -> int:
    return int(pc.max(times.cast(pa.int64())).as_py())


def latest_results(batches: Mapping[str, Sequence[pa.Table]], count: int) -> pa.Table:
    """Return what the plan gives for the first micro-batches."""
    first = {name: parts[:count] for name, parts in batches.items()}
    tables = {**first, "categories": ROWS["categories"]}
    return plan_of(CHAIN).replay(tables, shards=SHARDS, ended=False, time="time").result


def log_length(folder: Path, log: str) -> int:
    numbers = [int(each.name) for each in (folder / "checkpoint" / log).glob("[0-9]*")]
    return max(numbers, default=-1) + 1


def kill_at(folder: Path, where: str, until: int, batch: int) -> None:
    """Run a driver that halts where it is told, kill it there, and look at its logs."""
    (folder / HALT).write_text(f"{where} {until}")
    driver = start(folder)
    wait_for(driver, (folder / HALTED).exists)
    assert driver.poll() is None, (folder / "spark.log").read_text()[-5000:]
    kill_session(driver)
    assert log_length(folder, "offsets") == batch + 1
    assert log_length(folder, "commits") == batch
    (folder / HALT).unlink()
    (folder / HALTED).unlink()


def test_killed_before_the_first_join_and_after_the_last_the_output_is_that_of_replay(
    tmp_path: Path,
) -> None:
    batches = in_batches(BATCHES)
    make_sources(tmp_path, batches)
    # The first driver is killed while results are written: the joins below have saved their state
    # of that micro-batch. The second one while rows are read: some of them have been joined.
    first, second = 3, 5
    results = latest_results(batches, first + 1)
    until = micros(results["time"])
    assert until > micros(latest_results(batches, first)["time"])
    kill_at(tmp_path, "results", until, first)
    kill_at(tmp_path, "bids", micros(batches["bids"][second][TIMES["bids"]]), second)
    driver = start(tmp_path)
    driver.wait(900)
    assert driver.returncode == 0, (tmp_path / "spark.log").read_text()[-5000:]
    expected = latest_results(batches, BATCHES)
    assert expected.num_rows > results.num_rows > 0
    written = pq.read_table(tmp_path / WRITTEN).cast(expected.schema)
    assert canonical_rows(written) == canonical_rows(expected)

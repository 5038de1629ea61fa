"""Drivers killed at any moment, with Java and workers: a new driver loses no result."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest

from penstock.testing import canonical_rows
from tests.processes import kill_session
from tests.spark.crash_driver import (
    DONE,
    FILES,
    JOINS,
    ROWS,
    RUNNING,
    SHARDS,
    make_batches,
    write_files,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tests.spark.support import Rows

pytestmark = pytest.mark.spark

# Folders of a query in which a new file shows how far a micro-batch has come, in this order.
_MOMENTS = {
    "planned": "checkpoint/offsets",
    "state being saved": "checkpoint/state",
    "rows being written": "out",
    "rows being committed": "out/_spark_metadata",
    "done": "checkpoint/commits",
}
# A driver that has not ended after this time hangs.
_TOO_LONG_SECONDS = 600
_ROOT = Path(__file__).parents[2]


@dataclass
class Drivers:
    """Drivers of the same queries, one after the other, and counts of how they were killed."""

    folder: Path
    joins: Sequence[str] = tuple(JOINS)
    kills: int = 0
    interrupted: Counter[str] = field(default_factory=Counter)
    halfway: Counter[str] = field(default_factory=Counter)

    def start(self) -> subprocess.Popen[bytes]:
        """Start a driver, and wait until all of its queries run, or it has ended."""
        (self.folder / RUNNING).unlink(missing_ok=True)
        scratch = self.folder / "scratch"
        # What killed drivers leave there, such as a library of RocksDB, must not pile up.
        shutil.rmtree(scratch, ignore_errors=True)
        scratch.mkdir()
        driver = subprocess.Popen(  # noqa: S603  # our own program
            [sys.executable, "-m", "tests.spark.crash_driver", str(self.folder), *self.joins],
            cwd=_ROOT,
            env=os.environ | {"TMPDIR": str(scratch)},
            start_new_session=True,
        )
        wait_for(driver, (self.folder / RUNNING).exists)
        return driver

    def run_to_the_end(self) -> dict[str, Rows]:
        """Run a driver until it ends, and return the rows that each join has written."""
        driver = self.start()
        driver.wait(_TOO_LONG_SECONDS)
        assert driver.returncode == 0, (self.folder / "spark.log").read_text()[-5000:]
        return {
            kind: canonical_rows(pq.read_table(self.folder / kind / ROWS)) for kind in self.joins
        }

    def kill_one(self, kind: str, moment: str, *, commits: int, delay: float) -> None:
        """Start a driver, wait for `commits` of a query, then for the moment, and kill it."""
        driver = self.start()
        goal = self.committed(kind) + commits
        wait_for(driver, lambda: self.committed(kind) >= goal)
        folder = self.folder / kind / _MOMENTS[moment]
        before = _files(folder)
        wait_for(driver, lambda: bool(_files(folder) - before))
        time.sleep(delay)
        if driver.poll() is not None:
            assert driver.returncode == 0, (self.folder / "spark.log").read_text()[-5000:]
            return  # too late: it does not count
        kill_session(driver)
        self.kills += 1
        for each in self.joins:
            self.interrupted[each] += not (self.folder / each / DONE).exists()
            self.halfway[each] += self.planned(each) > self.committed(each)

    def committed(self, kind: str) -> int:
        """Return how many micro-batches of a query are committed."""
        return _count(self.folder / kind / "checkpoint" / "commits")

    def planned(self, kind: str) -> int:
        """Return how many micro-batches of a query have begun."""
        return _count(self.folder / kind / "checkpoint" / "offsets")


def wait_for(driver: subprocess.Popen[bytes], until: Callable[[], bool]) -> None:
    """Wait until a driver has done something, or has ended."""
    end = time.monotonic() + _TOO_LONG_SECONDS
    while driver.poll() is None and not until():
        if time.monotonic() > end:
            kill_session(driver)
            pytest.fail("the driver hangs")
        time.sleep(0.002)


def _files(folder: Path) -> set[str]:
    """Return all files in a folder, also hidden and temporary ones."""
    return {str(Path(place) / name) for place, _, names in os.walk(folder) for name in names}


def _count(log: Path) -> int:
    """Return how many entries Spark has made in a log, those it has deleted included."""
    numbers = [int(each.name) for each in log.glob("*") if each.name.isdigit()]
    return max(numbers, default=-1) + 1


def crash_and_compare(
    folder: Path, joins: Sequence[str], *, kills: int, halfway: int, report: Callable[[str], object]
) -> Drivers:
    """Kill drivers, let the last one end, and compare its rows with those of `replay`.

    At least `kills` drivers are killed. More are, up to twice as many, until `halfway` kills have
    hit each join in the middle of a micro-batch: on a busy machine some come too late.
    """
    # A killed driver has done 2 micro-batches on average, and 4 at most. So there are enough for
    # all drivers.
    parts = 3 * kills + 8
    batches = make_batches(parts)
    write_files(folder, batches)
    drivers = Drivers(folder, joins)
    draw = random.Random(11)
    moments = [(kind, moment) for moment in _MOMENTS for kind in joins]
    for number in range(2 * kills):
        if drivers.kills >= kills and all(drivers.halfway[each] >= halfway for each in joins):
            break
        kind, moment = moments[(len(joins) + 1) * number % len(moments)]
        commits, delay = draw.choice([0, 1, 2]), draw.choice([0.0, 0.0, draw.random() / 2])
        began = time.monotonic()
        drivers.kill_one(kind, moment, commits=commits, delay=delay)
        done = ", ".join(f"{each} {drivers.committed(each)}" for each in joins)
        report(
            f"kill {number + 1} of {kills}: {kind}, {moment}, {1000 * delay:.0f} ms later; "
            f"micro-batches done, of {parts}: {done}; {time.monotonic() - began:.0f} s"
        )
    rows = drivers.run_to_the_end()
    for kind in joins:
        expected = JOINS[kind].replay(batches, shards=SHARDS, ended=False)
        assert rows[kind] == canonical_rows(expected.result), kind
        assert (expected.metrics.lost > 0) == (kind != "exact")
    return drivers


# `make slow` has test_crash_in_a_burst.py.
@pytest.mark.crash
def test_drivers_killed_twice_lose_nothing_and_repeat_nothing(tmp_path: Path) -> None:
    # The join with the most state, and one that keeps to a limit of work. A driver takes 20 seconds
    # to start.
    drivers = crash_and_compare(tmp_path, ["learning", "work"], kills=2, halfway=1, report=print)
    assert drivers.kills >= 2
    for kind in ("learning", "work"):
        assert drivers.interrupted[kind] >= 2
        assert drivers.halfway[kind] >= 1


@pytest.mark.slow
@pytest.mark.crash
def test_drivers_killed_fifty_times_write_what_an_undisturbed_one_writes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def report(line: str) -> None:
        with capsys.disabled():
            print(line, flush=True)  # noqa: T201  # it takes a quarter of an hour

    killed = tmp_path / "killed"
    killed.mkdir()
    drivers = crash_and_compare(killed, list(JOINS), kills=50, halfway=20, report=report)
    assert drivers.kills >= 50
    for kind in JOINS:
        assert drivers.interrupted[kind] >= 40
        assert drivers.halfway[kind] >= 20
    undisturbed = tmp_path / "undisturbed"
    shutil.copytree(killed / FILES, undisturbed / FILES)
    rows = Drivers(undisturbed).run_to_the_end()
    for kind in JOINS:
        assert rows[kind] == canonical_rows(pq.read_table(killed / kind / ROWS))

"""A chain of joins whose driver is killed in the middle loses nothing and repeats nothing."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest

from penstock.testing import canonical_rows
from tests.processes import kill_session
from tests.spark.plan_crash_driver import RESULTS
from tests.spark.plan_streams import PLANS, ROWS, in_batches
from tests.spark.support import make_sources

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = [pytest.mark.spark, pytest.mark.crash]

# In these folders a new file shows how far a micro-batch has come.
MOMENTS = ("checkpoint/offsets", "checkpoint/state", "out")
TOO_LONG_SECONDS = 900
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


def wait_for(driver: subprocess.Popen[bytes], until: Callable[[], bool]) -> None:
    end = time.monotonic() + TOO_LONG_SECONDS
    while driver.poll() is None and not until():
        if time.monotonic() > end:
            kill_session(driver)
            pytest.fail("the driver hangs")
        time.sleep(0.002)


def files_in(folder: Path) -> set[str]:
    return {str(Path(place) / name) for place, _, names in os.walk(folder) for name in names}


def test_drivers_killed_in_the_middle_write_what_replay_gives(tmp_path: Path) -> None:
    make_sources(tmp_path, in_batches(3 * len(MOMENTS) + 3))
    halfway = 0
    for at, moment in enumerate(MOMENTS):
        driver = start(tmp_path)
        commits = tmp_path / "checkpoint" / "commits"
        wait_for(driver, (commits / str(2 * at)).exists)
        before = files_in(tmp_path / moment)
        wait_for(driver, lambda: bool(files_in(tmp_path / moment) - before))  # noqa: B023
        assert driver.poll() is None, (tmp_path / "spark.log").read_text()[-5000:]
        kill_session(driver)
        last = max(int(each.name) for each in (tmp_path / "checkpoint" / "offsets").glob("[0-9]*"))
        halfway += not (commits / str(last)).exists()
    driver = start(tmp_path)
    driver.wait(TOO_LONG_SECONDS)
    assert driver.returncode == 0, (tmp_path / "spark.log").read_text()[-5000:]
    assert halfway > 0
    expected = PLANS[0].replay(ROWS).result
    written = pq.read_table(tmp_path / RESULTS).cast(expected.schema)
    assert canonical_rows(written) == canonical_rows(expected)

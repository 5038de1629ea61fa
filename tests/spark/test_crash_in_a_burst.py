"""A driver killed in the middle of a burst, while its joins give up work: a new one goes on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from penstock.testing import canonical_rows
from tests.processes import kill_session
from tests.spark.burst_streams import BURST, JOINS, make_batches
from tests.spark.crash_driver import HALT, HALTED, SHARDS, write_files
from tests.spark.test_crash import Drivers, wait_for

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.spark, pytest.mark.crash]

# The micro-batch in which the driver is killed: neither the first of the burst nor its last.
_KILLED = BURST[len(BURST) // 2]


# Two drivers with few queries each: on a busy machine one with all of them takes too long.
@pytest.mark.parametrize(
    "kinds",
    [("burst", "burst of three"), ("harvest of three",)],
    ids=["rows", "parts of windows"],
)
def test_killed_in_the_middle_of_a_burst_the_output_is_that_of_an_undisturbed_run(
    tmp_path: Path, kinds: tuple[str, ...]
) -> None:
    batches = make_batches()
    write_files(tmp_path, batches)
    drivers = Drivers(tmp_path, kinds)
    # All joins halt in the same micro-batch, however fast this machine is, and are killed there.
    (tmp_path / HALT).write_text(str(_KILLED * 1_000_000))
    driver = drivers.start()
    wait_for(driver, lambda: all((tmp_path / kind / HALTED).exists() for kind in kinds))
    assert driver.poll() is None, (tmp_path / "spark.log").read_text()[-5000:]
    kill_session(driver)
    for kind in kinds:
        assert drivers.planned(kind) == _KILLED + 1
        assert drivers.committed(kind) == _KILLED
    (tmp_path / HALT).unlink()
    rows = drivers.run_to_the_end()

    for kind in kinds:
        join = JOINS[kind]
        of_join = {name: batches[name] for name in join.names}
        expected = join.replay(of_join, shards=SHARDS, ended=False)
        # That a run on Spark is as a replay: tests/spark/test_cpu_budget.py.
        assert rows[kind] == canonical_rows(expected.result), kind
        # Work was given up in the burst before the driver was killed, and after it.
        until_killed = {name: tables[:_KILLED] for name, tables in of_join.items()}
        before = join.replay(until_killed, shards=SHARDS, ended=False).metrics
        assert 0 < before.lost < expected.metrics.lost

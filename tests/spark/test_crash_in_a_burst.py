"""A driver killed in the middle of a burst, while its joins give up work: a new one goes on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from penstock.testing import canonical_rows
from tests.processes import kill_session
from tests.spark.burst_streams import BURST, JOINS, make_batches
from tests.spark.crash_driver import HALT, HALTED, SHARDS, write_files
from tests.spark.support import stream_rows
from tests.spark.test_crash import Drivers, wait_for

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

# The micro-batch in which the driver is killed: neither the first of the burst nor its last.
_KILLED = BURST[len(BURST) // 2]


def test_killed_in_the_middle_of_a_burst_the_output_is_that_of_an_undisturbed_run(
    spark: SparkSession, tmp_path: Path
) -> None:
    batches = make_batches()
    killed = tmp_path / "killed"
    write_files(killed, batches)
    drivers = Drivers(killed, tuple(JOINS))
    # Both joins halt in the same micro-batch, however fast this machine is, and are killed there.
    (killed / HALT).write_text(str(_KILLED * 1_000_000))
    driver = drivers.start()
    wait_for(driver, lambda: all((killed / kind / HALTED).exists() for kind in JOINS))
    assert driver.poll() is None, (killed / "spark.log").read_text()[-5000:]
    kill_session(driver)
    for kind in JOINS:
        assert drivers.planned(kind) == _KILLED + 1
        assert drivers.committed(kind) == _KILLED
    (killed / HALT).unlink()
    rows = drivers.run_to_the_end()

    for kind, join in JOINS.items():
        of_join = {name: batches[name] for name in join.names}
        undisturbed, metrics = stream_rows(spark, join, of_join, tmp_path / kind, shards=SHARDS)
        assert rows[kind] == undisturbed, kind
        assert rows[kind] == canonical_rows(join.replay(of_join, shards=SHARDS, ended=False).result)
        # Work was given up in the burst before the driver was killed, and after it.
        until_killed = {name: tables[:_KILLED] for name, tables in of_join.items()}
        before = join.replay(until_killed, shards=SHARDS, ended=False).metrics
        assert 0 < before.lost < metrics.lost

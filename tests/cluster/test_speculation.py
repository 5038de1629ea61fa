"""Speculative execution: two attempts at a task save their state, and either may be stored."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.compute as pc
import pytest

from tests.cluster.cluster import Cluster, wait_until
from tests.cluster.driver import MEETING
from tests.cluster.job import Job
from tests.spark.crash_driver import make_batches

if TYPE_CHECKING:
    import pyarrow as pa

pytestmark = pytest.mark.cluster

SPECULATION = {
    "spark.speculation": "true",
    "spark.speculation.interval": "50ms",
    "spark.speculation.minTaskRuntime": "100ms",
    # For stages of as few tasks as an executor can run at once.
    "spark.speculation.task.duration.threshold": "500ms",
}
BATCHES = 8
TIMES = {"auctions": "opened_at", "bids": "at"}


def rounded(name: str, table: pa.Table) -> pa.Table:
    """Round times down to hours: with ties, rows can be held in another order."""
    place = table.column_names.index(TIMES[name])
    times = pc.floor_temporal(table[TIMES[name]], unit="hour")
    return table.set_column(place, table.schema.field(place), times.cast(table.schema.types[place]))


def test_two_attempts_at_every_task_leave_a_checkpoint_that_can_be_read(
    capsys: pytest.CaptureFixture[str],
) -> None:
    batches = {
        name: [rounded(name, table) for table in tables]
        for name, tables in make_batches(2 * BATCHES).items()
    }
    with tempfile.TemporaryDirectory(prefix="penstock-cluster-") as name:
        folder = Path(name)
        with Cluster(folder, cores=2) as cluster:
            place = folder / "job"
            place.mkdir()
            meeting = place / MEETING
            meeting.mkdir()
            job = Job(cluster, place, SPECULATION)
            job.give({n: tables[:BATCHES] for n, tables in batches.items()})
            job.start()
            job.end()
            twice = sum(len(list(each.iterdir())) > 1 for each in meeting.iterdir())
            with capsys.disabled():
                print(f"\ntwo attempts have saved {twice} times")  # noqa: T201
            assert twice > 0
            # New executors, which read the state from the checkpoint.
            for each in meeting.iterdir():
                for file in each.iterdir():
                    file.unlink()
                each.rmdir()
            meeting.rmdir()
            job.give({n: tables[BATCHES:] for n, tables in batches.items()})
            job.start()
            job.end()
            wait_until(lambda: not cluster.result_files(), "the end of all files of results")
        wait_until(lambda: not cluster.left(), "the end of all processes")

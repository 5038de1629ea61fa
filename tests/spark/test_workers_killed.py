"""Python workers killed while they work: the job goes on, and the result is the same."""

from __future__ import annotations

import os
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pyspark import TaskContext, cloudpickle

from penstock.spark import stream
from penstock.spark.processor import JoinProcessor
from penstock.testing import canonical_rows
from tests.spark.crash_driver import JOINS, SHARDS, make_batches
from tests.spark.support import make_sources, rows_written, run, start

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import pandas as pd
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    import penstock as ps
    from penstock.engine.operator import Operator
    from penstock.engine.plan import Plan

pytestmark = pytest.mark.spark


def frame(
    spark: SparkSession, join: ps.Join, batches: Mapping[str, Sequence[pa.Table]], folder: Path
) -> DataFrame:
    sources = make_sources(folder, batches)
    frames = {name: source.read_stream(spark) for name, source in sources.items()}
    return join.stream(frames, shards=SHARDS)


def assert_written_as_replayed(
    spark: SparkSession, join: ps.Join, batches: Mapping[str, Sequence[pa.Table]], folder: Path
) -> None:
    expected = join.replay(batches, shards=SHARDS, ended=False).result
    assert rows_written(spark, folder, expected.schema) == canonical_rows(expected)


def failed_tasks(spark: SparkSession) -> int:
    """Return how many tasks of this session have failed so far."""
    jobs = spark._jsc.sc().statusStore().jobsList(None)
    return sum(jobs.apply(place).numFailedTasks() for place in range(jobs.size()))


# Workers that kill themselves, each at one of the worst moments.

MOMENTS = ("state read", "results given", "state saved", "all given")
DIES_IN_BATCH = 1


class DyingProcessor(JoinProcessor):
    """Kills its own worker at a moment, in each shard's first attempt at a micro-batch."""

    moment = ""

    def handleInputRows(  # noqa: N802
        self,
        key: tuple[int],
        rows: Iterator[pd.DataFrame],
        timerValues: Any,  # noqa: ANN401, N803
    ) -> Iterator[pd.DataFrame]:
        for given in super().handleInputRows(key, rows, timerValues):
            yield given
            self._die("results given")
        self._die("all given")

    def _operator(self, plan: Plan, shard: int) -> Operator:
        operator = super()._operator(plan, shard)
        self._die("state read")
        return operator

    def _save(self, operator: Operator, shard: int) -> None:
        super()._save(operator, shard)
        self._die("state saved")

    def _die(self, moment: str) -> None:
        context = TaskContext.get()
        assert context is not None
        batch = context.getLocalProperty("streaming.sql.batchId")
        if (moment, batch, context.attemptNumber()) == (self.moment, str(DIES_IN_BATCH), 0):
            os.kill(os.getpid(), signal.SIGKILL)


# One in every run: each takes 10 seconds.
@pytest.mark.parametrize(
    "moment",
    [
        pytest.param(moment, marks=pytest.mark.crash if moment != "state saved" else ())
        for moment in MOMENTS
    ],
)
def test_a_worker_that_dies_is_replaced(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    this = sys.modules[__name__]
    cloudpickle.register_pickle_by_value(this)  # type: ignore[no-untyped-call]  # workers cannot import the tests
    try:
        monkeypatch.setattr(DyingProcessor, "moment", moment)
        monkeypatch.setattr(stream, "JoinProcessor", DyingProcessor)
        batches = make_batches(4)
        before = failed_tasks(spark)
        run(frame(spark, JOINS["random"], batches, tmp_path), tmp_path)
    finally:
        cloudpickle.unregister_pickle_by_value(this)  # type: ignore[no-untyped-call]
    assert_written_as_replayed(spark, JOINS["random"], batches, tmp_path)
    assert failed_tasks(spark) - before == SHARDS


# Workers that are killed from outside.


def _runs_tasks(pid: int) -> bool:
    try:
        command = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:  # it has just ended
        return False
    return b"pyspark.worker" in command


def python_processes(spark: SparkSession) -> tuple[set[int], set[int]]:
    """Return the Python processes that run tasks of this session: daemons and workers.

    Those that read sources are left out: if one of these dies, Spark ends the query.
    """
    machine = spark._jvm
    assert machine is not None
    java = machine.java.lang.ProcessHandle.current()
    parents = {
        each.pid(): each.parent().get().pid()
        for each in java.descendants().toArray()
        if _runs_tasks(each.pid())
    }
    daemons = {pid for pid, parent in parents.items() if parent == java.pid()}
    return daemons, {pid for pid, parent in parents.items() if parent in daemons}


# Daemons also start the processes in which Spark plans a micro-batch: if one of these is hit, the
# query ends. That is rare, but chance decides it, so it is not among the tests of every change.
@pytest.mark.parametrize("victims", ["workers", pytest.param("daemons", marks=pytest.mark.crash)])
def test_killed_in_the_middle_of_micro_batches(
    spark: SparkSession, tmp_path: Path, victims: str
) -> None:
    batches = make_batches(12)
    before = failed_tasks(spark)
    query = start(frame(spark, JOINS["random"], batches, tmp_path), tmp_path)
    tracker = spark.sparkContext.statusTracker()
    kills = 0
    while query.isActive and (kills < 3 or failed_tasks(spark) - before < 3):
        if not tracker.getActiveStageIds():
            time.sleep(0.005)
            continue
        daemons, workers = python_processes(spark)
        for pid in daemons | workers if victims == "daemons" else workers:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        kills += 1
        # Do not kill the same task again: in this session it may fail only once.
        done = len(query.recentProgress) + 1
        while len(query.recentProgress) <= done:
            time.sleep(0.02)
            if not query.isActive:
                break
    query.awaitTermination()
    assert failed_tasks(spark) - before >= 3
    assert_written_as_replayed(spark, JOINS["random"], batches, tmp_path)

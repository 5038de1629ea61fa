"""Executors, workers and drivers killed at any moment: the rows are those of a replay."""

from __future__ import annotations

import random
import tempfile
import time
from collections import Counter
from pathlib import Path

import pytest

from tests.cluster.cluster import HOSTS, Cluster, wait_until
from tests.cluster.driver import KINDS
from tests.cluster.job import MOMENTS, Job
from tests.spark.crash_driver import make_batches

pytestmark = pytest.mark.cluster

VICTIMS = ("executor",) * 6 + ("worker",) * 2 + ("driver",) * 2
# Micro-batches of a round. A round waits for one of them at most, and for something of a second.
BATCHES = 3


def test_whatever_is_killed_the_rows_are_those_of_a_replay(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def report(line: str) -> None:
        with capsys.disabled():
            print(line, flush=True)  # noqa: T201  # it takes some minutes

    with tempfile.TemporaryDirectory(prefix="penstock-cluster-") as name:
        folder = Path(name)
        with Cluster(folder) as cluster:
            report(f"\na master and workers on {' and '.join(HOSTS)}: {cluster.master}")
            killed = _kill_and_compare(cluster, report)
            wait_until(lambda: not cluster.result_files(), "the end of all files of results")
            report("no file of results is left")
        assert killed == Counter(VICTIMS)
        wait_until(lambda: not cluster.left(), "the end of all processes")
        report("no process is left")
    assert not folder.exists()


def _kill_and_compare(cluster: Cluster, report: object) -> Counter[str]:
    assert callable(report)
    draw = random.Random(13)
    victims = draw.sample(VICTIMS, len(VICTIMS))
    batches = make_batches(BATCHES * (len(victims) + 2))

    def part(number: int) -> dict[str, list[object]]:
        return {n: t[BATCHES * number : BATCHES * (number + 1)] for n, t in batches.items()}

    folder = cluster.folder / "job"
    folder.mkdir()
    job = Job(cluster, folder)
    job.give(part(0))
    job.start()
    killed: Counter[str] = Counter()
    for number, victim in enumerate(victims, start=1):
        kind, moment, host = (draw.choice(list(each)) for each in (KINDS, MOMENTS, HOSTS))
        commits, delay = draw.choice([0, 1]), draw.choice([0.0, 0.0, draw.random() / 2])
        began = time.monotonic()
        job.give(part(number))
        job.reach(kind, moment, commits=commits, delay=delay)
        where = f" on {host}"
        if victim == "executor":
            cluster.kill_executors(host)
        elif victim == "worker":
            cluster.kill_worker(host)
        else:
            job.kill_driver()
            where = ""
        killed[victim] += 1
        done = ", ".join(f"{each} {job.committed(each)}" for each in KINDS)
        report(
            f"round {number} of {len(victims)}: killed the {victim}{where}; {kind}, {moment}, "
            f"{1000 * delay:.0f} ms later; micro-batches done: {done}; "
            f"{time.monotonic() - began:.0f} s"
        )
    job.give(part(len(victims) + 1))
    job.end()
    report(f"the rows of {', '.join(KINDS)} are those of a replay")
    return killed

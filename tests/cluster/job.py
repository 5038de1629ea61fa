"""A job on the cluster, as a test sees it: micro-batches in, drivers one after the other, rows."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.parquet as pq

from penstock.testing import canonical_rows
from tests.cluster.cluster import wait_until
from tests.cluster.driver import ALL, KINDS, SETTINGS
from tests.processes import kill_session
from tests.spark.crash_driver import JOINS, ROWS, RUNNING, SHARDS, write_files

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa

    from tests.cluster.cluster import Cluster

# Folders of a query in which a new file shows how far a micro-batch has come, in this order.
MOMENTS = {
    "planned": "checkpoint/offsets",
    "state being saved": "checkpoint/state",
    "rows being written": "out",
    "done": "checkpoint/commits",
}
_ROOT = Path(__file__).parents[2]


@dataclass
class Job:
    """The market's joins on a cluster; `given` has the micro-batches so far."""

    cluster: Cluster
    folder: Path
    settings: Mapping[str, str] = field(default_factory=dict)
    given: dict[str, list[pa.Table]] = field(default_factory=dict)
    driver: subprocess.Popen[bytes] | None = None

    def give(self, batches: Mapping[str, list[pa.Table]]) -> None:
        """Add micro-batches to the source."""
        write_files(self.folder, dict(batches))
        for name, tables in batches.items():
            self.given.setdefault(name, []).extend(tables)

    def start(self) -> None:
        """Start a driver, and wait until its queries run."""
        (self.folder / RUNNING).unlink(missing_ok=True)
        (self.folder / ALL).unlink(missing_ok=True)
        (self.folder / SETTINGS).write_text(json.dumps(self._settings()))
        self.driver = subprocess.Popen(  # noqa: S603  # our own program
            [sys.executable, "-m", "tests.cluster.driver", str(self.folder)],
            cwd=_ROOT,
            env=self.cluster.environment(),
            start_new_session=True,
        )
        self.cluster.sessions.add(self.driver.pid)
        self._wait((self.folder / RUNNING).exists, "a driver that runs its queries")

    def reach(self, kind: str, moment: str, *, commits: int, delay: float) -> None:
        """Wait for commits of a query, then for a moment of its next micro-batch, then longer."""
        goal = self.committed(kind) + commits
        self._wait(lambda: self.committed(kind) >= goal, f"{commits} commits of {kind}")
        folder = self.folder / kind / MOMENTS[moment]
        before = _files(folder)
        self._wait(lambda: bool(_files(folder) - before), f"{kind}: {moment}")
        time.sleep(delay)

    def kill_driver(self) -> None:
        """Kill the driver with all that it has started itself, and start another one."""
        assert self.driver is not None
        kill_session(self.driver)
        self.start()

    def end(self) -> None:
        """Signal that all micro-batches are there, wait for the driver to end, and compare."""
        assert self.driver is not None
        (self.folder / ALL).touch()
        self._wait(lambda: all((self.folder / kind / ROWS).exists() for kind in KINDS), "all rows")
        assert self.driver.wait(900) == 0, self.log()
        for kind in KINDS:
            rows = pq.read_table(self.folder / kind / ROWS)
            (self.folder / kind / ROWS).unlink()
            expected = JOINS[kind].replay(self.given, shards=SHARDS, ended=False)
            assert canonical_rows(rows) == canonical_rows(expected.result), kind
            lost = sum(each.dropped + each.evicted for each in expected.metrics.streams.values())
            assert (lost > 0) == (kind != "exact")

    def committed(self, kind: str) -> int:
        """Return how many micro-batches of a query are committed."""
        log = self.folder / kind / "checkpoint" / "commits"
        numbers = [int(each.name) for each in log.glob("*") if each.name.isdigit()]
        return max(numbers, default=-1) + 1

    def log(self) -> str:
        """Return the lines of the driver's log that say what went wrong."""
        lines = (self.folder / "spark.log").read_text().splitlines()
        return "\n".join(each for each in lines if not each.startswith("\tat "))[-5000:]

    def _settings(self) -> dict[str, str]:
        options = self.cluster.java_options()
        local = self.folder / "local"
        return {
            "spark.master": self.cluster.master,
            "spark.local.dir": str(local),
            "spark.driver.extraJavaOptions": options,
            "spark.executor.extraJavaOptions": options,
            "spark.executor.memory": "512m",
            "spark.executor.cores": str(self.cluster.cores),
            # However often the same task is hit: what is compared is the rows.
            "spark.task.maxFailures": "50",
            "spark.stage.maxConsecutiveAttempts": "50",
            "spark.sql.streaming.stateStore.maintenanceInterval": "1s",
            "spark.sql.streaming.stateStore.minDeltasForSnapshot": "3",
            **self.settings,
        }

    def _wait(self, until: object, words: str) -> None:
        assert callable(until)

        def ended_or_seen() -> bool:
            assert self.driver is not None
            if self.driver.poll() is not None and not until():
                raise AssertionError(f"the driver has ended before {words}: {self.log()}")
            return bool(until())

        wait_until(ended_or_seen, words)


def _files(folder: Path) -> set[str]:
    """Return all files in a folder, also hidden and temporary ones."""
    return {str(Path(place) / name) for place, _, names in os.walk(folder) for name in names}

"""A standalone cluster of Spark from its Python package: a master and two workers.

The workers have addresses of their own, 127.0.0.1 and 127.0.0.2, so that for Spark they are two
hosts. All files are in one folder. On a Mac the second address has to be made first:
`sudo ifconfig lo0 alias 127.0.0.2`.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Self

import pyspark

from tests.processes import children_of, in_sessions, kill_session

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

HOSTS = ("127.0.0.1", "127.0.0.2")
_ROOT = Path(__file__).parents[2]
# What has not happened after this time will not happen.
_TOO_LONG_SECONDS = 900
_JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:-UsePerfData -Djava.io.tmpdir={tmp}"


def wait_until(what: Callable[[], object], words: str) -> None:
    """Wait until something is the case; fail with the words if it never is."""
    end = time.monotonic() + _TOO_LONG_SECONDS
    while not what():
        assert time.monotonic() < end, f"never seen: {words}"
        time.sleep(0.01)


class Cluster:
    """A master and a worker on each host, until the end of the block; `cores` of each worker."""

    def __init__(self, folder: Path, cores: int = 1) -> None:
        self.folder = folder
        self.cores = cores
        self.tmp = folder / "tmp"
        self.master = ""
        self.sessions: set[int] = set()  # of all processes that were ever started here
        self._daemons: dict[str, subprocess.Popen[bytes]] = {}
        self._scratch: dict[str, Path] = {}  # of each daemon that was not killed

    def __enter__(self) -> Self:
        self.tmp.mkdir()
        log = self._start("master", "master.Master", "--host", HOSTS[0], "--port", "0")
        found: list[str] = []

        def is_up() -> bool:
            found[:] = re.findall(r"Starting Spark master at (spark://\S+)", log.read_text())
            return bool(found)

        wait_until(is_up, "the master, in its log")
        self.master = found[0]
        for host in HOSTS:
            self.start_worker(host)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for host in HOSTS:
            self._end(host)
        self._end("master")

    def start_worker(self, host: str) -> None:
        """Start a worker, and wait until the master knows it."""
        options = (
            "--cores",
            self.cores,
            "--memory",
            "2g",
            "--work-dir",
            self.folder / "work" / host,
        )
        log = self._start(host, "worker.Worker", "--host", host, *options, self.master)
        words = "Successfully registered with master"
        wait_until(lambda: words in log.read_text(), f"the worker on {host}, in its log")

    def kill_executors(self, host: str) -> int:
        """Kill the executors of a worker, as soon as there is one; return how many there were."""
        worker = self._daemons[host].pid
        wait_until(lambda: children_of(worker), f"an executor on {host}")
        executors = children_of(worker)
        for pid in executors:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        return len(executors)

    def kill_worker(self, host: str) -> None:
        """Kill a worker alone, and start another one; its executors are to notice and to end."""
        self._daemons[host].kill()
        self._daemons[host].wait()
        self.start_worker(host)

    def left(self) -> list[int]:
        """Return the processes of this cluster that run, whoever started them."""
        return in_sessions(self.sessions)

    def result_files(self) -> list[Path]:
        """Return the files of results that are left, but for those of workers that were killed.

        A worker removes the folders of its executors when a job ends. If it was killed, only the
        executors themselves could do so, and they may have been killed before it.
        """
        # Folders may vanish meanwhile, which `os.walk` does not mind.
        return [
            Path(place) / name
            for folder in (self.tmp, *self._scratch.values())
            for place, _, names in os.walk(folder)
            for name in names
            if name.startswith("penstock-")
        ]

    def environment(self) -> dict[str, str]:
        """Return the environment of everything that runs on the cluster."""
        # Workers of Spark run in other folders.
        path = [str(_ROOT / part) for part in os.environ.get("PYTHONPATH", "").split(os.pathsep)]
        return os.environ | {
            "PYTHONPATH": os.pathsep.join([*path, str(_ROOT)]),
            "SPARK_HOME": str(Path(pyspark.__file__).parent),
            "TMPDIR": str(self.tmp),
        }

    def java_options(self) -> str:
        """Return options of Java: it starts sooner, and leaves nothing outside of the folder."""
        return _JAVA.format(tmp=self.tmp)

    def _start(self, name: str, program: str, *arguments: object) -> Path:
        home = Path(pyspark.__file__).parent
        log = self.folder / f"{name}.log"
        scratch = self.folder / "scratch" / f"{name}-{len(self.sessions)}"
        scratch.mkdir(parents=True)
        self._scratch[name] = scratch
        settings = {
            "SPARK_DAEMON_MEMORY": "256m",
            # A job is not given up because its executors were killed too often.
            "SPARK_DAEMON_JAVA_OPTS": f"{self.java_options()} -Dspark.deploy.maxExecutorRetries=-1",
            "SPARK_LOCAL_DIRS": str(scratch),
            "SPARK_LOCAL_IP": HOSTS[0] if name == "master" else name,
        }
        with log.open("wb") as sink:
            self._daemons[name] = subprocess.Popen(  # noqa: S603  # Spark's own program
                [
                    home / "bin" / "spark-class",
                    f"org.apache.spark.deploy.{program}",
                    *("--webui-port", "0"),
                    *map(str, arguments),
                ],
                stdout=sink,
                stderr=sink,
                env=self.environment() | settings,
                start_new_session=True,
            )
        self.sessions.add(self._daemons[name].pid)
        return log

    def _end(self, name: str) -> None:
        """Ask a daemon to end; kill it only if it does not."""
        daemon = self._daemons.get(name)
        if daemon is None:
            return
        daemon.terminate()
        try:
            daemon.wait(60)
        except subprocess.TimeoutExpired:
            kill_session(daemon)

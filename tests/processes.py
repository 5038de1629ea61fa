"""Processes that a test has started, and all that those have started: by their sessions."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection


def in_sessions(leaders: Collection[int]) -> list[int]:
    """Return the processes of the sessions with these leaders; zombies are left out."""
    listed = subprocess.run(
        ["ps", "-A", "-o", "pid=,stat="],  # noqa: S607  # wherever the system has it
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    pairs = (line.split() for line in listed.splitlines())
    alive = [int(pid) for pid, status in pairs if not status.startswith("Z")]
    return [pid for pid in alive if _session_of(pid) in leaders]


def children_of(parent: int) -> list[int]:
    """Return the processes that a process has started itself; zombies are left out."""
    listed = subprocess.run(
        ["ps", "-A", "-o", "pid=,ppid=,stat="],  # noqa: S607  # wherever the system has it
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    rows = (line.split() for line in listed.splitlines())
    return [int(pid) for pid, above, status in rows if int(above) == parent and status[:1] != "Z"]


def kill_session(leader: subprocess.Popen[bytes]) -> None:
    """Kill a process with all that it has started, and wait until they have ended.

    The leader and Java are killed first, as one process group: listing processes takes long enough
    for a micro-batch to end. Spark's Python workers are in another group of the same session.
    """
    with suppress(ProcessLookupError):
        os.killpg(leader.pid, signal.SIGKILL)
    while alive := in_sessions({leader.pid}):
        for pid in alive:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.01)
    leader.wait()


def _session_of(pid: int) -> int | None:
    try:
        return os.getsid(pid)
    except (ProcessLookupError, PermissionError):
        return None

"""Scratch folders of local sessions, which do not outlive the processes that made them.

The process that makes a folder holds a lock on a file in it. The system lets go of the lock when
the process ends, however it ends. So a folder whose lock is free was left by a process that was
killed, and is removed when the next folder is made.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import IO

try:
    import fcntl
except ModuleNotFoundError:  # not on Windows: there only folders of processes that end are removed
    fcntl = None  # type: ignore[assignment]

PREFIX = "penstock-spark-"
_LOCK = "lock"


class ScratchFolder:
    """A folder in the system's temporary folder, which only this user can read.

    Examples
    --------
    >>> folder = ScratchFolder()
    >>> folder.path.is_dir(), oct(folder.path.stat().st_mode)[-3:]
    (True, '700')
    >>> folder.remove()
    >>> folder.path.exists()
    False
    """

    def __init__(self) -> None:
        remove_abandoned_folders(Path(tempfile.gettempdir()))
        self.path = Path(tempfile.mkdtemp(prefix=PREFIX))
        self._owner = os.getpid()
        self._lock = (self.path / _LOCK).open("wb")
        _try_to_lock(self._lock)

    def remove(self) -> None:
        """Remove the folder; do nothing in a copy of the process that made it."""
        if os.getpid() == self._owner:
            shutil.rmtree(self.path, ignore_errors=True)
            self._lock.close()


def remove_abandoned_folders(parent: Path) -> None:
    """Remove the folders of processes that have ended without removing them."""
    if fcntl is None:
        return
    for folder in parent.glob(f"{PREFIX}*"):
        try:
            # Without the file the folder is another program's, or is being made at this moment.
            with (folder / _LOCK).open("r+b") as lock:
                if _try_to_lock(lock):
                    shutil.rmtree(folder, ignore_errors=True)
        except OSError:  # another user's, or another process removes it
            continue


def _try_to_lock(file: IO[bytes]) -> bool:
    """Lock a file until it is closed; return False if another process has locked it."""
    if fcntl is None:
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True

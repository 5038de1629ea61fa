"""Where Numba keeps the compiled kernels, and whether there are any yet."""

from __future__ import annotations

import sys
from pathlib import Path

from penstock.engine.kernels.loop import join

__all__ = ["cache_folder", "is_cold"]


def cache_folder() -> Path | None:
    """Return the folder with the compiled loop; None if the JIT is off (NUMBA_DISABLE_JIT)."""
    stats = getattr(join, "stats", None)
    return None if stats is None else Path(stats.cache_path)


def is_cold() -> bool:
    """Return whether the loop has to be compiled before a join can run, for up to a minute.

    Goes by the index that Numba writes beside the code. It may have the loop for other types only.
    """
    folder = cache_folder()
    if folder is None:
        return False
    version = f"py{sys.version_info.major}{sys.version_info.minor}"
    return next(folder.glob(f"loop.join-*.{version}*.nbi"), None) is None

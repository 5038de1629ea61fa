"""What is done once in each of Spark's Python workers."""

from __future__ import annotations

import gc
from functools import cache


@cache
def freeze_loaded_objects() -> None:
    """Exclude everything loaded so far from garbage collection.

    A worker that is used again collects garbage after every task. With Numba, Arrow and pandas
    loaded that took 70 ms of each task, more than the join itself.
    """
    gc.collect()
    gc.freeze()

"""What is done once in each of Spark's Python workers."""

from __future__ import annotations

import gc
from functools import cache


@cache
def settle() -> None:
    """Take what has been loaded so far out of the garbage collector's sight.

    A worker that is used again collects garbage after every task. With Numba, Arrow and pandas
    loaded that took 70 ms of each, more than the join itself.
    """
    gc.collect()
    gc.freeze()

"""Micro-batches one after the other, each a second of the streams, however long it takes."""

from __future__ import annotations

import statistics
import time
from typing import TYPE_CHECKING

from penstock.errors import SessionError, must

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from pyspark.sql import DataFrame

__all__ = ["is_warm", "run_batches"]

# Java compiles what it runs often, and its first hundred micro-batches take two or three times as
# long as later ones. It is warm when the last so many have taken no less, in the median, than as
# many before them, up to this share.
_WARM_UP = 12
_STILL_FASTER = 0.93
# Fewer micro-batches than this show nothing.
_LEAST = 3
# Seconds until the first micro-batch must be over: Spark starts its workers in it.
_PATIENCE = 120.0


def is_warm(seconds: Sequence[float]) -> bool:
    """Return whether micro-batches no longer get faster.

    Examples
    --------
    >>> falling = [1.0 / number for number in range(1, 25)]
    >>> is_warm(falling), is_warm([1.0] * 23), is_warm([2.0] + [1.0] * 23)
    (False, False, True)
    """
    if len(seconds) < 2 * _WARM_UP:
        return False
    before, last = seconds[-2 * _WARM_UP : -_WARM_UP], seconds[-_WARM_UP:]
    return statistics.median(last) >= _STILL_FASTER * statistics.median(before)


def run_batches(
    frame: DataFrame,
    checkpoint: Path,
    *,
    most: int,
    longest: float,
    tell: Callable[[str], object],
    until: Callable[[Sequence[float]], bool] = lambda _: False,
    clock: Callable[[], float] = time.monotonic,
) -> list[float]:
    """Run micro-batches, and return the seconds that each has taken.

    Parameters
    ----------
    frame
        What they compute, from sources that give a second of the streams to each.
    checkpoint
        A folder.
    most
        Micro-batches.
    longest
        Seconds after the first micro-batch; then no further one is waited for.
    tell
        Called with words on how far it is.
    until
        Told what they have taken so far: whether that is enough.
    clock
        Tells the time in seconds.

    Raises
    ------
    SessionError
        If fewer than three micro-batches end in that time.
    """
    query = frame.writeStream.format("noop").option("checkpointLocation", str(checkpoint)).start()
    taken: list[float] = []
    began = clock()
    deadline = began + _PATIENCE  # until the first one is over
    try:
        while query.isActive and len(taken) < most and clock() < deadline and not until(taken):
            time.sleep(0.05)
            if not taken and query.lastProgress is not None:
                deadline = clock() + longest
            taken = [batch.durationMs["triggerExecution"] / 1000 for batch in query.recentProgress]
            tell(f"micro-batch {len(taken)} of {most}")
    finally:
        query.stop()
    if query.exception() is not None:
        query.awaitTermination()  # raises it
    if len(taken) < _LEAST:
        requirement = f"{_LEAST} or more in {clock() - began:.0f} s"
        hint = "run nothing else on this machine, or take a faster one"
        raise SessionError(must("micro-batches that end", requirement, len(taken), hint))
    return taken[:most]

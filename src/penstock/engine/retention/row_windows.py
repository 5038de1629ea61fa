"""Windows of rows: a row leaves when so many rows of its stream have come after it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.engine.kernels.by_type import by_retention
from penstock.engine.kernels.jit import inner, wide
from penstock.engine.kernels.layout import NOTHING, Memory
from penstock.engine.kernels.removal import remove
from penstock.engine.retention.retained import KeepAll
from penstock.engine.row_fields import ROW_NUMBER

if TYPE_CHECKING:
    import numpy as np


@inner
def _leave_behind(memory: Memory, arrival: np.void, stream: int) -> None:
    streams = memory.streams
    if streams[stream]["last_rows"] == 0:
        return
    # Rows up to this number are not among the last any more. A tick has the number 0.
    gone = arrival[ROW_NUMBER] - streams[stream]["last_rows"]
    base = streams[stream]["base"]
    head = streams[stream]["head"]
    tail = streams[stream]["tail"]
    while head < tail:
        row = wide(memory.queue[base + head])
        if row >= 0:
            if memory.rows[row][ROW_NUMBER] > gone:
                break
            remove(memory, row)
            streams[stream]["expired"] += 1
        elif row != NOTHING:
            break
        head += 1
    streams[stream]["head"] = head


@by_retention({KeepAll: _leave_behind})
def leave_behind(memory: Memory, arrival: np.void, stream: int) -> None:
    """Remove the rows that an arrival pushes out of a window of rows.

    Arrivals come in time order where there is such a window, so they are the first of the queue.
    With a budget there are no such windows.
    """

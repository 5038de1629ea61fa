"""An operator whose tasks are all tried twice, at the same time, with their rows in another order.

Spark's speculative execution starts the second attempt because the first one takes so long: each
waits, with its state saved, until the other has saved its own. So both go on to commit.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark import TaskContext

from penstock.spark.processor import JoinProcessor

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pandas as pd

    from penstock.engine.operator import Operator

# A second attempt may not come: not for a task that is a retry itself. Then the first goes on.
_LONG_ENOUGH_SECONDS = 20


class TwoAttempts(JoinProcessor):
    """Waits in every second micro-batch, and leaves a file for each attempt that has saved."""

    folder = ""

    def handleInputRows(  # noqa: N802
        self,
        key: tuple[int],
        rows: Iterator[pd.DataFrame],
        timerValues: Any,  # noqa: ANN401, N803
    ) -> Iterator[pd.DataFrame]:
        packed = list(rows)
        if _context().attemptNumber():
            packed = [part.iloc[::-1] for part in reversed(packed)]
        yield from super().handleInputRows(key, iter(packed), timerValues)

    def _save(self, operator: Operator, shard: int) -> None:
        super()._save(operator, shard)
        context = _context()
        batch = int(context.getLocalProperty("streaming.sql.batchId") or 0)
        query = context.getLocalProperty("sql.streaming.queryId")
        meeting = Path(self.folder) / f"{query}-{batch}-{shard}"
        meeting.mkdir(exist_ok=True)
        (meeting / str(context.attemptNumber())).touch()
        end = time.monotonic() + _LONG_ENOUGH_SECONDS
        while batch % 2 and len(list(meeting.iterdir())) < 2 and time.monotonic() < end:
            time.sleep(0.01)


def _context() -> TaskContext:
    context = TaskContext.get()
    assert context is not None
    return context
